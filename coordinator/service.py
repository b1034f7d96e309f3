"""
The coordinator as a process: folds the log, decides, writes under compare-and-set.

Any number of replicas run at once. Each sees the whole log, but folds only the debates it acts
on first (see `peers`); the others it merely counts, and reads them back when it has to take over.
Whatever two replicas do at the same time, the guard on the control facts lets one of them win,
and the loser learns of it from the log like everybody else.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup
from pydantic import ValidationError

from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    ControlFact,
    DeadlineFired,
    Fact,
)
from parley.bus.errors import Conflict, DecodeError, NotFound, ProtocolError, Unavailable
from parley.bus.journal import Draft, Journal
from parley.bus.port import Record
from parley.bus.subjects import CONTROL, DebateRef
from parley.coordinator.crew import Crew
from parley.coordinator.peers import BEAT_S, Beacon, Peers
from parley.coordinator.policy import FLOWS, Flow, decide
from parley.coordinator.reducer import apply
from parley.coordinator.state import DebateState

# A debate of somebody else's that shows no decision for this long after a fact is looked into.
STALL_S = 5.0
# How often deadlines are looked at: one passes at most this much too late. Replicas use their own
# clocks, from when they saw the step open, so that it does not matter what the clocks show.
TICK_S = 0.25
# How long a passed deadline may be missing in the log before it is written again.
OVERDUE_S = 5.0
# Control facts on their way at the same time.
WRITES_AT_ONCE = 256
# Debates read back from the log at the same time.
READS_AT_ONCE = 32

log = structlog.get_logger()


@dataclass(slots=True)
class Watched:
    """A debate that is not closed. `state` is folded only while this replica acts on it."""

    sequence: int = 0
    control: int = 0
    touched: float = 0.0
    mine: bool = False
    state: DebateState | None = None
    loading: bool = False
    arrived: list[Record] = field(default_factory=list)
    # The control sequence after which a write of ours is under way.
    acting_after: int | None = None
    # What we wrote last: it comes back through the log, and need not be read then.
    sent: Draft | None = None
    deadline: float | None = None
    looked_into: int = -1


class Write(NamedTuple):
    """A decision on its way into the log, with the guard of the moment it was made."""

    ref: DebateRef
    watched: Watched
    draft: Draft
    after: int


class Coordinator:
    def __init__(self, journal: Journal, name: str, flows: Mapping[str, Flow] = FLOWS) -> None:
        self._journal = journal
        self._subjects = journal.subjects
        self._flows = flows
        self._peers = Peers(name)
        self._debates: dict[DebateRef, Watched] = {}
        self._reads = anyio.CapacityLimiter(READS_AT_ONCE)
        self._writers = Crew(WRITES_AT_ONCE, self._act)
        self._now = anyio.current_time()
        self._tasks: TaskGroup
        self.ready = anyio.Event()

    @property
    def open_debates(self) -> int:
        return len(self._debates)

    async def run(self) -> None:
        """Until cancelled."""
        bus = self._journal.bus
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(bus.listen, self._subjects.beacons(), self._on_beacon)
            self._tasks.start_soon(bus.undeliverable, self._on_undeliverable)
            self._tasks.start_soon(self._beat)
            self._writers.start(self._tasks)
            start = await bus.last_sequence() + 1
            await self._find_open_debates()
            self._tasks.start_soon(self._sweep)
            log.info("coordinator_ready", name=self._peers.me, open_debates=len(self._debates))
            self.ready.set()
            await bus.tail(self._subjects.facts(), start=start, on=self._on_record)

    async def _find_open_debates(self) -> None:
        closed = {
            self._ref(one) for one in await self._journal.bus.subjects(self._subjects.closings())
        }
        for subject in await self._journal.bus.subjects(self._subjects.submissions()):
            ref = self._ref(subject)
            if ref is not None and ref not in closed:
                self._watch(ref)
        for ref, watched in list(self._debates.items()):
            if watched.mine:
                self._load(ref, watched)

    def _ref(self, subject: str) -> DebateRef | None:
        address = self._subjects.parse(subject)
        return address[0] if address else None

    def _watch(self, ref: DebateRef) -> Watched:
        watched = Watched(touched=self._now, mine=self._peers.mine(ref))
        self._debates[ref] = watched
        return watched

    def _on_record(self, record: Record) -> None:
        address = self._subjects.parse(record.subject)
        if address is None:
            return
        ref, tail = address
        watched = self._debates.get(ref)
        if watched is None and tail == "submitted":
            watched = self._watch(ref)
            watched.state = DebateState() if watched.mine else None
        if watched is None or record.sequence <= watched.sequence:
            return
        if watched.loading:
            watched.arrived.append(record)
        elif watched.state is not None:
            self._fold(ref, watched, record)
            self._act_if_due(ref, watched)
        self._note(ref, watched, record, tail)

    def _note(self, ref: DebateRef, watched: Watched, record: Record, tail: str) -> None:
        watched.touched = self._now
        if not watched.loading:
            watched.sequence = record.sequence
        if watched.state is None and tail.startswith(CONTROL):
            watched.control = record.sequence
        if tail == "ctl.closed":
            self._debates.pop(ref, None)

    def _fold(self, ref: DebateRef, watched: Watched, record: Record) -> None:
        """An undecodable record counts for nothing; an illegal one makes us let go of the debate."""
        if watched.state is None:
            return
        watched.sequence = record.sequence
        try:
            fact = self._fact(watched, record)
            watched.state = apply(watched.state, fact)
        except DecodeError as error:
            log.warning("quarantined", debate=str(ref), sequence=record.sequence, reason=str(error))
            return
        except ProtocolError:
            log.exception("illegal_fact", debate=str(ref), sequence=record.sequence)
            watched.state, watched.mine = None, False
            return
        if not isinstance(fact, ControlFact):
            return
        watched.control = record.sequence
        if isinstance(fact, Asked):
            watched.deadline = self._now + fact.deadline_s + TICK_S

    def _fact(self, watched: Watched, record: Record) -> Fact:
        sent = watched.sent
        if sent is not None and sent.subject == record.subject and sent.data == record.data:
            return sent.fact
        return self._journal.decode(record).fact

    def _act_if_due(self, ref: DebateRef, watched: Watched) -> bool:
        if watched.state is None or watched.acting_after == watched.control:
            return False
        fact = decide(watched.state, self._flows)
        if fact is None:
            return False
        watched.acting_after = watched.control
        watched.sent = self._journal.draft(ref, fact)
        self._writers.hand(Write(ref, watched, watched.sent, watched.control))
        return True

    async def _act(self, write: Write) -> None:
        while write.watched.control == write.after:
            try:
                await self._journal.control(write.ref, write.draft, after=write.after)
            except Conflict:
                return
            except Unavailable as error:
                log.warning("control_write_undecided", debate=str(write.ref), reason=str(error))
            else:
                return

    def _load(self, ref: DebateRef, watched: Watched) -> None:
        watched.loading = True
        self._tasks.start_soon(self._read_back, ref, watched)

    async def _read_back(self, ref: DebateRef, watched: Watched) -> None:
        try:
            async with self._reads:
                records = await self._journal.bus.read(self._subjects.debate(ref))
        except Unavailable as error:
            log.warning("read_back_failed", debate=str(ref), reason=str(error))
            watched.loading, watched.state, watched.looked_into = False, None, -1
            watched.arrived.clear()
            return
        watched.state, watched.sequence, watched.control = DebateState(), 0, 0
        watched.acting_after = None
        for record in (*records, *watched.arrived):
            if record.sequence > watched.sequence:
                self._fold(ref, watched, record)
        watched.loading = False
        watched.arrived.clear()
        self._settle(ref, watched)

    def _settle(self, ref: DebateRef, watched: Watched) -> None:
        if watched.state is not None and watched.state.closed is not None:
            self._debates.pop(ref, None)
        elif not self._act_if_due(ref, watched) and not watched.mine:
            watched.state = None

    async def _beat(self) -> None:
        try:
            while True:
                self._now = anyio.current_time()
                await self._say(Beacon(name=self._peers.me))
                if self._peers.forget_silent(self._now):
                    self._share_out()
                await anyio.sleep(BEAT_S)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._say(Beacon(name=self._peers.me, leaving=True))

    async def _say(self, beacon: Beacon) -> None:
        """Unheard while the server is away: nobody else hears anything then, either."""
        with suppress(Unavailable):
            await self._journal.bus.signal(
                self._subjects.beacons(), beacon.model_dump_json().encode()
            )

    def _on_beacon(self, _subject: str, data: bytes) -> None:
        try:
            beacon = Beacon.model_validate_json(data)
        except ValidationError:
            log.warning("quarantined", subject="beacon", reason="not a beacon")
            return
        if self._peers.hear(beacon, self._now):
            self._share_out()

    def _share_out(self) -> None:
        log.info("coordinators", living=self._peers.living)
        for ref, watched in list(self._debates.items()):
            had, watched.mine = watched.mine, self._peers.mine(ref)
            if watched.mine and watched.state is None and not watched.loading:
                self._load(ref, watched)
            elif had and not watched.mine:
                watched.state = None

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(TICK_S)
            now = self._now = anyio.current_time()
            for ref, watched in list(self._debates.items()):
                if watched.loading:
                    continue
                if watched.state is None:
                    self._look_into_stalled(ref, watched, now)
                elif watched.deadline is not None and now > watched.deadline:
                    self._pass_deadline(ref, watched, now)

    def _look_into_stalled(self, ref: DebateRef, watched: Watched, now: float) -> None:
        stalled = now - watched.touched > STALL_S and watched.looked_into != watched.sequence
        if stalled:
            log.info("looking_into_stalled", debate=str(ref))
            watched.looked_into = watched.sequence
            self._load(ref, watched)

    def _pass_deadline(self, ref: DebateRef, watched: Watched, now: float) -> None:
        assert watched.state is not None
        step = watched.state.open_step
        if step is None or watched.state.armed is None:
            watched.deadline = None
            return
        watched.deadline = now + OVERDUE_S
        self._tasks.start_soon(self._fire, ref, DeadlineFired(step=step.name))

    async def _fire(self, ref: DebateRef, fact: DeadlineFired) -> None:
        try:
            await self._journal.fire(ref, fact)
        except Conflict:
            log.debug("already_fired", debate=str(ref), step=fact.step)
        except Unavailable as error:
            log.warning("deadline_undecided", debate=str(ref), step=fact.step, reason=str(error))

    def _on_undeliverable(self, queue: str, sequence: int) -> None:
        self._tasks.start_soon(self._abstain_for, queue, sequence)

    async def _abstain_for(self, queue: str, sequence: int) -> None:
        """Write the abstention of a persona that its queue has given up on."""
        try:
            logged = self._journal.decode(await self._journal.bus.record(sequence))
        except (NotFound, DecodeError, Unavailable) as error:
            log.warning("undeliverable", queue=queue, sequence=sequence, reason=str(error))
            return
        watched = self._debates.get(logged.ref)
        ask, persona = logged.fact, queue.removeprefix(f"{logged.ref.panel}-")
        if watched is None or not isinstance(ask, Asked):
            return
        log.warning("undeliverable", debate=str(logged.ref), step=ask.step, persona=persona)
        while (fact := self._abstention(watched, ask.step, persona)) is not None:
            try:
                draft = self._journal.draft(logged.ref, fact)
                await self._journal.control(logged.ref, draft, after=watched.control)
            except (Conflict, Unavailable):
                await anyio.sleep(0.05)
            else:
                return

    def _abstention(self, watched: Watched, step: str, persona: str) -> Abstained | None:
        state = watched.state
        if state is None or state.open_step is None or state.open_step.name != step:
            return None
        if persona not in state.open_step.waiting_for:
            return None
        return Abstained(
            decided_at=state.facts,
            step=step,
            persona=persona,
            reason=AbstainReason.UNDELIVERABLE,
        )
