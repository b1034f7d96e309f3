"""
Closed debates on their way out of the log.

A while after its end a debate becomes one record of the archive. Only when that is confirmed are
its subjects purged, up to the last record that was taken in: what comes later is put aside. Each
step may be repeated by anybody at any time, so that a crash leaves nothing that the next start
does not find: a closed debate that still stands in the log is archived, or was, and is purged.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.archive import KeptBudget
from parley.bus.contracts.facts import Asked
from parley.bus.errors import BusError, DecodeError, NotInstalled, Unavailable
from parley.bus.journal import Journal, Logged
from parley.bus.metrics import Metric, Metrics
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import PURSE, SUBMITTED, DebateRef, debate_purse
from parley.coordinator.core.summary import blobs_in, summary_of
from parley.coordinator.service.notifications import told_through
from parley.coordinator.service.quarantine import Quarantine

ARCHIVED = "its debate is closed and archived"
ARCHIVED_TOTAL = Metric("parley_debates_archived_total", "Debates archived.", ("panel",))
# How often what is due is looked at.
TICK_S = 0.25
# Debates on their way at the same time.
AT_ONCE = 8
# After a server that did not answer.
RETRY_S = 5.0
# How often the log is looked through for closed debates that nobody told us of.
SCAN_EVERY_S = 300.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Archiving:
    """`after_s` seconds from a debate's end, so many `per_second` at most."""

    after_s: float
    per_second: float = 100.0


class Archiver:
    """`mine` says whether this replica acts on a debate; being wrong about it costs, and no more."""

    def __init__(
        self,
        journal: Journal,
        archiving: Archiving | None,
        quarantine: Quarantine,
        metrics: Metrics,
        mine: Callable[[DebateRef], bool],
    ) -> None:
        self._journal = journal
        self._archiving = archiving
        self._quarantine = quarantine
        self._metrics = metrics
        self._mine = mine
        self._due: list[tuple[float, DebateRef]] = []
        self._known: set[DebateRef] = set()
        self._at_once = anyio.CapacityLimiter(AT_ONCE)
        self._rescan = anyio.Event()

    def start(self, tasks: TaskGroup) -> None:
        if self._archiving is not None:
            tasks.start_soon(self._work, self._archiving)
            tasks.start_soon(self._look_for_closed)

    def closed(self, ref: DebateRef, ago_s: float = 0.0) -> None:
        """A debate that closed so long ago."""
        if self._archiving is not None and ref not in self._known:
            self._known.add(ref)
            self._later(ref, max(0.0, self._archiving.after_s - ago_s))

    def rescan(self) -> None:
        """Somebody else's debates became ours."""
        self._rescan.set()

    async def is_archived(self, ref: DebateRef) -> bool:
        """Also for a record that this program cannot read."""
        try:
            return await self._journal.archive.summary(ref) is not None
        except DecodeError:
            return True

    async def put_aside(self, ref: DebateRef, records: Sequence[Record]) -> None:
        """What stands in the log of a debate that is archived: rests of it, and what came late."""
        try:
            summary = await self._journal.archive.summary(ref)
        except DecodeError as error:
            # Whoever can read it knows which of them it holds.
            log.error("archive_unreadable", debate=str(ref), reason=str(error))  # noqa: TRY400
            return
        through = self._journal.archive.extent(ref, summary)[1] if summary is not None else 0
        if any(one.sequence <= through for one in records):
            await self._purge(ref, through)
        for record in records:
            if record.sequence > through:
                self._quarantine.put(record, ARCHIVED, take_out=True)

    async def archive(self, ref: DebateRef, told: Position | None = None) -> bool:
        """
        One debate, now; False if it is not closed, or not for us to archive. Raises BusError, also
        while a notification of it may be undelivered: `told` is how far they have been taken.
        """
        bus, subjects = self._journal.bus, self._journal.subjects
        records = await bus.read(subjects.debate(ref))
        logged, undecodable = self._decoded(records)
        if not logged or undecodable:
            return False
        summary = summary_of(logged, bus.stream_of(subjects.debate(ref)))
        if summary is None:
            return False
        if told is None:
            told = await told_through(bus)
        if not told.covers(records[-1].sequence):
            raise Unavailable(f"{ref} has a notification that is not delivered yet")
        facts = [one.fact for one in logged]
        budgets = await self._budgets(ref, logged)
        stored = await self._journal.archive.put(
            ref, records, summary, budgets=budgets, blobs=blobs_in(facts)
        )
        await self._purge(ref, self._journal.archive.extent(ref, stored)[1])
        for record in await bus.read(subjects.debate(ref)):
            self._quarantine.put(record, ARCHIVED, take_out=True)
        self._metrics.add(ARCHIVED_TOTAL, ref.panel)
        return True

    def _decoded(self, records: Sequence[Record]) -> tuple[list[Logged], bool]:
        """The facts, and whether the debate is of a protocol that this process lacks."""
        logged: list[Logged] = []
        for record in records:
            try:
                logged.append(self._journal.decode(record))
            except DecodeError as error:
                if isinstance(error, NotInstalled) and self._submits(record):
                    return logged, True
        return logged, False

    def _submits(self, record: Record) -> bool:
        """Whatever else claims to be of another protocol is no fact of the debate."""
        address = self._journal.subjects.parse(record.subject)
        return address is not None and address[1] == SUBMITTED

    async def _purge(self, ref: DebateRef, through: int) -> None:
        if through:
            await self._journal.bus.purge(self._journal.subjects.debate(ref), through=through)

    async def _budgets(self, ref: DebateRef, logged: Sequence[Logged]) -> list[KeptBudget]:
        if not any(isinstance(one.fact, Asked) and one.fact.budget for one in logged):
            return []
        found = await self._journal.bus.register(PURSE).read(f"{debate_purse(ref)}.*")
        # A persona writes there what it likes.
        return [
            KeptBudget(key=one.subject, data=one.data.decode("utf-8", "replace")) for one in found
        ]

    def _later(self, ref: DebateRef, delay_s: float) -> None:
        heapq.heappush(self._due, (anyio.current_time() + delay_s, ref))

    async def _work(self, archiving: Archiving) -> None:
        pause_s = max(TICK_S, 1 / archiving.per_second)
        most = max(1, math.floor(archiving.per_second * pause_s))
        while True:
            await anyio.sleep(pause_s)
            batch = self._take(most)
            if not batch:
                continue
            held, told = await self.under_redrive(), await self._told_through()
            async with anyio.create_task_group() as tasks:
                for ref in batch:
                    if held is None or told is None or ref in held:
                        self._later(ref, RETRY_S)
                    else:
                        tasks.start_soon(self._archive, ref, told)

    def _take(self, most: int) -> list[DebateRef]:
        """What is due by now, as far as it is ours."""
        taken: list[DebateRef] = []
        while self._due and len(taken) < most and self._due[0][0] <= anyio.current_time():
            ref = heapq.heappop(self._due)[1]
            if self._mine(ref):
                taken.append(ref)
            else:
                self._known.discard(ref)
        return taken

    async def _told_through(self) -> Position | None:
        """None while the server does not say."""
        try:
            return await told_through(self._journal.bus)
        except BusError as error:
            log.info("archived_later", reason=str(error))
            return None

    async def _archive(self, ref: DebateRef, told: Position) -> None:
        try:
            async with self._at_once:
                await self.archive(ref, told)
        except Unavailable as error:
            log.info("archived_later", debate=str(ref), reason=str(error))
            self._later(ref, RETRY_S)
            return
        except BusError as error:
            log.warning("not_archived", debate=str(ref), reason=str(error))
        except Exception:
            log.exception("not_archived", debate=str(ref))
        self._known.discard(ref)

    async def under_redrive(self) -> set[DebateRef] | None:
        """
        Debates whose personas are being asked once more: they stay until the time of that ask is
        over, and then its record goes. None while the server does not say.
        """
        bus, subjects = self._journal.bus, self._journal.subjects
        held = set[DebateRef]()
        try:
            for subject in await bus.subjects(subjects.redrives()):
                for record in await bus.read(subject):
                    try:
                        ref, ask = self._journal.decode_ask(record)
                    except DecodeError:
                        continue
                    if bus.age_s(record.time_ns) < ask.deadline_s:
                        held.add(ref)
                    else:
                        await bus.purge(subject, through=record.sequence)
        except BusError as error:
            log.info("archived_later", reason=str(error))
            return None
        return held

    async def _look_for_closed(self) -> None:
        while True:
            self._rescan = anyio.Event()
            try:
                await self._scan()
            except BusError as error:
                log.info("closed_debates_unread", reason=str(error))
                await anyio.sleep(RETRY_S)
                continue
            with anyio.move_on_after(SCAN_EVERY_S):
                await self._rescan.wait()

    async def _scan(self) -> None:
        bus, subjects = self._journal.bus, self._journal.subjects
        # The age of a record is known once the log's clock was measured.
        await bus.position()
        for record in await bus.read(subjects.closings()):
            address = subjects.parse(record.subject)
            if address is not None and self._mine(address[0]):
                self.closed(address[0], bus.age_s(record.time_ns))
