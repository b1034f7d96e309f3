"""A seed's scenario, played with the real coordinator, workers and journal on the memory bus."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from parley.agents.worker import Worker, WorkerOptions
from parley.bus.archive import Archived
from parley.bus.contracts.facts import Asked, CancelRequested, Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import Conflict, Unavailable
from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Entry, Record
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.service.archiver import Archiving
from parley.coordinator.service.coordinator import Coordinator
from parley.coordinator.service.membership import BEAT_S, Beacon
from tests.simulation.brains import MoodyBrain
from tests.simulation.checker import Checker
from tests.simulation.excuses import has_excuse
from tests.simulation.loop import PausableLoop
from tests.simulation.plan import Debate, Event, Forgery, Scenario, agent_name, scenario_of
from tests.simulation.process import Main, Process

EPOCH_NS = 1_700_000_000 * 10**9
# A coordinator that has gone on for so long has taken over whatever others left behind.
TAKEN_OVER_S = 5.0
WATCH_S = 1.0
# Long enough for a late writer to do harm, and for whoever holds on to a debate to learn of its end.
AFTERMATH_S = 3.0
SETTLED_S = 60.0
# A scan of the log finds what nobody told a coordinator of.
ARCHIVED_WITHIN_S = 700.0
# Fewer than debates, so that decisions have to wait for a writer.
WRITES_AT_ONCE = 2
OPTIONS = WorkerOptions(
    concurrency=4,
    ack_wait_s=5.0,
    max_deliver=3,
    retries=1,
    drain_s=4.0,
    clock=anyio.current_time,
)

Trace = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Build:
    """What the processes are made of; tests put broken parts here to see them caught."""

    journal: type[Journal] = Journal
    coordinator: type[Coordinator] = Coordinator
    worker: type[Worker] = Worker
    protocols: Mapping[str, Protocol] = field(default_factory=lambda: PROTOCOLS)


@dataclass(frozen=True, slots=True)
class Outcome:
    seed: int
    violations: tuple[str, ...]
    # Over every record in order, with its time.
    digest: str
    records: int
    virtual_s: float
    closed: tuple[str, ...]


def simulate(seed: int, build: Build | None = None, trace: Trace | None = None) -> Outcome:
    world = World(scenario_of(seed), build or Build(), trace or (lambda _now, _text: None))
    return anyio.run(world.run, backend_options={"loop_factory": PausableLoop})


@dataclass(slots=True)
class World:
    scenario: Scenario
    build: Build
    trace: Trace
    server: MemoryServer = field(init=False)
    journal: Journal = field(init=False)
    checker: Checker = field(init=False)
    coordinators: list[Process] = field(default_factory=list)
    agents: list[Process] = field(default_factory=list)
    services: dict[str, Coordinator] = field(default_factory=dict)
    log: list[Record] = field(default_factory=list)
    # Seconds during which a coordinator attended to the debate.
    attended: dict[DebateRef, float] = field(default_factory=dict)
    submitted: set[DebateRef] = field(default_factory=set)

    async def run(self) -> Outcome:
        scenario = self.scenario
        async with open_memory_server(
            scenario.faults, seed=scenario.seed, epoch_ns=EPOCH_NS
        ) as server:
            self._prepare(server)
            async with anyio.create_task_group() as tasks:
                for process in (*self.coordinators, *self.agents):
                    process.start(tasks)
                self._begin(tasks)
                await self._until_closed()
                await self._settle()
                held = self._held()
                self._thaw()
                tasks.cancel_scope.cancel()
            if not self.checker.violations:
                self._check_rest(held)
                await self._check_archive()
            return self._outcome()

    async def _check_archive(self) -> None:
        for ref, ledger in self.checker.ledgers.items():
            archived = await self._archived(ref)
            self.checker.check_archived(ref, ledger, archived)
        if left := self._unarchived():
            self.checker.violations.append(f"still in the log: {left}")

    async def _archived(self, ref: DebateRef) -> Archived | None:
        while True:
            try:
                return await self.journal.archive.get(ref)
            except Unavailable:
                await anyio.sleep(WATCH_S)

    def _prepare(self, server: MemoryServer) -> None:
        self.server = server
        self.journal = Journal(server.client(), Subjects())
        debates = {one.ref: one for one in self.scenario.debates}
        self.checker = Checker(self.journal, debates, self._has_excuse, self._is_archived)
        server.log.on_record += [self._note, self.checker.on_record]
        server.on_undeliverable.append(lambda *place: self.checker.given_up.add(place))
        for name in self.scenario.coordinators:
            self.coordinators.append(self._process(name, self._coordinate(name)))
        for persona, replica in self.scenario.agents:
            name = agent_name(persona, replica)
            self.agents.append(self._process(name, self._speak(persona)))

    def _has_excuse(self, persona: str, ask: Asked, asked_ns: int) -> bool:
        names = [agent_name(*one) for one in self.scenario.agents if one[0] == persona]
        replicas = [one for one in self.agents if one.name in names]
        asked_at = (asked_ns - EPOCH_NS) / 1e9
        return has_excuse(self.scenario, replicas, ask, asked_at, OPTIONS.ack_wait_s)

    def _is_archived(self, ref: DebateRef) -> bool:
        return self.server.archive.record_of(self.journal.subjects.archive(ref)) is not None

    def _process(self, name: str, main: Main) -> Process:
        return Process(name, self.server, main, self.checker.violations.append)

    def _coordinate(self, name: str) -> Main:
        async def main(bus: MemoryBus, ready: anyio.Event, stop: anyio.Event) -> None:
            journal = self.build.journal(bus, Subjects())
            archiving = Archiving(self.scenario.archived_after_s)
            service = self.build.coordinator(
                journal, name, self.build.protocols, WRITES_AT_ONCE, archiving
            )
            service.ready = ready
            self.services[name] = service
            await service.run(stop)

        return main

    def _speak(self, persona: str) -> Main:
        async def main(bus: MemoryBus, ready: anyio.Event, stop: anyio.Event) -> None:
            journal = self.build.journal(bus, Subjects())
            brain = MoodyBrain(self.scenario)
            worker = self.build.worker(journal, self.scenario.panel, persona, brain, OPTIONS)
            worker.ready = ready
            await worker.run(stop)

        return main

    def _begin(self, tasks: TaskGroup) -> None:
        for debate in self.scenario.debates:
            tasks.start_soon(self._attend, debate)
        for event in self.scenario.events:
            tasks.start_soon(self._strike, event, tasks)
        if self.scenario.ghost:
            tasks.start_soon(self._haunt)
        for forgery in self.scenario.forgeries:
            tasks.start_soon(self._forge, forgery)

    async def _attend(self, debate: Debate) -> None:
        """A client with a question, and perhaps without the patience for an answer."""
        await anyio.sleep(debate.submitted_at)
        fact = Submitted(panel=debate.question.panel, input=DebateInput(text=debate.question.text))
        await insist(lambda: self.journal.submit(debate.ref, fact))
        self.submitted.add(debate.ref)
        if debate.patience_s is not None:
            await anyio.sleep(debate.patience_s)
            enough = CancelRequested(why="seen enough")
            await insist(lambda: self.journal.cancel(debate.ref, enough))

    async def _strike(self, event: Event, tasks: TaskGroup) -> None:
        await anyio.sleep(event.at)
        self.trace(anyio.current_time(), f"{event.blow} {event.process} for {event.lasts_s:.1f} s")
        (process,) = [
            one for one in (*self.coordinators, *self.agents) if one.name == event.process
        ]
        await process.suffer(event, tasks)

    async def _haunt(self) -> None:
        """A coordinator that lives and does nothing: the others must not wait for it for ever."""
        protocols = tuple(sorted(self.build.protocols))
        beacon = Beacon(name="ghost", protocols=protocols).model_dump_json().encode()
        while True:
            await self.journal.bus.signal(self.journal.subjects.beacons(), beacon)
            await anyio.sleep(BEAT_S)

    async def _forge(self, forgery: Forgery) -> None:
        await anyio.sleep(max(0.0, forgery.at))
        if self.checker.is_legal(forgery.ref, forgery.data, forgery.tail):
            return
        log = self.server.log
        self.checker.forged.add(log.last_sequence + 1)
        subject = self.journal.subjects.at(forgery.ref, forgery.tail)
        log.write(Entry(subject, forgery.data, f"forged-{log.last_sequence}"))

    async def _until_closed(self) -> None:
        while not self.checker.violations:
            if len(self.submitted) == len(self.scenario.debates) and not self.checker.open_debates:
                return
            await anyio.sleep(WATCH_S)
            if self._somebody_coordinates():
                self._count()

    def _somebody_coordinates(self) -> bool:
        now = anyio.current_time()
        return any(
            process.well_since is not None and now - process.well_since > TAKEN_OVER_S
            for process in self.coordinators
        )

    def _count(self) -> None:
        for ledger in self.checker.open_debates:
            debate = ledger.debate
            if debate.ref not in self.submitted:
                continue
            self.attended[debate.ref] = self.attended.get(debate.ref, 0.0) + WATCH_S
            if self.attended[debate.ref] > debate.budget_s:
                self.checker.violations.append(
                    f"{debate.ref} is {ledger.state.phase} after {debate.budget_s:g} s of attention"
                )

    async def _settle(self) -> None:
        """Whoever wakes up only after the end must do no harm, and let go of what is closed."""
        self._thaw()
        await anyio.sleep(AFTERMATH_S)
        with anyio.move_on_after(ARCHIVED_WITHIN_S):
            while self._unarchived():  # noqa: ASYNC110 - nobody tells when it changes
                await anyio.sleep(WATCH_S)
        with anyio.move_on_after(SETTLED_S):
            while self._held():  # noqa: ASYNC110 - likewise
                await anyio.sleep(WATCH_S)

    def _unarchived(self) -> list[str]:
        """Debates of which the log still holds something."""
        return [
            str(one.ref)
            for one in self.scenario.debates
            if not self._is_archived(one.ref)
            or self.server.log.read(self.journal.subjects.debate(one.ref), 1)
        ]

    def _held(self) -> dict[str, int]:
        """How many debates the coordinators that are well still hold."""
        held = {
            process.name: self.services[process.name].open_debates
            for process in self.coordinators
            if process.well_since is not None
        }
        return {name: count for name, count in held.items() if count}

    def _thaw(self) -> None:
        for process in (*self.coordinators, *self.agents):
            process.thaw()

    def _check_rest(self, held: dict[str, int]) -> None:
        """`held` was counted before the last ones woke up, who have just begun to read."""
        self.checker.check_end()
        if held:
            self.checker.violations.append(f"closed debates are still held: {held}")

    def _note(self, record: Record) -> None:
        self.log.append(record)
        text = f"#{record.sequence} {record.subject} {record.data.decode(errors='replace')[:100]}"
        self.trace(anyio.current_time(), text)

    def _outcome(self) -> Outcome:
        digest = hashlib.sha256()
        for record in self.log:
            digest.update(f"{record.sequence} {record.time_ns} {record.subject} ".encode())
            digest.update(record.data)
        states = [ledger.state.closed for ledger in self.checker.ledgers.values()]
        return Outcome(
            seed=self.scenario.seed,
            violations=tuple(self.checker.violations),
            digest=digest.hexdigest(),
            records=len(self.log),
            virtual_s=anyio.current_time(),
            closed=tuple(closed.reason for closed in states if closed is not None),
        )


async def insist(write: Callable[[], Awaitable[None]]) -> None:
    """A client repeats itself until it knows; finding its own entry in the log is an answer."""
    while True:
        try:
            await write()
        except Unavailable:
            await anyio.sleep(0.5)
        except Conflict:
            return
        else:
            return
