"""
What the browser tests play on.

`forensic`, `absa` and `deliberation` are served by real agents. The panel `theatre` is served by
nobody: a test speaks for its personas when it sees fit, so that a live debate waits for the test.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.partial import Partial
from parley.bus.contracts.verdicts.content import Reply, ResponseType, Statement
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from tests import debates
from tests.ports import free_ports
from tests.processes import Deployment, Role, deployment, open_journal, until_recorded

IN_ONE_LOOP = pytest.mark.asyncio(loop_scope="session")
READ_TOKEN = "a-token-for-those-who-look"
OPERATOR_TOKEN = "a-token-for-those-who-act"
LINK_KEY = "a-key-that-signs-links-to-asks"
CHROMIUM = Path("/usr/bin/chromium-headless-shell")
# Notes every violation of the page's policy where a test can read it.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation',
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


@dataclass
class Stage:
    deployed: Deployment
    web: Role
    port: int
    # The port of a second web process, which asks for a token.
    guarded_port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def guarded_url(self) -> str:
        return f"http://127.0.0.1:{self.guarded_port}"

    @asynccontextmanager
    async def journal(self) -> AsyncIterator[Journal]:
        async with open_journal(self.deployed.nats.url) as journal:
            yield journal


@contextmanager
def opened_stage(home: Path) -> Iterator[Stage]:
    port, guarded_port = free_ports(2)
    (home / "read").write_text(READ_TOKEN)
    (home / "operate").write_text(OPERATOR_TOKEN)
    (home / "people.yaml").write_text(f"people: {{link_key: {LINK_KEY}}}\n")
    people = ("--config", str(home / "people.yaml"))
    tokens = (
        "--read-token-file", str(home / "read"), "--operator-token-file", str(home / "operate"),
    )  # fmt: skip
    with deployment(home) as deployed:
        up = Role(("up", "--no-web"), deployed.nats.url, home / "up.log", "Parley is up")
        serve = ("serve", "--port", str(port), *people)
        web = Role(serve, deployed.nats.url, home / "web.log", "debates_listed")
        asking = ("serve", "--port", str(guarded_port), *tokens, *people)
        guarded = Role(asking, deployed.nats.url, home / "guarded.log", "debates_listed")
        deployed.roles += [up, web, guarded]
        for role in deployed.roles:
            role.launch()
        for role in deployed.roles:
            role.await_ready()
        yield Stage(deployed, web, port, guarded_port)


@dataclass
class Visit:
    """Somebody with a browser. What goes wrong in it is collected."""

    stage: Stage
    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    # A test that takes the server away has to expect that requests fail.
    forgives: bool = False

    async def page(self, path: str = "/", **looks: object) -> Page:
        context = await self.browser.new_context(base_url=self.stage.url, **looks)  # type: ignore[arg-type]
        self.contexts.append(context)
        await context.add_init_script(WATCH)
        page = await context.new_page()
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        page.on("dialog", self._on_dialog)
        await page.goto(path)
        return page

    async def leave(self) -> None:
        for context in self.contexts:
            for page in context.pages:
                self.troubles += await page.evaluate("() => window.violations")
            await context.close()
        assert self.troubles == [], self.stage.web.log.read_text()[-4000:]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not self.forgives:
            self.troubles.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        ours = (urlsplit(self.stage.url).netloc, urlsplit(self.stage.guarded_url).netloc)
        parts = urlsplit(request.url)
        if parts.netloc not in ours and parts.scheme not in {"data", "blob"}:
            self.troubles.append(f"asked {request.url}")

    async def _on_dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        await dialog.dismiss()


def theatre(**changes: object) -> VerdictPanel:
    return debates.panel(max_rounds=2).model_copy(update={"name": "theatre", **changes})


async def submit(journal: Journal, debate: str, panel: Panel, topic: str) -> DebateRef:
    """Returns when the coordinator has asked for the first answers."""
    ref = DebateRef(panel.name, debate)
    await journal.submit(ref, Submitted(panel=panel, input=DebateInput(text=topic)))
    await until_recorded(journal, ref, "ctl.ask.opening.all", 20)
    return ref


async def state(  # noqa: PLR0913, PLR0917 - a statement has many parts
    journal: Journal,
    ref: DebateRef,
    persona: str,
    verdict: Verdict = Verdict.AUTHENTIC,
    confidence: float = 0.8,
    reasoning: str = "as I see it",
    arguments: tuple[str, ...] = (),
) -> None:
    said = Statement(
        verdict=verdict, confidence=confidence, reasoning=reasoning, arguments=arguments
    )
    await journal.speak(ref, TurnTaken(step="opening", persona=persona, content=said))


async def reply(  # noqa: PLR0913, PLR0917 - as above
    journal: Journal,
    ref: DebateRef,
    persona: str,
    verdict: Verdict | None = None,
    content: str = "I stand by it",
    step: str = "round-1",
) -> None:
    kind = ResponseType.CONCESSION if verdict else ResponseType.DEFENSE
    said = Reply(response_type=kind, content=content, new_verdict=verdict)
    await journal.speak(ref, TurnTaken(step=step, persona=persona, content=said))


async def whisper(journal: Journal, ref: DebateRef, step: str, persona: str, text: str) -> None:
    """A turn that is still being spoken."""
    said = Partial(step=step, persona=persona, text=text)
    subject = journal.subjects.partial(ref, step, persona)
    await journal.bus.signal(subject, said.model_dump_json().encode())


async def open_theatre(journal: Journal, debate: str, topic: str = "Is it real?") -> DebateRef:
    """A debate whose personas have opened, two against two, and now wait in their first round."""
    ref = await submit(journal, debate, theatre(), topic)
    for persona in debates.ROSTER:
        sure = Verdict.AUTHENTIC if persona in debates.ROSTER[:2] else Verdict.MANIPULATED
        await state(journal, ref, persona, sure)
    await until_recorded(journal, ref, "ctl.ask.round-1.all", 20)
    return ref


async def close_theatre(journal: Journal, ref: DebateRef) -> None:
    """Everybody comes round to the same verdict."""
    for persona in debates.ROSTER:
        await reply(journal, ref, persona, Verdict.MANIPULATED)
    await until_recorded(journal, ref, "ctl.closed", 20)
