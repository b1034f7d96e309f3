"""
All debates for a viewer who was away: facts in the log, and those of debates that left it meanwhile.

A stretch of the log is read first and the archive's table of contents after it, so that what is
purged in between is found there. Both are merged in the order of their streams.
"""

import math
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from functools import partial

import anyio

from parley.bus.archive import Listed
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.position import LAST, Position
from parley.bus.subjects import CLOSED, DebateRef

# Records of the log read at a time, of each stream, and debates of the archive.
RECORDS_AT_ONCE = 1000
DEBATES_AT_ONCE = 200
# Lines of the table of contents that are looked at first, from its end; then four times as many.
LINES_AT_FIRST = 1000
WIDER = 4
# Debates remembered that were told to their end and are not archived yet.
MOST_OVER = 100_000
# What two servers' clocks may be apart.
SKEW_NS = 60 * 10**9


async def follow_everything(
    journal: Journal, panel: str, *, start: Position, on: Callable[[Sequence[Record]], None]
) -> None:
    """
    Every fact of all debates behind `start`, those of one debate in order, each once; until
    cancelled. What is archived before it could be read in the log comes from the archive.
    """
    now = await journal.bus.position()
    async for piece in Backlog(journal, panel, start.like(now), now).pieces():
        if piece:
            on(piece)
    await _Live(journal, panel, now.joined(start), on).run()


class _Live:
    def __init__(
        self,
        journal: Journal,
        panel: str,
        start: Position,
        on: Callable[[Sequence[Record]], None],
    ) -> None:
        self._journal = journal
        self._panel = panel
        self._start = start
        self._on = on
        # How far the debates were told whose end was not.
        self._open: dict[DebateRef, int] = {}
        # Told to the end, until they are archived.
        self._over: dict[DebateRef, None] = {}

    async def run(self) -> None:
        last = (await self._journal.bus.archive.extent()).last
        send, receive = anyio.create_memory_object_stream[Listed](math.inf)

        def note(listed: Sequence[Listed], _reached: int) -> None:
            for one in filter(self._is_missed, listed):
                send.send_nowait(one)

        filters = self._journal.subjects.facts(self._panel)
        async with send, receive, anyio.create_task_group() as tasks:
            tail = partial(self._journal.bus.tail, filters, start=self._start, on=self._tell)
            tasks.start_soon(tail)
            tasks.start_soon(partial(self._journal.archive.follow, start=last + 1, on=note))
            async for one in receive:
                archived = await self._journal.archive.get(one.ref)
                if archived is not None and self._is_missed(one):
                    self._tell(archived.records)

    def _is_missed(self, one: Listed) -> bool:
        _, through = self._journal.archive.extent(one.ref, one.summary)
        if self._panel not in ("*", one.ref.panel) or self._start.covers(through):
            return False
        return one.ref not in self._over

    def _tell(self, records: Sequence[Record]) -> None:
        fresh = [one for one in records if self._is_fresh(one)]
        if fresh:
            self._on(fresh)

    def _is_fresh(self, record: Record) -> bool:
        address = self._journal.subjects.parse(record.subject)
        if address is None or self._start.covers(record.sequence):
            return address is None
        ref, tail = address
        if ref in self._over or record.sequence <= self._open.get(ref, 0):
            return False
        self._open[ref] = record.sequence
        if tail == CLOSED:
            del self._open[ref]
            self._over[ref] = None
            if len(self._over) > MOST_OVER:
                del self._over[next(iter(self._over))]
        return True


class Backlog:
    def __init__(self, journal: Journal, panel: str, start: Position, until: Position) -> None:
        """All facts behind `start` and up to `until`."""
        self._journal = journal
        self._panel = panel
        self._at = start
        self._until = until
        # Archived debates that are not read yet, by stream in the order of their first records.
        self._listed: dict[DebateRef, tuple[int, int]] = {}
        # The archive's own number behind which its table was not read.
        self._looked = -1
        # Records of archived debates that are not told yet.
        self._kept: list[Record] = []

    async def pieces(self) -> AsyncGenerator[Sequence[Record]]:
        while not self._at.includes(self._until):
            yield await self._piece()

    async def _piece(self) -> Sequence[Record]:
        subject = self._journal.subjects.debate(DebateRef(self._panel, "*"))
        hot = await self._journal.bus.read(subject, start=self._at, most=RECORDS_AT_ONCE)
        await self._look()
        reached = self._within(self._reached_in(hot))
        await self._unpack(reached)
        every = {one.sequence: one for one in (*hot, *self._kept) if reached.covers(one.sequence)}
        told = [one for one in every.values() if not self._at.covers(one.sequence)]
        self._kept = [one for one in self._kept if not reached.covers(one.sequence)]
        self._at = self._at.joined(reached)
        told.sort()
        if len(reached.reached) > 1:
            told.sort(key=lambda one: one.time_ns)
        return told

    def _reached_in(self, hot: Iterable[Record]) -> Position:
        """Of a stream that gave all it has to the end, of another to the last that was read."""
        streams = len(self._until.reached)
        found: list[list[int]] = [[] for _ in range(streams)]
        for one in hot:
            found[one.sequence % streams].append(one.sequence)
        return Position(
            tuple(
                min(part[-1], until) if len(part) >= RECORDS_AT_ONCE else until
                for part, until in zip(found, self._until.reached, strict=True)
            )
        )

    def _within(self, reached: Position) -> Position:
        """No further than so many debates of the archive reach at a time."""
        waiting = sorted(first for first, _ in self._listed.values() if reached.covers(first))
        for first in waiting[DEBATES_AT_ONCE:]:
            at = first % len(reached.reached)
            if first - 1 > self._at.reached[at]:
                behind = min(reached.reached[at], first - 1)
                reached = Position((*reached.reached[:at], behind, *reached.reached[at + 1 :]))
        return reached

    async def _unpack(self, reached: Position) -> None:
        for ref in [ref for ref, (first, _) in self._listed.items() if reached.covers(first)]:
            del self._listed[ref]
            archived = await self._journal.archive.get(ref)
            if archived is not None:
                self._kept += [one for one in archived.records if not self._at.covers(one.sequence)]

    async def _look(self) -> None:
        """What was archived since the last look."""
        archive = self._journal.archive
        if self._looked < 0:
            listed = await archived_behind(self._journal, self._at)
        else:
            listed = await archive.contents(self._looked + 1)
        for one in listed:
            self._looked = max(self._looked, one.sequence)
            if self._panel in ("*", one.ref.panel):
                first, through = archive.extent(one.ref, one.summary)
                if not self._at.covers(through) and not self._until_is_before(first):
                    self._listed[one.ref] = first, through
        self._looked = max(self._looked, 0)

    def _until_is_before(self, first: int) -> bool:
        return first > self._until.reached[first % len(self._until.reached)]


async def archived_behind(journal: Journal, position: Position) -> list[Listed]:
    """
    The end of the archive's table of contents, with every debate that has records behind the
    position. It is read from its end, until what is archived earlier is older than the position.
    """
    archive = journal.archive
    extent = await journal.bus.archive.extent()
    width = LINES_AT_FIRST
    while True:
        start = max(extent.first, extent.last - width + 1)
        listed = await archive.contents(start)
        if start <= extent.first or _reaches(journal, listed, position):
            return listed
        width *= WIDER


def _reaches(journal: Journal, listed: Sequence[Listed], position: Position) -> bool:
    """
    A debate that ended before the position tells when that was: whatever is archived earlier ended
    before it, too. Each stream needs one of its own.
    """
    ended = [-LAST] * len(position.reached)
    for one in listed:
        _, through = journal.archive.extent(one.ref, one.summary)
        if through and position.covers(through):
            at = through % len(ended)
            ended[at] = max(ended[at], one.summary.closed_ns)
    return bool(listed) and listed[0].time_ns + SKEW_NS < min(ended)
