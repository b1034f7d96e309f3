"""
Reading the partitions that are this replica's, and handing them over when replicas come and go.

One reader follows all of them. When they change it is replaced by one that begins where the other
stopped, or where the first of the gained partitions was taken over; `is_news` tells what of that
was seen before.
"""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import PARTITIONS, partition_of

# Before partitions that could not be taken over are tried again.
RETRY_S = 0.5

log = structlog.get_logger()


class Following:
    def __init__(
        self,
        journal: Journal,
        wanted: Callable[[], frozenset[int]],
        gain: Callable[[frozenset[int]], Awaitable[None]],
        lose: Callable[[frozenset[int]], None],
        on: Callable[[Sequence[Record]], None],
    ) -> None:
        """`gain` reads what stands in partitions that are new here; `lose` forgets what was read."""
        self._journal = journal
        self._wanted = wanted
        self._gain = gain
        self._lose = lose
        self._on = on
        # By partition: what was seen, or read back, when it was taken over.
        self._starts: dict[int, Position] = {}
        # Of the reader.
        self._seen = Position()
        self._reader = anyio.CancelScope()
        self._changed = anyio.Event()
        self.ready = anyio.Event()

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self._starts)

    def look_again(self) -> None:
        """What has to be read may have changed."""
        if self._wanted() != self._starts.keys():
            self._changed.set()

    def reads(self, debate: str) -> bool:
        return partition_of(debate) in self._starts

    def is_news(self, debate: str, sequence: int) -> bool:
        """Whether the record of this debate is read here, and for the first time."""
        start = self._starts.get(partition_of(debate))
        return start is not None and not start.covers(sequence)

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                self._changed = anyio.Event()
                wanted = self._wanted()
                if wanted != self._starts.keys():
                    await self._move_to(wanted, tasks)
                self.ready.set()
                await self._changed.wait()

    async def _move_to(self, wanted: frozenset[int], tasks: TaskGroup) -> None:
        """What is kept is followed on while the gained ones are read."""
        gained, lost = wanted - self._starts.keys(), self._starts.keys() - wanted
        for partition in lost:
            del self._starts[partition]
        if lost:
            self._lose(frozenset(lost))
        try:
            taken_over = await self._take_over(gained) if gained else self._seen
        except Unavailable as error:
            if not self.ready.is_set():
                raise
            log.warning("partitions_unread", partitions=sorted(gained), reason=str(error))
            await anyio.sleep(RETRY_S)
            self._changed.set()
            return
        self._reader.cancel()
        kept = {one: self._seen.joined(start) for one, start in self._starts.items()}
        self._seen = self._seen.common(taken_over) if kept else taken_over
        self._starts = kept | dict.fromkeys(gained, taken_over)
        log.info("partitions", gained=len(gained), lost=len(lost), reading=len(self._starts))
        self._reader = anyio.CancelScope()
        if self._starts:
            tasks.start_soon(self._read, self._filters(), self._seen, self._reader)

    async def _take_over(self, gained: frozenset[int]) -> Position:
        """Behind it is what reading them back may have missed."""
        reached = await self._journal.bus.position()
        await self._gain(gained)
        return reached

    def _filters(self) -> tuple[str, ...]:
        subjects = self._journal.subjects
        if len(self._starts) == PARTITIONS:
            return (subjects.everything(),)
        return tuple(map(subjects.partition, sorted(self._starts)))

    async def _read(
        self, filters: Sequence[str], start: Position, scope: anyio.CancelScope
    ) -> None:
        def on(records: Sequence[Record]) -> None:
            if records and not scope.cancel_called:
                self._seen = self._seen.past(records[-1].sequence)
                self._on(records)

        with scope:
            await self._journal.bus.tail(filters, start=start, on=on)
