"""Debates under fire, from the first process to the inquest."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import anyio
from typing_extensions import override

from parley.bus.errors import Conflict, Unavailable
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import NatsServer
from tests.chaos.auditor import merged, read_all, violations
from tests.chaos.cluster import NODES, cluster, cluster_troubles
from tests.chaos.inquest import Inquest, inquest
from tests.chaos.members import READY_WITHIN_S, crew_of
from tests.chaos.proxy import FaultProxy
from tests.chaos.questions import question
from tests.chaos.trouble import Blows, Trouble, network_troubles
from tests.debates import ROSTER
from tests.processes import submit

# How long the last debates may take once nothing goes wrong any more.
CALM_S = 90.0


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    debates: int
    # Between two submissions.
    every_s: float
    # The longest time between two blows.
    pause_s: float

    @property
    def longest_s(self) -> float:
        """From the first process to the inquest; whatever takes longer hangs."""
        return 2 * self.debates * self.every_s + 2 * CALM_S + READY_WITHIN_S


@dataclass(frozen=True, slots=True)
class Report:
    plan: Plan
    seconds: float
    dealt: dict[str, int]
    starts: int
    findings: tuple[str, ...]
    inquest: Inquest
    # What an auditor finds that uses none of our code, and how many records it read.
    violations: tuple[str, ...]
    audited: int

    @property
    def problems(self) -> list[str]:
        return [*self.findings, *self.inquest.problems, *self.violations]

    @override
    def __str__(self) -> str:
        blows = ", ".join(f"{name} {count}" for name, count in sorted(self.dealt.items()))
        return "\n".join(
            (
                f"seed         {self.plan.seed}",
                f"debates      {self.plan.debates} in {self.seconds:.0f} s",
                f"blows        {blows}",
                f"processes    {self.starts} started, {len(self.findings)} ended on their own",
                *(f"  {finding}" for finding in self.findings),
                str(self.inquest),
                f"outside      {self.audited} records, {len(self.violations)} violations",
                *(f"  {violation}" for violation in self.violations),
            )
        )


async def under_fire(home: Path, plan: Plan) -> Report:
    """One server, everybody else behind an unreliable network."""
    random = Random(plan.seed)
    store = home / "nats"
    store.mkdir()
    server = NatsServer(store).start()
    try:
        async with (
            FaultProxy(server.port, random, log="debate.").serving() as proxy,
            bystander(server.url) as watch,
            crew_of(proxy.url, ROSTER, home) as crew,
        ):
            trouble = Trouble(random, crew, plan.pause_s)
            blows = network_troubles(trouble, proxy, server)
            return await _run(plan, trouble, blows, watch, (server.url,), proxy.url)
    finally:
        server.kill()


async def under_fire_in_a_cluster(home: Path, plan: Plan) -> Report:
    """Three servers, whose leader is killed again and again."""
    async with cluster(home) as nodes:
        urls = [node.url for node in nodes]
        async with (
            bystander(*urls, replicas=NODES) as watch,
            crew_of(",".join(urls), ROSTER, home, replicas=NODES) as crew,
        ):
            trouble = Trouble(Random(plan.seed), crew, plan.pause_s)
            blows = cluster_troubles(trouble, watch.bus, nodes)
            return await _run(plan, trouble, blows, watch, urls, *urls)


@dataclass
class Watch:
    """What a bystander sees of the log while it is written."""

    bus: JetStreamBus
    journal: Journal
    seen: dict[int, Record]
    closed: set[DebateRef]
    changed: anyio.Event

    def on(self, records: Sequence[Record]) -> None:
        for record in records:
            self.seen[record.sequence] = record
            address = self.journal.subjects.parse(record.subject)
            if address is not None and address[1] == "ctl.closed":
                self.closed.add(address[0])
        self.changed.set()
        self.changed = anyio.Event()


@asynccontextmanager
async def bystander(*urls: str, replicas: int = 1) -> AsyncIterator[Watch]:
    layout = Layout(replicas=replicas)
    async with open_bus(Server(urls, name="bystander"), layout) as bus:
        await bus.apply()
        watch = Watch(bus, Journal(bus, Subjects()), {}, set(), anyio.Event())
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                await bus.tail([watch.journal.subjects.everything()], start=1, on=watch.on)

            tasks.start_soon(follow)
            yield watch
            tasks.cancel_scope.cancel()


async def _run(
    plan: Plan, trouble: Trouble, blows: Blows, watch: Watch, log: Sequence[str], *urls: str
) -> Report:
    """`log` is where the servers are themselves, `urls` the way that everybody else takes."""
    begun = time.monotonic()
    refs = [DebateRef("forensic", f"chaos-{plan.seed}-{n}") for n in range(plan.debates)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(trouble.deal, blows)
        await _submit_all(plan, refs, *urls)
        trouble.over = True
    await _until_closed(watch, refs)
    left = await _until_archived(watch)
    records, late = await _everything(watch)
    seen = {n: record for n, record in watch.seen.items() if n not in late}
    outside, archived = await read_all(*log)
    members = trouble.crew.members
    return Report(
        plan=plan,
        seconds=time.monotonic() - begun,
        dealt=dict(trouble.dealt),
        starts=sum(member.starts for member in members),
        findings=(*trouble.crew.findings, *left),
        inquest=inquest(watch.journal, records, refs, seen, await watch.bus.dead_letters()),
        violations=tuple(violations(outside, [str(ref) for ref in refs], archived)),
        audited=len(merged(outside, archived, [])),
    )


async def _until_archived(watch: Watch) -> list[str]:
    """Nothing stays in the log; what does is named."""
    subjects = watch.journal.subjects
    left: list[str] = []
    with anyio.move_on_after(CALM_S):
        while left := await watch.bus.subjects(subjects.everything()):  # noqa: ASYNC110 - the purge is not told
            await anyio.sleep(0.5)
    return [f"{subject} is still in the log" for subject in left]


async def _everything(watch: Watch) -> tuple[list[Record], set[int]]:
    """The log and the archive together; and what was seen of a debate after it was archived."""
    journal = watch.journal
    records = {one.sequence: one for one in await journal.bus.read(journal.subjects.everything())}
    late = set[int]()
    for listed in await journal.archive.contents():
        archived = await journal.archive.get(listed.ref)
        assert archived is not None
        assert not archived.broken, archived.broken
        _, through = journal.archive.extent(listed.ref, archived.summary)
        root = journal.subjects.at(listed.ref, "")
        late |= {n for n, one in watch.seen.items() if n > through and one.subject.startswith(root)}
        records |= {one.sequence: one for one in archived.records}
    return [records[n] for n in sorted(records.keys() - late)], late


async def _submit_all(plan: Plan, refs: Sequence[DebateRef], *urls: str) -> None:
    """A client that suffers as everybody else does, and does not give up."""
    random = Random(plan.seed)
    async with (
        open_bus(Server(urls, name="client")) as bus,
        anyio.create_task_group() as tasks,
    ):
        journal = Journal(bus, Subjects())
        for ref in refs:
            tasks.start_soon(_submit, journal, ref, Random(random.random()))
            await anyio.sleep(plan.every_s)


async def _submit(journal: Journal, ref: DebateRef, random: Random) -> None:
    panel, script = question(random)
    while True:
        try:
            await submit(journal, ref.id, panel, script)
        except Unavailable:
            continue
        except Conflict:
            # An attempt of ours that we never heard of.
            return
        else:
            return


async def _until_closed(watch: Watch, refs: Sequence[DebateRef]) -> None:
    """Who is still open after that is named by the inquest."""
    with anyio.move_on_after(CALM_S):
        while not watch.closed.issuperset(refs):
            await watch.changed.wait()
