"""The attack, from the first process to the audit."""

import itertools
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import nats
from nats.aio.msg import Msg
from typing_extensions import override

from tests.attack.outsider import Found, audited
from tests.attack.page import READER, Request, asked_by_reader, requests_of, status_of
from tests.attack.plan import STREAM, Attempt, attempts_of
from tests.attack.puppets import puppets
from tests.attack.rights import may
from tests.attack.stage import (
    QUESTIONS,
    TOKENS,
    Debates,
    Stage,
    debates,
    stage,
)
from tests.attack.values import ODD_JSON, spoiled
from tests.attack.wire import Cut, Heard, Wire, wired

REFUSED, STORED, HARMLESS, HARM = "refused", "stored", "no effect", "HARM"
OUTCOMES = (REFUSED, STORED, HARMLESS, HARM)
OWNER = "coordinator"
# Those of whom more is tried: one of each kind.
THOROUGH = ("forensic-noise", "submitter", "web")
THOROUGH_TIMES = 5
# How many logins are at it at once, and how many clients of the page beside them.
ROWS = 2
PAGE_CLIENTS = 4
PAGE_TIMES = 10
SERVER_ERROR, NOT_IMPLEMENTED, UNAVAILABLE = 500, 501, 503
OKAY = range(200, 300)
# A seat that nobody else takes here.
PRETENDER, PRETENDED = "forensic-manager", "pretended services"
LOOK_EVERY_S = 1.0
PRESENCE: dict[str, object] = {
    "name": "parley-agent", "id": "x", "version": "1.0.0", "started": "2026-01-01T00:00:00Z",
    "type": "io.nats.micro.v1.stats_response", "metadata": {"role": "coordinator", "name": "c9"},
    "endpoints": [{"name": "x", "subject": "x", "num_requests": 1, "data": {"open_debates": 1}}],
}  # fmt: skip


@dataclass
class Report:
    seconds: float = 0.0
    logins: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    harms: list[str] = field(default_factory=list)
    honest: int = 0
    others: int = 0
    found: Found = field(default_factory=Found)
    # By process: exceptions in its log.
    complaints: Mapping[str, int] = field(default_factory=dict)

    def count(self, group: str, outcome: str, what: str = "") -> None:
        self.outcomes.setdefault(group, Counter())[outcome] += 1
        if outcome == HARM:
            self.harms.append(f"{group}: {what}")

    @property
    def attempts(self) -> int:
        return sum(counter.total() for counter in self.outcomes.values())

    @property
    def problems(self) -> list[str]:
        return [*self.harms, *self.found.violations]

    @override
    def __str__(self) -> str:
        """As docs/security.md shows it."""
        lines = [f"| attempts | {' | '.join(OUTCOMES)} |", f"|---|{'---:|' * len(OUTCOMES)}"]
        for group, counter in (*self.outcomes.items(), ("all", self._total())):
            lines.append(f"| {group} | {' | '.join(str(counter[one]) for one in OUTCOMES)} |")
        foreign = ", ".join(f"{n} {kind}" for kind, n in self.found.foreign.most_common(6) if n)
        return "\n".join(
            [
                *lines,
                "",
                f"attempts     {self.attempts} with {self.logins} logins in {self.seconds:.0f} s",
                f"debates      {self.honest} closed beside them as they close in peace",
                f"             {self.others} closed that were attacked themselves",
                f"log          {self.found.records} records; the attacker's: {foreign}",
                f"archive      {self.found.archived} debates",
                f"exceptions   {sum(self.complaints.values())} in {len(self.complaints)} processes",
                f"audit        {len(self.found.violations)} violations",
                f"harm         {len(self.harms)}",
                *(f"  {problem}" for problem in self.problems),
            ]
        )

    def _total(self) -> Counter[str]:
        return sum(self.outcomes.values(), Counter())


async def attack(home: Path, most: int) -> Report:
    """At most so many attempts of each group with each login."""
    async with stage(home) as system, debates(system) as running:
        peace = await _in_peace(running)
        before = await _configuration(system)
        began = time.monotonic()
        assault = Assault(system, running, most)
        report = assault.report
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(running.go_on)
            tasks.start_soon(running.lay_bait)
            while not (running.questions and running.baits):  # noqa: ASYNC110 - under way
                await anyio.sleep(0.05)
            tasks.start_soon(assault.pretend)
            home, url = system.server.home, system.server.url
            tasks.start_soon(puppets, url, home, system.logins, running.puppets)
            await assault.everybody()
            running.over = True
            tasks.cancel_scope.cancel()
        report.seconds = time.monotonic() - began
        report.honest = len(running.questions)
        report.others = len(running.baits) + len(running.puppets)
        left = await running.closed(*running.questions, *running.baits)
        left += await running.closed(*running.puppets, panel="absa")
        report.harms += [f"{id_} is not closed" for id_ in left]
        report.harms += await anyio.to_thread.run_sync(lambda: list(system.troubles()))
        report.complaints = system.complaints()
        after = await _configuration(system)
        report.harms += [
            f"{name} is not what it was: {before.get(name)} became {after.get(name)}"
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        ]
        honest = {f"forensic/{id_}" for id_ in running.questions}
        owner = system.seed(OWNER)
        report.found = await audited(system.server.url, owner, assault.written, honest)
        report.harms += _other_outcomes(report.found, running, peace)
        report.harms += _ended_by_claims(report.found, running)
    return report


async def _in_peace(running: Debates) -> list[str]:
    """Every question once, with nobody about."""
    ids = [f"peace-{number}" for number in range(len(QUESTIONS))]
    for number, id_ in enumerate(ids):
        await running.put(id_, number)
    left = await running.closed(*ids)
    assert not left, left
    return ids


@dataclass
class Assault:
    system: Stage
    running: Debates
    most: int
    report: Report = field(default_factory=Report)
    # Where the server says it stored something of ours in the log.
    written: set[int] = field(default_factory=set)

    async def everybody(self) -> None:
        """On the bus and on the page at the same time."""
        todo = [login for login in self.system.logins if login != OWNER]
        self.report.logins = len(todo)

        async def row() -> None:
            while todo:
                await self._on_the_bus(todo.pop())

        async with anyio.create_task_group() as tasks:
            for _ in range(ROWS):
                tasks.start_soon(row)
            await self._on_the_page()

    async def _on_the_bus(self, login: str) -> None:
        heard = Heard()
        most = self.most * (THOROUGH_TIMES if login in THOROUGH else 1)
        todo = attempts_of(login, self.running, most)
        tried: list[Attempt] = []
        cut: set[Attempt] = set()
        attempt = next(todo, None)
        while attempt is not None:
            async with wired(self.system.server.port, self.system.seed(login), heard) as wire:
                try:
                    while attempt is not None:
                        tried.append(attempt)
                        await wire.exchange(attempt.frame)
                        attempt = next(todo, None)
                    await _last_answers(wire)
                except Cut:
                    cut.add(tried[-1])
                    attempt = next(todo, None)
        for one in tried:
            outcome = REFUSED if one in cut else _outcome(one, heard)
            self.report.count(one.group, outcome, f"{login}: {one.what} on {one.subject[:80]!r}")
            self.written |= _place(heard.answers.get(one.inbox, (b"", b""))[1])

    async def _on_the_page(self) -> None:
        todo = list(requests_of(self.running, TOKENS, self.most * PAGE_TIMES))

        async def client() -> None:
            while todo:
                request = todo.pop()
                try:
                    status = await status_of(self.system.page_port, request)
                    outcome = _page_outcome(request, status)
                except TimeoutError:
                    outcome = HARMLESS if request.may_be_cut else HARM
                except OSError:
                    outcome = HARM
                self.report.count(request.group, outcome, request.what)

        async with anyio.create_task_group() as tasks:
            for _ in range(PAGE_CLIENTS):
                tasks.start_soon(client)

    async def pretend(self) -> None:
        """A persona that answers for services it does not run, while the page asks who is there."""
        seed = self.system.seed(PRETENDER)
        client = await nats.connect(
            self.system.server.url, nkeys_seed=str(seed), error_cb=_unsurprised
        )
        lies = itertools.cycle([*ODD_JSON.values(), *(lie for _, lie in spoiled(PRESENCE))])

        async def answer(message: Msg) -> None:
            lie = next(lies)
            if message.reply and len(lie) < client.max_payload:
                await message.respond(lie)
                self.report.count(PRETENDED, HARMLESS)

        looking = asked_by_reader("/agents", PRETENDED, TOKENS[READER])
        try:
            await client.subscribe("$SRV.>", cb=answer)
            while True:
                status = await status_of(self.system.page_port, looking)
                outcome = _page_outcome(looking, status)
                self.report.count(PRETENDED, outcome, f"/agents answered {status}")
                await anyio.sleep(LOOK_EVERY_S)
        finally:
            with anyio.CancelScope(shield=True):
                await client.close()


async def _unsurprised(error: Exception) -> None:
    """Whoever lies is cut off now and then."""
    del error


async def _last_answers(wire: Wire) -> None:
    """What is stored is confirmed a moment after the server has read it."""
    for _ in range(5):
        await wire.exchange(b"")
        await anyio.sleep(0.05)


def _outcome(one: Attempt, heard: Heard) -> str:
    if any(b'"' + one.subject + b'"' in error for error in heard.errors):
        return REFUSED
    if one.sid:
        heard_of = heard.overheard.get(one.sid, ())
        spied = any(not name.startswith(b"_INBOX.") for name in heard_of)
        return HARM if spied and not may(one.login, "hears", one.subject) else HARMLESS
    status, data = heard.answers.get(one.inbox, (b"", b""))
    if not data:
        return REFUSED if status.split(b" ")[1:2] else HARMLESS
    if b'"error"' in data[:2000]:
        return REFUSED
    if not may(one.login, "sends", one.subject):
        return HARM
    return STORED if b'"seq"' in data[:200] else HARMLESS


def _place(data: bytes) -> set[int]:
    """Where the server says it has stored a record of the log."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return set()
    if isinstance(answer, dict) and answer.get("stream") == STREAM and "seq" in answer:
        return {int(answer["seq"])}
    return set()


def _page_outcome(request: Request, status: int | None) -> str:
    if status is None:
        return REFUSED if request.may_be_cut else HARM
    if status in OKAY:
        return HARMLESS if request.allowed else HARM
    if status >= SERVER_ERROR and status not in (NOT_IMPLEMENTED, UNAVAILABLE):
        return HARM
    return REFUSED


async def _configuration(system: Stage) -> Mapping[str, object]:
    """Of every stream and every queue that is not somebody's own for a moment."""
    client = await nats.connect(system.server.url, nkeys_seed=str(system.seed(OWNER)))
    try:
        manager = client.jsm()
        found: dict[str, object] = {}
        for stream in await manager.streams_info():
            name = str(stream.config.name)
            found[name] = stream.config.as_dict()
            consumers = await manager.consumers_info(name)
            found[f"{name}'s queues"] = {
                one.name: one.config.as_dict() for one in consumers if one.config.durable_name
            }
        return found
    finally:
        await client.close()


def _other_outcomes(found: Found, running: Debates, expected: list[str]) -> list[str]:
    wrong = []
    for id_, question in running.questions.items():
        was = found.outcomes.get(f"forensic/{expected[question]}")
        became = found.outcomes.get(f"forensic/{id_}")
        if was is None or was != became:
            wrong.append(f"{id_} closed with {became}, in peace with {was}"[:1500])
    return wrong


def _ended_by_claims(found: Found, running: Debates) -> list[str]:
    """Nobody used anything of their budget."""
    outcomes = {id_: found.outcomes.get(f"forensic/{id_}", "") for id_ in running.baits}
    return [f"{id_} ended: {one}" for id_, one in outcomes.items() if "budget_exhausted" in one]
