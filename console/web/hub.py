"""
What the web knows of the log: one reader for the whole process, and everybody who watches.

The reader starts at the log's beginning, which rebuilds the list of debates, and then goes on.
Whatever it reads goes to the list, to the debates that somebody watches, and to those who watch
all of them.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio
import structlog
from pydantic import ValidationError

from parley.bus.contracts.partial import Partial
from parley.bus.errors import NotFound
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.console.web.channels import Channel
from parley.console.web.rows import Rows

# A log whose last records were deleted never comes to its last sequence.
QUIET_S = 1.0

log = structlog.get_logger()


class Hub:
    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.rows = Rows()
        # Set once the list of debates is complete.
        self.rebuilt = anyio.Event()
        self.rebuilt_in_s: float | None = None
        # Set when every stream has to end: viewers come back to the next process.
        self.stop = anyio.Event()
        self.channels: dict[DebateRef, Channel] = {}
        self.last = 0
        self._read = 0
        self._heard_at = 0.0

    async def run(self) -> None:
        """Until cancelled."""
        bus, subjects = self.journal.bus, self.journal.subjects
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report_rebuild, await bus.last_sequence())
            tasks.start_soon(bus.listen, subjects.partials(), self._on_partial)
            filters = (*subjects.facts(), subjects.redrives())
            tasks.start_soon(partial(bus.tail, filters, start=1, on=self._on_record))

    @asynccontextmanager
    async def watching(self, ref: DebateRef) -> AsyncIterator[Channel]:
        """Raises NotFound for a debate that is not there."""
        channel = self.channels.setdefault(ref, Channel(self.journal, ref))
        channel.viewers += 1
        try:
            await channel.open()
            if not channel.is_known:
                raise NotFound(f"no debate {ref}")
            yield channel
        finally:
            channel.viewers -= 1
            if not channel.viewers:
                self.channels.pop(ref, None)

    def _on_record(self, record: Record) -> None:
        self.last = record.sequence
        self._read += 1
        self._heard_at = time.monotonic()
        address = self.journal.subjects.parse(record.subject)
        if address is None:
            return
        ref, tail = address
        self.rows.take(ref, tail, record)
        channel = self.channels.get(ref)
        if channel is not None:
            channel.take(record)

    def _on_partial(self, subject: str, data: bytes) -> None:
        ref = self.journal.subjects.parse_partial(subject)
        channel = self.channels.get(ref) if ref is not None else None
        if channel is None:
            return
        try:
            channel.take_partial(Partial.model_validate_json(data))
        except ValidationError:
            log.info("partial_left_out", subject=subject)

    async def _report_rebuild(self, last: int) -> None:
        started = self._heard_at = time.monotonic()
        while self.last < last and time.monotonic() - self._heard_at < QUIET_S:
            await anyio.sleep(0.01)
        self.rebuilt_in_s = round(time.monotonic() - started, 3)
        log.info(
            "debates_listed", debates=len(self.rows), records=self._read, seconds=self.rebuilt_in_s
        )
        self.rebuilt.set()
