"""
The coordinator as a process: folds the log, decides, writes under compare-and-set.

Any number of replicas run at once. Each reads only the partitions that are its own (see
`membership`), and reads them back when it has to take over. Whatever two replicas do at the same
time, the guard on the control facts lets one of them win, and the loser learns of it from the log
like everybody else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.codec import decode
from parley.bus.contracts.facts import Asked, Closed, Fact
from parley.bus.errors import BusError, DecodeError, NotInstalled, ProtocolError, Unavailable
from parley.bus.journal import Journal, refuse_forged
from parley.bus.metrics import Metrics
from parley.bus.port import Presence, Record
from parley.bus.subjects import CLOSED, OPENED, SUBMITTED, DebateRef, partition_of
from parley.coordinator.core.misplaced import NOT_ASKED, NOT_SUBMITTED, stray_reason
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.core.reducer import take
from parley.coordinator.core.state import DebateState, Phase
from parley.coordinator.service.abstentions import abstain_for
from parley.coordinator.service.archiver import Archiver, Archiving
from parley.coordinator.service.deadlines import (
    TICK_S,
    Deadlines,
    has_passed,
    next_deadline,
)
from parley.coordinator.service.decisions import Decisions
from parley.coordinator.service.declarations import Declarations
from parley.coordinator.service.following import Following
from parley.coordinator.service.heartbeat import Heartbeat
from parley.coordinator.service.membership import Membership
from parley.coordinator.service.metrics import count, presence
from parley.coordinator.service.open_debates import (
    Standing,
    falsely_closed,
    not_closed,
    standing,
    unasked_turns,
)
from parley.coordinator.service.quarantine import Quarantine
from parley.coordinator.service.spans import tell_of
from parley.coordinator.service.tracked import News, TrackedDebate

# A debate that shows nothing of what was written to it for this long is read again.
STALL_S = 5.0
# How long one who starts waits to hear from those who are there.
HELLO_S = 0.1
# Control facts that wait for an answer at the same time; those that are offered wait for none.
WRITES_AT_ONCE = 256
# Debates read back from the log at the same time.
READS_AT_ONCE = 32
# Of those that are taken over, so many share one look into the archive.
READ_TOGETHER = 16
# Likewise debates that are only suspected of never having been submitted.
LOOKUPS_AT_ONCE = 4
# Debates that one look into the archive asks for.
ASKED_TOGETHER = 500
# Debates of protocols that are not installed here, remembered so that they are not read again.
FOREIGN_KNOWN = 10_000
# How long the writes under way may take after a stop.
DRAIN_S = 10.0

# Closed, or never begun: its submission is no fact.
OVER = frozenset({Phase.UNKNOWN, Phase.CLOSED})

Loading = tuple[DebateRef, TrackedDebate]

log = structlog.get_logger()


class Coordinator:
    def __init__(
        self,
        journal: Journal,
        name: str,
        protocols: Mapping[str, Protocol] = PROTOCOLS,
        writes_at_once: int = WRITES_AT_ONCE,
        archiving: Archiving | None = None,
    ) -> None:
        self._journal = journal
        self._subjects = journal.subjects
        self._membership = Membership(name, tuple(sorted(protocols)))
        self._following = Following(journal, self._wanted, self._gain, self._lose, self._on_records)
        self._heartbeat = Heartbeat(
            journal,
            self._membership,
            lambda: self._following.partitions,
            self._following.look_again,
        )
        self._debates: dict[DebateRef, TrackedDebate] = {}
        # Of protocols that are not installed here: left to coordinators that have them.
        self._foreign: dict[DebateRef, None] = {}
        self._reads = anyio.CapacityLimiter(READS_AT_ONCE)
        self._lookups = anyio.CapacityLimiter(LOOKUPS_AT_ONCE)
        self._now = anyio.current_time()
        self._tasks: TaskGroup
        self._running = anyio.CancelScope()
        self._leaving = False
        self.ready = anyio.Event()
        self.metrics = Metrics()
        self._decisions = Decisions(journal, protocols, writes_at_once)
        self._deadlines = Deadlines(journal)
        self._declarations = Declarations(journal.bus, journal.subjects)
        self._quarantine = Quarantine(journal.bus, self._subjects, self.metrics)
        self._archiver = Archiver(journal, archiving, self._quarantine, self.metrics, self._is_mine)
        # Submitted just now; whether their ids are taken by archived debates is not known yet.
        self._fresh: list[Loading] = []
        # Opened just now; whether somebody had them before is not known yet.
        self._opened: list[Loading] = []

    @property
    def open_debates(self) -> int:
        return len(self._debates)

    def describe(self) -> Presence:
        return presence(self._membership.me, len(self._debates), self.metrics)

    async def run(self, stop: anyio.Event | None = None) -> None:
        """Until cancelled, or until what was decided before `stop` stands in the log."""
        bus = self._journal.bus
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._heartbeat.listen)
            self._tasks.start_soon(self._heartbeat.beat)
            self._tasks.start_soon(bus.undeliverable, self._on_undeliverable)
            self._tasks.start_soon(bus.announce, self.describe)
            self._decisions.start(self._tasks)
            self._deadlines.start(self._tasks, anyio.current_time())
            self._quarantine.start(self._tasks)
            self._declarations.start(self._tasks)
            await anyio.sleep(HELLO_S)
            self._tasks.start_soon(self._begin, stop)
            with self._running:
                await self._following.run()
            log.info("coordinator_drained", open_debates=len(self._debates))
            self._tasks.cancel_scope.cancel()

    async def _begin(self, stop: anyio.Event | None) -> None:
        """Once everything that is to be read here is read."""
        await self._following.ready.wait()
        self._tasks.start_soon(self._sweep)
        self._archiver.start(self._tasks)
        log.info("coordinator_ready", name=self._membership.me, open_debates=len(self._debates))
        self.ready.set()
        if stop is not None:
            await self._drain(stop)

    async def _drain(self, stop: anyio.Event) -> None:
        await stop.wait()
        self._decisions.close()
        self._leaving = True
        self._stop_following_if_done()
        await anyio.sleep(DRAIN_S)
        self._running.cancel()

    def _stop_following_if_done(self) -> None:
        """Not before the log has shown what became of everything that was decided."""
        if self._leaving and not any(one.is_writing for one in self._debates.values()):
            self._running.cancel()

    def _wanted(self) -> frozenset[int]:
        return self._membership.partitions(self._following.partitions, anyio.current_time())

    def _is_mine(self, ref: DebateRef) -> bool:
        return self._following.reads(ref.id)

    async def _gain(self, partitions: frozenset[int]) -> None:
        found = await not_closed(self._journal, partitions)
        gained = [(ref, self._watch(ref)) for ref in found if ref not in self._debates]
        for _, tracked in gained:
            tracked.start_loading()
        size = max(1, min(READ_TOGETHER, len(gained) // READS_AT_ONCE))
        batches = iter([gained[n : n + size] for n in range(0, len(gained), size)])
        for _ in range(min(READS_AT_ONCE, len(gained))):
            self._tasks.start_soon(self._read_back_each, batches)
        self._tasks.start_soon(self._find_falsely_closed, partitions)

    def _lose(self, partitions: frozenset[int]) -> None:
        """Whoever reads them now reads their debates back; what we write there still counts."""
        for ref in [one for one in self._debates if partition_of(one.id) in partitions]:
            del self._debates[ref]

    async def _find_falsely_closed(self, partitions: frozenset[int]) -> None:
        """In the background, because it takes the longer the more debates there ever were."""
        try:
            found = await falsely_closed(self._journal, partitions)
            known = await standing(self._journal, partitions)
            await self._look_at_strangers(known)
            for record in await unasked_turns(self._journal, known):
                self._quarantine.put(record, NOT_ASKED)
        except Unavailable as error:
            log.warning("closings_unread", reason=str(error))
            return
        except Exception:
            log.exception("closings_unread")
            return
        for ref in found:
            if ref not in self._debates and self._is_mine(ref):
                self._load(ref, self._watch(ref))
        self._archiver.rescan()

    async def _look_at_strangers(self, known: Standing) -> None:
        """What stands in the log without a submission: late facts and rests of archived debates."""
        for ref in known.strangers():
            if ref in self._debates or not self._is_mine(ref):
                continue
            if await self._archiver.is_archived(ref):
                rest = await self._journal.bus.read(self._subjects.debate(ref))
                await self._archiver.put_aside(ref, rest)
            elif known.has_lost_submission(ref):
                log.error("submission_gone", debate=str(ref), hint="the log keeps too little")

    def _watch(self, ref: DebateRef) -> TrackedDebate:
        tracked = TrackedDebate(touched=self._now)
        self._debates[ref] = tracked
        return tracked

    def _on_records(self, records: Sequence[Record]) -> None:
        """First all are read, then folded, then decided on: what was just in use runs faster."""
        # Who was stopped for a while must not take that for time that a step has had.
        self._now = anyio.current_time()
        news = [read for record in records if (read := self._read_alone(record)) is not None]
        moved = {
            one.ref: one.tracked
            for one in news
            if self._alone(one.ref, one.tracked, partial(self._take, one))
        }
        for ref, tracked in moved.items():
            self._alone(ref, tracked, partial(self._decide, ref, tracked))
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            self._tasks.start_soon(self._admit, fresh)
        if self._opened:
            opened, self._opened = self._opened, []
            self._tasks.start_soon(self._confirm, opened)
        self._stop_following_if_done()

    def _read_alone(self, record: Record) -> News | None:
        try:
            return self._read(record)
        except Exception:
            log.exception("record_failed", subject=record.subject, sequence=record.sequence)
            self._quarantine.put(record, "it cannot be read")
            return None

    def _alone(self, ref: DebateRef, tracked: TrackedDebate, work: Callable[[], object]) -> bool:
        """
        Work on one debate, which stops no other: what it raises closes this debate as failed.

        A debate whose state is not known, or that is closed, is left alone.
        """
        try:
            return bool(work())
        except Exception:
            log.exception("debate_failed", debate=str(ref))
        self._debates.pop(ref, None)
        state = tracked.let_go()
        if state is not None and state.phase not in OVER:
            self._decisions.give_up(ref, tracked, state)
        return False

    def _decide(self, ref: DebateRef, tracked: TrackedDebate) -> None:
        if tracked.is_unconfirmed:
            if not tracked.confirming:
                tracked.confirming = True
                self._opened.append((ref, tracked))
            return
        self._decisions.make_if_due(ref, tracked, self._now)
        if tracked.state is not None and tracked.state.phase in OVER:
            if tracked.closed_by_us:
                tell_of(self._journal.telemetry, ref, list(tracked.facts.values()))
            self._leave(ref, tracked.state)

    def _leave(self, ref: DebateRef, state: DebateState) -> None:
        """A debate that is over."""
        self._debates.pop(ref, None)
        if state.closed is not None and self._is_mine(ref):
            self._archiver.closed(ref)

    def _read(self, record: Record) -> News | None:
        """None for what concerns no debate that is tracked."""
        address = self._subjects.parse(record.subject)
        if address is None:
            self._quarantine.put(record, "its subject belongs to no debate")
            return None
        ref, tail = address
        if ref in self._foreign or not self._following.is_news(ref.id, record.sequence):
            return None
        tracked = self._debates.get(ref)
        if tracked is None and tail == SUBMITTED:
            tracked = self._watch(ref)
            tracked.start_loading()
            self._fresh.append((ref, tracked))
        if tracked is None:
            self._look_up(ref, record, tail)
            return None
        folded = tracked.state is not None and not tracked.loading
        fact = self._fact(ref, tracked, tracked.state, record, tail) if folded else None
        return News(record, ref, tail, tracked, fact)

    def _look_up(self, ref: DebateRef, record: Record, tail: str) -> None:
        """Usually a late turn of a debate that is closed; whether it is, only its log can tell."""
        tracked = self._watch(ref)
        if self._may_be_somebodys(ref, tracked, record, tail):
            self._load(ref, tracked, self._lookups)
        else:
            del self._debates[ref]

    def _may_be_somebodys(
        self, ref: DebateRef, tracked: TrackedDebate, record: Record, tail: str
    ) -> bool:
        """What no debate can hold is put aside at once."""
        try:
            self._decoded(ref, tracked, record, tail)
        except NotInstalled:
            return True
        except DecodeError as error:
            self._tasks.start_soon(self._put_aside_unread, ref, record, str(error))
            return False
        return True

    async def _put_aside_unread(self, ref: DebateRef, record: Record, reason: str) -> None:
        """Nothing is left in the log of a debate that is archived."""
        gone = False
        try:
            async with self._lookups:
                gone = await self._archiver.is_archived(ref)
        except Unavailable as error:
            log.info("archive_unread", debate=str(ref), reason=str(error))
        except Exception:
            log.exception("archive_unread", debate=str(ref))
        self._quarantine.put(record, reason, take_out=gone)

    def _take(self, news: News) -> bool:
        """Whether there is a new state to act on."""
        record, _, tail, tracked, fact = news
        if not tracked.arrive(record, tail, self._now) or tracked.state is None:
            return False
        tracked.reach(self._after(tracked, tracked.state, record, fact))
        return True

    def _after(
        self, tracked: TrackedDebate, state: DebateState, record: Record, fact: Fact | None
    ) -> DebateState:
        """What is no fact, or has no place where it stands, counts for nothing and is put aside."""
        if fact is None:
            return state
        if self._journal.telemetry.on:
            tracked.facts[record.sequence] = (record.time_ns, fact)
        _, _, after, refused = take(state, fact)
        if refused is not None:
            unknown = state.phase is Phase.UNKNOWN
            self._quarantine.put(record, NOT_SUBMITTED if unknown else refused)
            if record.sequence == tracked.returned and not unknown:
                # It would be decided again, for ever. Before the submission the same words are
                # somebody else's.
                tracked.reach(after)
                raise ProtocolError(f"what was decided here is illegal: {refused}")
            return after
        reason = stray_reason(state, after, fact)
        if reason is not None:
            self._quarantine.put(record, reason)
        if isinstance(fact, Asked):
            self._deadlines.see_ask(tracked, after, fact, record, self._now)
        return after

    def _fact(
        self,
        ref: DebateRef,
        tracked: TrackedDebate,
        state: DebateState | None,
        record: Record,
        tail: str,
    ) -> Fact | None:
        """None if it is none: it is put aside then."""
        try:
            return self._decoded(ref, tracked, record, tail)
        except DecodeError as error:
            begins = tail == SUBMITTED and state is not None and state.phase is Phase.UNKNOWN
            if begins and isinstance(error, NotInstalled):
                self._leave_to_others(ref)
            self._quarantine.put(record, str(error))
            return None

    def _leave_to_others(self, ref: DebateRef) -> None:
        self._foreign[ref] = None
        if len(self._foreign) > FOREIGN_KNOWN:
            del self._foreign[next(iter(self._foreign))]

    def _decoded(self, ref: DebateRef, tracked: TrackedDebate, record: Record, tail: str) -> Fact:
        refuse_forged(record)
        sent = tracked.sent and tracked.sent.draft
        if sent is not None and sent.subject == record.subject and sent.data == record.data:
            tracked.came_back(record.sequence)
            count(self.metrics, ref.panel, sent.fact)
            self._declarations.see(ref, sent.fact)
            tracked.closed_by_us = isinstance(sent.fact, Closed)
            return sent.fact
        return decode(tail, record.data)

    def _load(
        self, ref: DebateRef, tracked: TrackedDebate, limit: anyio.CapacityLimiter | None = None
    ) -> None:
        tracked.start_loading()
        self._tasks.start_soon(self._read_back, [(ref, tracked)], limit or self._reads)

    async def _read_back_each(self, batches: Iterator[Sequence[Loading]]) -> None:
        """A few of these share the batches, so that whoever has much to read is ready at once."""
        for batch in batches:
            await self._read_back(batch, self._reads)

    async def _read_back(self, batch: Sequence[Loading], limit: anyio.CapacityLimiter) -> None:
        try:
            async with limit:
                logs = [await self._journal.bus.read(self._subjects.debate(r)) for r, _ in batch]
                archived = await self._archived(
                    dict(zip([ref for ref, _ in batch], logs, strict=True))
                )
        except Unavailable as error:
            log.warning("read_back_failed", debates=len(batch), reason=str(error))
            for _, tracked in batch:
                tracked.loading_failed()
            return
        except Exception:
            log.exception("read_back_failed", debates=[str(ref) for ref, _ in batch])
            await self._read_back_one_by_one(batch, limit)
            return
        for (ref, tracked), records in zip(batch, logs, strict=True):
            if ref in archived:
                await self._put_aside(ref, tracked, records)
            elif self._debates.get(ref) is tracked:
                self._alone(ref, tracked, partial(self._fold, ref, tracked, records))

    async def _read_back_one_by_one(
        self, batch: Sequence[Loading], limit: anyio.CapacityLimiter
    ) -> None:
        """Where one of them cannot be read: only that one is let go."""
        if len(batch) > 1:
            for one in batch:
                await self._read_back([one], limit)
            return
        self._debates.pop(batch[0][0], None)

    async def _archived(self, logs: Mapping[DebateRef, Sequence[Record]]) -> set[DebateRef]:
        """Looked up after their logs were read: the archive has a debate before its purge begins."""
        places = {
            self._subjects.archive(ref): ref
            for ref, records in logs.items()
            if not self._is_closed_in(ref, records)
        }
        return {places[one] for one in await self._journal.bus.archive.holds(list(places))}

    def _is_closed_in(self, ref: DebateRef, records: Sequence[Record]) -> bool:
        return any(one.subject == self._subjects.at(ref, CLOSED) for one in records)

    async def _admit(self, fresh: Sequence[Loading]) -> None:
        """The purge of an archived debate took every guard of its id away: the archive stands for it."""
        archived = await self._in_archive(fresh)
        if archived is None:
            for _, tracked in fresh:
                tracked.loading_failed()
            return
        for ref, tracked in fresh:
            if ref in archived:
                await self._put_aside(ref, tracked)
            elif self._debates.get(ref) is tracked:
                self._alone(ref, tracked, partial(self._fold, ref, tracked, ()))

    async def _in_archive(self, asked: Sequence[Loading]) -> set[DebateRef] | None:
        """Those of them that are; None while that is not known."""
        places = {self._subjects.archive(ref): ref for ref, _ in asked}
        try:
            return {places[one] for one in await self._journal.bus.archive.holds(list(places))}
        except BusError as error:
            log.warning("archive_unread", debates=len(asked), reason=str(error))
        except Exception:
            log.exception("archive_unread", debates=len(asked))
        return None

    async def _confirm(self, opened: Sequence[Loading]) -> None:
        """
        Nobody is asked in a debate before this. Its opening found no control fact in its way, so that
        whoever held the debate before has purged it, and archived it before that.
        """
        archived = await self._in_archive(opened)
        self._now = anyio.current_time()
        for ref, tracked in opened:
            tracked.confirming = False
            if self._debates.get(ref) is not tracked or tracked.loading:
                continue
            if archived is None or ref in archived:
                self._load(ref, tracked)
                continue
            tracked.confirmed = True
            self._alone(ref, tracked, partial(self._decide, ref, tracked))

    async def _put_aside(
        self, ref: DebateRef, tracked: TrackedDebate, records: Sequence[Record] = ()
    ) -> None:
        """Facts of a debate that is archived open nothing."""
        every = {one.sequence: one for one in (*records, *tracked.loaded())}
        try:
            await self._archiver.put_aside(ref, list(every.values()))
        except Unavailable as error:
            log.warning("not_put_aside", debate=str(ref), reason=str(error))
            tracked.loading_failed()
            return
        except Exception:
            log.exception("not_put_aside", debate=str(ref))
        self._debates.pop(ref, None)

    def _fold(self, ref: DebateRef, tracked: TrackedDebate, records: Sequence[Record]) -> None:
        self._now = anyio.current_time()
        every = (*records, *tracked.loaded())
        state = DebateState()
        try:
            for record in every:
                if record.sequence > tracked.sequence and ref not in self._foreign:
                    state = self._taken_in(ref, tracked, state, record)
        except Exception:
            self._leave_broken(ref, tracked, state, every)
            raise
        tracked.reach(state)
        tracked.arm(next_deadline(tracked, state))
        opening = self._subjects.at(ref, OPENED)
        tracked.confirmed = any(record.subject == opening for record in records)
        self._settle(ref, tracked, state)

    def _leave_broken(
        self, ref: DebateRef, tracked: TrackedDebate, state: DebateState, records: Sequence[Record]
    ) -> None:
        """Of a debate that cannot be folded: the last state there is, after all that stands there."""
        for record in records:
            if record.sequence > tracked.sequence:
                tracked.move_to(record.sequence, self._subjects.tail(ref, record.subject))
        closings = [one for one in records if one.subject == self._subjects.at(ref, CLOSED)]
        if not self._journal.decode_all(closings)[0]:
            tracked.reach(state)

    def _taken_in(
        self, ref: DebateRef, tracked: TrackedDebate, state: DebateState, record: Record
    ) -> DebateState:
        tail = self._subjects.tail(ref, record.subject)
        tracked.move_to(record.sequence, tail)
        return self._after(tracked, state, record, self._fact(ref, tracked, state, record, tail))

    def _settle(self, ref: DebateRef, tracked: TrackedDebate, state: DebateState) -> None:
        if state.phase in OVER:
            self._leave(ref, state)
        elif tracked.is_unconfirmed:
            tracked.confirming = True
            self._tasks.start_soon(self._confirm, [(ref, tracked)])
        elif not self._decisions.make_if_due(ref, tracked, self._now) and has_passed(
            tracked, self._now
        ):
            self._deadlines.fire(ref, tracked, state, self._now)

    async def _sweep(self) -> None:
        while True:
            await anyio.sleep(TICK_S)
            self._now = anyio.current_time()
            self._decisions.look_after(self._debates, self._now)
            for ref, tracked in list(self._debates.items()):
                if not tracked.loading:
                    self._alone(ref, tracked, partial(self._sweep_one, ref, tracked))
            every = self._debates.items()
            silent = [one for one in every if one[1].is_silent(self._now)]
            for start in range(0, len(silent), ASKED_TOGETHER):
                batch = silent[start : start + ASKED_TOGETHER]
                self._tasks.start_soon(self._look_for_silent, batch)

    async def _look_for_silent(self, silent: Sequence[Loading]) -> None:
        """Others may have closed and archived them while this replica was cut off."""
        async with self._lookups:
            archived = await self._in_archive(silent)
        for ref, tracked in silent:
            if archived and ref in archived and self._debates.get(ref) is tracked:
                log.warning("archived_by_others", debate=str(ref))
                if not tracked.loading:
                    self._load(ref, tracked)

    def _sweep_one(self, ref: DebateRef, tracked: TrackedDebate) -> None:
        if tracked.state is None or self._is_unheard_of(tracked):
            log.warning("reading_again", debate=str(ref))
            self._load(ref, tracked)
        elif has_passed(tracked, self._now):
            self._deadlines.fire(ref, tracked, tracked.state, self._now)

    def _is_unheard_of(self, tracked: TrackedDebate) -> bool:
        """Our write was answered, but the log shows nothing of it: we do not know the log."""
        silent = self._now - tracked.touched > STALL_S
        return tracked.answered_after == tracked.control and silent

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
            count(self.metrics, ref.panel, fact)
