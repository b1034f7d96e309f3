"""
The list of debates: those in the log, folded as they come by, and those in the archive.

The page and `parley list` share it. What is archived is asked of a table; what is in the log is
little, because closed debates leave it.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from heapq import merge
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread

from parley.bus.archive import Unread
from parley.bus.errors import BusError
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.listing.archived import ArchivedDebates, open_archived
from parley.console.listing.hot import Rows
from parley.console.listing.rows import Key, Row
from parley.listing import Wanted
from parley.reading import Reading

Answer = TypeVar("Answer")

# How many debates are put into the table at a time.
BATCH = 5_000
# How many wait to be put there, before reading pauses.
MOST_AHEAD = 20_000
# How often it is looked whether the archive has forgotten something.
FORGOTTEN_EVERY_S = 600.0


class Page(NamedTuple):
    rows: list[Row]
    total: int
    # Where the next page starts; None on the last one.
    following: Key | None


class DebateList:
    def __init__(self, reading: Reading, table: ArchivedDebates) -> None:
        self.hot = Rows()
        self._reading = reading
        self._table = table
        # One question at a time, beside the event loop.
        self._one = anyio.CapacityLimiter(1)
        self._waiting: list[Unread] = []
        self._reached = self._target = 0
        self._wake = anyio.Event()
        self._room = anyio.Event()
        self._scope = anyio.CancelScope()
        # Set once everything stands in the table that the archive held at the start.
        self.ready = anyio.Event()
        self.built_in_s: float | None = None

    async def follow(self) -> None:
        """Keep the table up with the archive; until cancelled."""
        began, extent = time.monotonic(), await self._reading.extent()
        await self._ask(partial(self._table.forget_before, extent.first))
        self._reached = await self._ask(lambda: self._table.reached)

        async def ready() -> None:
            if not self.ready.is_set() and (not extent.records or self._reached >= extent.last):
                await self._ask(self._table.make_indices)
                self.built_in_s = round(time.monotonic() - began, 3)
                self.ready.set()

        await ready()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read)
            tasks.start_soon(self._forget)
            while True:
                await self._wake.wait()
                self._wake = anyio.Event()
                while self._waiting:
                    await self._put()
                self._room.set()
                await ready()

    async def _read(self) -> None:
        """No further ahead of the table than `MOST_AHEAD`."""
        self._target = self._reached
        while True:
            self._room = anyio.Event()
            with anyio.CancelScope() as self._scope:
                start = self._target + 1
                await self._reading.archive.follow_unread(start=start, on=self._note)
            await self._room.wait()

    def _note(self, listed: Sequence[Unread], reached: int) -> None:
        if self._scope.cancel_called:
            return
        self._waiting.extend(listed)
        self._target = reached
        self._wake.set()
        if len(self._waiting) > MOST_AHEAD:
            self._scope.cancel()

    async def _put(self) -> None:
        batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
        reached = self._target if not self._waiting else batch[-1].sequence
        await self._ask(partial(self._table.add, batch, reached))
        self._reached = reached
        for one in batch:
            self.hot.forget(one.ref)

    async def _forget(self) -> None:
        while True:
            await anyio.sleep(FORGOTTEN_EVERY_S)
            try:
                extent = await self._reading.extent()
            except BusError:
                continue
            await self._ask(partial(self._table.forget_before, extent.first))

    async def page(self, wanted: Wanted, limit: int, before: Key | None = None) -> Page:
        """Newest first; `before` is the `following` of the page before."""
        wanted = wanted._replace(text=wanted.text.casefold().strip())
        hot = self.hot.page(wanted, limit + 1, before)
        kept = await self._ask(partial(self._table.page, wanted, limit + 1, before))
        total = await self._ask(partial(self._table.total, wanted)) + self.hot.total(wanted)
        both = list(merge(hot, kept, key=lambda one: one[0], reverse=True))
        following = both[limit - 1][0] if len(both) > limit else None
        return Page([row for _, row in both[:limit]], total, following)

    async def find(self, debate: str) -> list[DebateRef]:
        """By the id alone, which may stand in several panels."""
        found = await self._ask(partial(self._table.find, debate))
        return list(dict.fromkeys((*self.hot.find(debate), *found)))

    async def row(self, ref: DebateRef) -> Row | None:
        return self.hot.row(ref) or await self._ask(partial(self._table.row, ref))

    async def count(self) -> int:
        return len(self.hot) + await self._ask(self._table.count)

    async def _ask(self, question: Callable[[], Answer]) -> Answer:
        if self._table.in_memory:
            return question()
        return await anyio.to_thread.run_sync(question, limiter=self._one)


@asynccontextmanager
async def open_list(reading: Reading, folder: Path | None) -> AsyncIterator[DebateList]:
    """`folder` is where the table of a large archive is kept from one process to the next."""
    extent = await reading.extent()
    table = open_archived(folder, reading.log, extent)
    try:
        yield DebateList(reading, table)
    finally:
        table.close()


def list_folder(settings: Settings) -> Path | None:
    """Where the list of a large archive is kept; nowhere for a server that goes with the process."""
    if not settings.names_a_server:
        return None
    return settings.archive.index or Path.home() / ".cache" / "parley"


async def page_of(reading: Reading, settings: Settings, wanted: Wanted, limit: int) -> Page:
    """The newest that match, as they stand at this moment."""
    async with (
        open_list(reading, list_folder(settings)) as debates,
        anyio.create_task_group() as tasks,
    ):
        # Then the archive, which by now holds what is gone from the log.
        for record in await reading.everything():
            address = reading.place_of(record)
            if address is not None:
                debates.hot.take(*address, record)
        tasks.start_soon(debates.follow)
        await debates.ready.wait()
        page = await debates.page(wanted, limit)
        tasks.cancel_scope.cancel()
    return page
