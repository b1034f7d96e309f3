"""The system under attack: a guarded server, and a process with a login of its own for everybody."""

import itertools
import json
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import anyio
import anyio.to_thread
import yaml

from parley.agents.forensic.labels import Verdict
from parley.agents.script import SCRIPT_BLOB
from parley.agents.verdicts.script import Line, VerdictScript
from parley.agents.worker import WorkerOptions, queue_of
from parley.bus.contracts.budget import Budget
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import Conflict, Unavailable
from parley.bus.jetstream.accounts import COORDINATOR, SEED_SUFFIX, SUBMITTER, WEB, accounts, save
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects
from parley.configs.panels import panel_path, read_panel
from tests.attack.page import OPERATOR, READER
from tests.bus.worlds import NatsServer
from tests.debates import ROSTER, panel
from tests.deploy.guarded import DEPLOY
from tests.processes import Role

PANELS = ("forensic", "absa", "deliberation")
TOKENS = {READER: "a-token-to-look-at-all", OPERATOR: "a-token-to-operate-all"}
LAYOUT = Layout()
# Nobody misses it, however busy the machine is: an abstention would be another outcome.
PATIENCE_S = 240.0
CLOSED_WITHIN_S = 90.0
# Slow enough that somebody else may speak first.
BAIT_DELAY_S, BAIT_PATIENCE_S = 3.0, 6.0
BAITS = 4
# Nobody there asks a model: only what somebody claims could use it up.
BAIT_BUDGET = Budget(calls=1000, tokens=10**7, cost=1000.0, seconds=10**6).with_cost_of_an_ask()
DELAY_S = 0.4
READY_WITHIN_S = 180.0
# How often the same questions are put while the attack goes on.
OPEN_AT_ONCE = 4
_COMPLAINTS = re.compile(r'Traceback|"level": "critical"|unhandled|never retrieved', re.IGNORECASE)


@dataclass
class Stage:
    server: NatsServer
    roles: dict[str, Role] = field(default_factory=dict)
    probes: dict[str, int] = field(default_factory=dict)

    @property
    def logins(self) -> list[str]:
        return sorted(path.stem for path in self.server.home.glob(f"*{SEED_SUFFIX}"))

    def seed(self, login: str) -> Path:
        return self.server.home / f"{login}{SEED_SUFFIX}"

    @property
    def page_port(self) -> int:
        found = re.search(
            r"The web page is at http://[^:]+:(\d+)", self.roles["page"].log.read_text()
        )
        assert found is not None
        return int(found[1])

    def complaints(self) -> dict[str, int]:
        """By process: how often its log tells of an exception."""
        return {
            name: len(_COMPLAINTS.findall(role.log.read_text(errors="replace")))
            for name, role in self.roles.items()
        }

    def troubles(self) -> Iterator[str]:
        """Whoever has ended, hangs, or complained of something that nobody handled."""
        for name, role in self.roles.items():
            said = role.log.read_text(errors="replace")
            if role.process.poll() is not None:
                yield f"{name} ended with {role.process.returncode}: {said[-1500:]}"
            elif not _is_ready(self.probes[name]):
                yield f"{name} is not ready: {said[-600:]}"
            for complaint in _COMPLAINTS.finditer(said):
                yield f"{name}: {said[max(0, complaint.start() - 1200) : complaint.end() + 800]}"
                break


def _is_ready(port: int) -> bool:
    """Within a while: whoever has much to do may be late."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
                if answer.status == 200:
                    return True
        except OSError:
            time.sleep(0.2)
    return False


@asynccontextmanager
async def stage(home: Path) -> AsyncIterator[Stage]:
    personas = {name: read_panel(panel_path(name))[0].everybody for name in PANELS}
    keys = home / "nats"
    keys.mkdir()
    save(accounts(personas, LAYOUT), keys)
    config = (DEPLOY / "nats" / "one-node.conf").read_text()
    config = config.replace('store_dir: "/data"', "").replace("0.0.0.0:8222", "127.0.0.1:-1")
    set_up = Stage(NatsServer(keys, arguments=(), config=config).start())
    try:
        async with _journal(set_up, COORDINATOR) as journal:
            assert isinstance(journal.bus, JetStreamBus)
            seats = [(name, persona) for name in PANELS for persona in personas[name]]
            queues = [queue_of(journal, *seat, WorkerOptions()) for seat in seats]
            await journal.bus.apply(*queues)
        with _processes(set_up, home):
            yield set_up
    finally:
        set_up.server.kill()


@contextmanager
def _processes(set_up: Stage, home: Path) -> Iterator[None]:
    for name in ("c0", "c1"):
        _role(set_up, home, name, COORDINATOR, ("coordinator", "--name", name), "coordinator_ready")
    for persona in ROSTER:
        login = f"forensic-{persona}"
        _role(set_up, home, login, login, ("agent", f"forensic/{persona}"), "agent_ready")
    others = ("agent", "absa", "deliberation")
    _role(set_up, home, "others", COORDINATOR, others, "agent_ready")
    _role(set_up, home, "page", WEB, ("serve", "--port", "0"), "debates_listed")
    try:
        for role in set_up.roles.values():
            role.launch()
        _until_ready(set_up.roles)
        yield
    finally:
        for role in set_up.roles.values():
            if hasattr(role, "process") and role.process.poll() is None:
                role.kill()


def _until_ready(roles: Mapping[str, Role]) -> None:
    """Eight processes import at once: on a busy machine that takes a while."""
    deadline = time.monotonic() + READY_WITHIN_S
    while any(role.ready not in role.log.read_text() for role in roles.values()):
        for name, role in roles.items():
            assert role.process.poll() is None, f"{name}: {role.log.read_text()}"
        assert time.monotonic() < deadline, list(roles)
        time.sleep(0.05)


def _port() -> int:
    """Below those that outgoing connections take: it must still be free when a process has started."""
    while True:
        number = 20_000 + secrets.randbelow(10_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", number))
            return number


def _role(  # noqa: PLR0913, PLR0917 - what a process is
    set_up: Stage, home: Path, name: str, login: str, arguments: tuple[str, ...], ready: str
) -> None:
    probe = _port()
    settings = {
        "nats": {"nkey_seed_file": str(set_up.seed(login))},
        "health": {"port": probe},
        # Debates are archived while they are attacked.
        "archive": {"after": 2},
        "web": {"read_token": TOKENS[READER], "operator_token": TOKENS[OPERATOR]},
    }
    config = home / f"{name}.yaml"
    config.write_text(yaml.safe_dump(settings))
    set_up.probes[name] = probe
    set_up.roles[name] = Role(
        (*arguments, "--config", str(config)), set_up.server.url, home / f"{name}.log", ready
    )


@asynccontextmanager
async def _journal(set_up: Stage, login: str) -> AsyncIterator[Journal]:
    server = Server((set_up.server.url,), name="stage", nkey_seed=set_up.seed(login))
    async with open_bus(server, LAYOUT) as bus:
        yield Journal(bus, Subjects(LAYOUT.prefix))


@dataclass
class Debates:
    """Those that run while the attack does: its targets."""

    journal: Journal
    # By debate: which of the questions it was.
    questions: dict[str, int] = field(default_factory=dict)
    baits: list[str] = field(default_factory=list)
    puppets: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def honest(self) -> Sequence[str]:
        """Those that are open or were a moment ago."""
        return list(self.questions)[-3:]

    @property
    def bait(self) -> Sequence[str]:
        return self.baits[-BAITS:]

    async def put(self, id_: str, number: int, *, is_bait: bool = False) -> None:
        """A server under attack may be late with its answer: then once more."""
        with anyio.fail_after(CLOSED_WITHIN_S):
            while True:
                # What an answer that got lost has stored is there already.
                with suppress(Conflict):
                    try:
                        await self._put(id_, number, is_bait=is_bait)
                    except Unavailable:
                        await anyio.sleep(0.2)
                        continue
                return

    async def _put(self, id_: str, number: int, *, is_bait: bool) -> None:
        script = _script(number, BAIT_DELAY_S if is_bait else DELAY_S)
        lines = json.dumps(script.model_dump(mode="json", exclude_unset=True)).encode()
        blob = await self.journal.bus.put_blob(lines, "application/json")
        chosen = panel(
            deadline_s=BAIT_PATIENCE_S if is_bait else PATIENCE_S,
            max_rounds=3,
            stalemate_threshold=1 + number % 3,
        )
        if is_bait:
            chosen = chosen.model_copy(update={"budget": BAIT_BUDGET})
        given = DebateInput(text="a photograph", blobs={SCRIPT_BLOB: blob})
        await self.journal.submit(DebateRef("forensic", id_), Submitted(panel=chosen, input=given))

    async def closed(self, *ids: str, panel: str = "forensic") -> list[str]:
        """Those of them that are still open after a while."""
        waiting = list(ids)
        with anyio.move_on_after(CLOSED_WITHIN_S):
            while waiting:
                # A server under attack may be late with its answer.
                with suppress(Unavailable):
                    subjects = await self.journal.bus.subjects(f"debate.*.{panel}.*.ctl.closed")
                    over = {subject.split(".")[3] for subject in subjects}
                    waiting = [one for one in waiting if one not in over]
                    waiting = [one for one in waiting if not await self._is_archived(panel, one)]
                if waiting:
                    await anyio.sleep(0.2)
        return waiting

    async def _is_archived(self, panel: str, id_: str) -> bool:
        """As this login may ask."""
        subject = self.journal.subjects.archive(DebateRef(panel, id_))
        return await self.journal.bus.archive.get(subject) is not None

    async def go_on(self) -> None:
        """Honest debates, so many at a time, until the attack is over."""
        for number in itertools.count():
            if self.over:
                return
            id_, question = f"honest-{number}", number % len(QUESTIONS)
            await self.put(id_, question)
            self.questions[id_] = question
            await self.closed(*list(self.questions)[-OPEN_AT_ONCE - 1 : -OPEN_AT_ONCE])

    async def lay_bait(self) -> None:
        """A few slow ones, and the next when they are closed."""
        for number in itertools.count():
            if self.over:
                return
            ids = [f"bait-{number}-{n}" for n in range(BAITS)]
            for n, id_ in enumerate(ids):
                await self.put(id_, n % len(QUESTIONS), is_bait=True)
            self.baits += ids
            await self.closed(*ids)


@asynccontextmanager
async def debates(set_up: Stage) -> AsyncIterator[Debates]:
    async with _journal(set_up, SUBMITTER) as journal:
        yield Debates(journal)


A, M, G, U = Verdict.AUTHENTIC, Verdict.MANIPULATED, Verdict.AI_GENERATED, Verdict.UNCERTAIN
# Opening statements, and who changes its mind in the first round.
QUESTIONS: tuple[
    tuple[tuple[tuple[Verdict, float], ...], dict[str, tuple[Verdict, float]]], ...
] = (
    (((G, 0.92), (A, 0.88), (U, 0.5), (G, 0.9)), {"watermark": (G, 0.9)}),
    (((G, 0.85), (A, 0.8), (G, 0.75), (G, 0.7)), {}),
    (((A, 0.6), (M, 0.55), (A, 0.4), (M, 0.65)), {"noise": (A, 0.7), "spatial": (A, 0.8)}),
    (((M, 0.95), (M, 0.9), (M, 0.85), (U, 0.3)), {}),
)


def _script(number: int, delay_s: float) -> VerdictScript:
    opening, later = QUESTIONS[number]
    return VerdictScript(
        rounds=(
            {name: _line(*said, delay_s) for name, said in zip(ROSTER, opening, strict=True)},
            {name: _line(*said, delay_s) for name, said in later.items()},
        )
    )


def _line(verdict: Verdict, confidence: float, delay_s: float) -> Line:
    return Line(verdict=verdict, confidence=confidence, reasoning="because", delay_s=delay_s)
