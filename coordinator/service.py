"""
The coordinator as a process: folds the log, decides, writes under compare-and-set.

Any number of replicas run at once. Each sees the whole log, but folds only the debates it acts
on first (see `peers`); the others it merely counts, and reads them back when it has to take over.
Whatever two replicas do at the same time, the guard on the control facts lets one of them win,
and the loser learns of it from the log like everybody else.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.codec import decode
from parley.bus.contracts.facts import Asked, Closed, Fact
from parley.bus.errors import DecodeError, ProtocolError, Unavailable
from parley.bus.journal import Journal, refuse_forged
from parley.bus.port import Presence, Record
from parley.bus.subjects import ASKS, CLOSED, DebateRef
from parley.bus.tally import Tally
from parley.coordinator.abstaining import abstain_for
from parley.coordinator.deadlines import Deadlines, has_passed, is_neglected
from parley.coordinator.decisions import Decisions
from parley.coordinator.figures import count, presence
from parley.coordinator.misplaced import NOT_ASKED, NOT_SUBMITTED, stray_reason
from parley.coordinator.policy import FLOWS, Flow
from parley.coordinator.pulse import Pulse
from parley.coordinator.quarantine import Quarantine
from parley.coordinator.reducer import apply, pass_over
from parley.coordinator.state import DebateState, Phase
from parley.coordinator.survey import beheaded, falsely_closed, not_closed, unasked_turns
from parley.coordinator.watched import News, Watched

# A debate of somebody else's that shows no decision for this long after a fact is looked into.
STALL_S = 5.0
# How often deadlines are looked at: one passes at most this much too late. Replicas use their own
# clocks, from when they saw the step open, so that it does not matter what the clocks show.
TICK_S = 0.25
# Control facts that wait for an answer at the same time; those that are offered wait for none.
WRITES_AT_ONCE = 256
# Debates read back from the log at the same time.
READS_AT_ONCE = 32
# Likewise debates that are only suspected of never having been submitted.
LOOKUPS_AT_ONCE = 4
# How long the writes under way may take after a stop.
DRAIN_S = 10.0

# Closed, or never begun: its submission is no fact.
OVER = frozenset({Phase.UNKNOWN, Phase.CLOSED})

log = structlog.get_logger()


class Coordinator:
    def __init__(
        self,
        journal: Journal,
        name: str,
        flows: Mapping[str, Flow] = FLOWS,
        writes_at_once: int = WRITES_AT_ONCE,
    ) -> None:
        self._journal = journal
        self._subjects = journal.subjects
        self._pulse = Pulse(journal, name, self._share_out)
        self._peers = self._pulse.peers
        self._debates: dict[DebateRef, Watched] = {}
        self._reads = anyio.CapacityLimiter(READS_AT_ONCE)
        self._lookups = anyio.CapacityLimiter(LOOKUPS_AT_ONCE)
        self._now = anyio.current_time()
        self._tasks: TaskGroup
        self._following = anyio.CancelScope()
        self._leaving = False
        self.ready = anyio.Event()
        self.tally = Tally()
        self._decisions = Decisions(journal, flows, writes_at_once)
        self._deadlines = Deadlines(journal)
        self._quarantine = Quarantine(journal.bus, self._subjects, self.tally)

    @property
    def open_debates(self) -> int:
        return len(self._debates)

    def describe(self) -> Presence:
        mine = sum(watched.mine for watched in self._debates.values())
        return presence(self._peers.me, mine, self.tally)

    async def run(self, stop: anyio.Event | None = None) -> None:
        """Until cancelled, or until what was decided before `stop` stands in the log."""
        bus = self._journal.bus
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._pulse.listen)
            self._tasks.start_soon(self._pulse.beat)
            self._tasks.start_soon(bus.undeliverable, self._on_undeliverable)
            self._tasks.start_soon(bus.announce, self.describe)
            self._decisions.start(self._tasks)
            self._deadlines.start(self._tasks)
            self._quarantine.start(self._tasks)
            start = await bus.last_sequence() + 1
            await self._find_open_debates()
            self._tasks.start_soon(self._sweep)
            log.info("coordinator_ready", name=self._peers.me, open_debates=len(self._debates))
            self.ready.set()
            if stop is not None:
                self._tasks.start_soon(self._leave, stop)
            with self._following:
                await bus.tail((self._subjects.everything(),), start=start, on=self._on_records)
            log.info("coordinator_drained", open_debates=len(self._debates))
            self._tasks.cancel_scope.cancel()

    async def _leave(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._decisions.close()
        self._leaving = True
        self._stop_following_if_done()
        await anyio.sleep(DRAIN_S)
        self._following.cancel()

    def _stop_following_if_done(self) -> None:
        """Not before the log has shown what became of everything that was decided."""
        if self._leaving and not any(one.is_writing for one in self._debates.values()):
            self._following.cancel()

    async def _find_open_debates(self) -> None:
        for ref in await not_closed(self._journal):
            watched = self._watch(ref)
            if watched.mine:
                self._load(ref, watched)
        self._tasks.start_soon(self._find_falsely_closed)

    async def _find_falsely_closed(self) -> None:
        """In the background, because it takes the longer the more debates there ever were."""
        try:
            found = await falsely_closed(self._journal)
            for ref in await beheaded(self._journal):
                log.error("submission_gone", debate=str(ref), hint="the log keeps too little")
            for record in await unasked_turns(self._journal):
                self._quarantine.put(record, NOT_ASKED)
        except Unavailable as error:
            log.warning("closings_unread", reason=str(error))
            return
        for ref in found:
            if ref not in self._debates:
                self._load(ref, self._watch(ref))

    def _watch(self, ref: DebateRef) -> Watched:
        watched = Watched(touched=self._now, mine=self._peers.mine(ref))
        self._debates[ref] = watched
        return watched

    def _on_records(self, records: Sequence[Record]) -> None:
        """First all are read, then folded, then decided on: what was just in use runs faster."""
        # Who was stopped for a while must not take that for time that a step has had.
        self._now = anyio.current_time()
        news = [read for record in records if (read := self._read_alone(record)) is not None]
        moved = {
            one.ref: one.watched
            for one in news
            if self._alone(one.ref, one.watched, partial(self._take, one))
        }
        for ref, watched in moved.items():
            self._alone(ref, watched, partial(self._decide, ref, watched))
        self._stop_following_if_done()

    def _read_alone(self, record: Record) -> News | None:
        try:
            return self._read(record)
        except Exception:
            log.exception("record_failed", subject=record.subject, sequence=record.sequence)
            self._quarantine.put(record, "it cannot be read")
            return None

    def _alone(self, ref: DebateRef, watched: Watched, work: Callable[[], object]) -> bool:
        """
        Work on one debate, which stops no other: what it raises closes this debate as failed.

        A debate whose state is not known, or that is closed, is left alone.
        """
        try:
            return bool(work())
        except Exception:
            log.exception("debate_failed", debate=str(ref))
        self._debates.pop(ref, None)
        state, watched.state = watched.state, None
        if state is not None and state.phase not in OVER:
            self._decisions.give_up(ref, watched, state)
        return False

    def _decide(self, ref: DebateRef, watched: Watched) -> None:
        self._decisions.make_if_due(ref, watched, self._now)
        if watched.state is not None and watched.state.phase in OVER:
            self._debates.pop(ref, None)

    def _read(self, record: Record) -> News | None:
        """None for what concerns no debate that is watched."""
        address = self._subjects.parse(record.subject)
        if address is None:
            self._quarantine.put(record, "its subject belongs to no debate")
            return None
        ref, tail = address
        watched = self._debates.get(ref)
        if watched is None and tail == "submitted":
            watched = self._watch(ref)
            watched.state = DebateState() if watched.mine else None
        if watched is None:
            self._look_up(ref, record, tail)
            return None
        folded = watched.state is not None and not watched.loading
        fact = self._fact(ref, watched, record, tail) if folded or tail == CLOSED else None
        return News(record, ref, tail, watched, fact)

    def _look_up(self, ref: DebateRef, record: Record, tail: str) -> None:
        """Usually a late turn of a debate that is closed; whether it is, only its log can tell."""
        watched = self._watch(ref)
        if watched.mine and self._fact(ref, watched, record, tail) is not None:
            self._load(ref, watched, self._lookups)
        else:
            del self._debates[ref]

    def _take(self, news: News) -> bool:
        """Whether there is a new state to act on."""
        record, ref, tail, watched, fact = news
        if record.sequence <= watched.sequence:
            return False
        watched.touched = self._now
        if tail.startswith(ASKS):
            watched.see_ask(record.sequence, self._now)
        if watched.loading:
            watched.arrived.append(record)
            return False
        watched.move_to(record.sequence, tail)
        if watched.state is not None:
            watched.state = self._after(watched, watched.state, record, fact)
            return True
        if isinstance(fact, Closed):
            self._debates.pop(ref, None)
        return False

    def _after(
        self, watched: Watched, state: DebateState, record: Record, fact: Fact | None
    ) -> DebateState:
        """What is no fact, or has no place where it stands, counts for nothing and is put aside."""
        if fact is None:
            return state
        try:
            after = apply(state, fact)
        except ProtocolError as error:
            unknown = state.phase is Phase.UNKNOWN
            self._quarantine.put(record, NOT_SUBMITTED if unknown else str(error))
            return pass_over(state)
        reason = stray_reason(state, after, fact)
        if reason is not None:
            self._quarantine.put(record, reason)
        if isinstance(fact, Asked):
            seen = watched.see_ask(record.sequence, self._now)
            watched.deadline = seen + fact.deadline_s + TICK_S
        return after

    def _fact(self, ref: DebateRef, watched: Watched, record: Record, tail: str) -> Fact | None:
        """None if it is none: it is put aside then."""
        try:
            refuse_forged(record)
        except DecodeError as error:
            self._quarantine.put(record, str(error))
            return None
        sent = watched.sent and watched.sent.draft
        if sent is not None and sent.subject == record.subject and sent.data == record.data:
            watched.sent = None
            count(self.tally, ref.panel, sent.fact)
            return sent.fact
        try:
            return decode(tail, record.data)
        except DecodeError as error:
            self._quarantine.put(record, str(error))
            return None

    def _load(
        self, ref: DebateRef, watched: Watched, limit: anyio.CapacityLimiter | None = None
    ) -> None:
        watched.loading = True
        self._tasks.start_soon(self._read_back, ref, watched, limit or self._reads)

    async def _read_back(
        self, ref: DebateRef, watched: Watched, limit: anyio.CapacityLimiter
    ) -> None:
        try:
            async with limit:
                records = await self._journal.bus.read(self._subjects.debate(ref))
        except Unavailable as error:
            log.warning("read_back_failed", debate=str(ref), reason=str(error))
            watched.loading, watched.state, watched.looked_into = False, None, -1
            watched.arrived.clear()
            return
        self._alone(ref, watched, partial(self._fold, ref, watched, records))

    def _fold(self, ref: DebateRef, watched: Watched, records: Sequence[Record]) -> None:
        self._now = anyio.current_time()
        every = (*records, *watched.arrived)
        watched.sequence, watched.loading = 0, False
        watched.acting_after = watched.answered_after = None
        watched.arrived.clear()
        state = DebateState()
        try:
            for record in every:
                if record.sequence > watched.sequence:
                    state = self._taken_in(ref, watched, state, record)
        except Exception:
            self._leave_broken(ref, watched, state, every)
            raise
        watched.state = state
        self._settle(ref, watched, state)

    def _leave_broken(
        self, ref: DebateRef, watched: Watched, state: DebateState, records: Sequence[Record]
    ) -> None:
        """Of a debate that cannot be folded: the last state there is, after all that stands there."""
        for record in records:
            if record.sequence > watched.sequence:
                watched.move_to(record.sequence, self._subjects.tail(ref, record.subject))
        closings = [one for one in records if one.subject == self._subjects.at(ref, CLOSED)]
        if not self._journal.decode_all(closings)[0]:
            watched.state = state

    def _taken_in(
        self, ref: DebateRef, watched: Watched, state: DebateState, record: Record
    ) -> DebateState:
        tail = self._subjects.tail(ref, record.subject)
        watched.move_to(record.sequence, tail)
        return self._after(watched, state, record, self._fact(ref, watched, record, tail))

    def _settle(self, ref: DebateRef, watched: Watched, state: DebateState) -> None:
        if state.phase in OVER:
            self._debates.pop(ref, None)
        elif self._decisions.make_if_due(ref, watched, self._now) or watched.mine:
            return
        elif is_neglected(watched, self._now):
            self._deadlines.fire(ref, watched, state, self._now)
        else:
            watched.state = None

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
            self._now = anyio.current_time()
            self._decisions.look_after(self._debates, self._now)
            for ref, watched in list(self._debates.items()):
                if not watched.loading:
                    self._alone(ref, watched, partial(self._sweep_one, ref, watched))

    def _sweep_one(self, ref: DebateRef, watched: Watched) -> None:
        if watched.state is None:
            self._look_into_stalled(ref, watched)
        elif self._is_unheard_of(watched):
            log.warning("reading_again", debate=str(ref))
            self._load(ref, watched)
        elif has_passed(watched, self._now):
            self._deadlines.fire(ref, watched, watched.state, self._now)

    def _look_into_stalled(self, ref: DebateRef, watched: Watched) -> None:
        silent = self._is_silent(watched) and watched.looked_into != watched.sequence
        if silent or is_neglected(watched, self._now):
            log.info("looking_into_stalled", debate=str(ref))
            watched.looked_into = watched.sequence
            self._load(ref, watched)

    def _is_silent(self, watched: Watched) -> bool:
        return self._now - watched.touched > STALL_S

    def _is_unheard_of(self, watched: Watched) -> bool:
        """Our write was answered, but the log shows nothing of it: we do not know the log."""
        return watched.answered_after == watched.control and self._is_silent(watched)

    def _on_undeliverable(self, queue: str, sequence: int) -> None:
        self._tasks.start_soon(self._abstain_for, queue, sequence)

    async def _abstain_for(self, queue: str, sequence: int) -> None:
        try:
            written = await abstain_for(self._journal, self._debates, queue, sequence)
        except Exception:
            log.exception("abstention_failed", queue=queue, sequence=sequence)
            return
        if written is not None:
            ref, fact = written
            count(self.tally, ref.panel, fact)
