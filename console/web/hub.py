"""
What the web knows of the log: one reader for the whole process, and everybody who watches.

The reader starts at the log's beginning, which rebuilds the list of debates, and then goes on;
what is archived is listed beside it.
Whatever it reads goes to the list, to the debates that somebody watches, and to those who watch
all of them.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import structlog

from parley import __version__
from parley.bus.contracts.partial import Partial
from parley.bus.errors import NotFound, Unavailable
from parley.bus.metrics import Metrics
from parley.bus.port import Link, Presence
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.console.listing.archived import ArchivedDebates
from parley.console.listing.debates import DebateList
from parley.console.listing.rows import Entry, Row
from parley.console.web.debate_channel import Channel
from parley.console.web.feed import Wire
from parley.console.web.sse import HEARTBEAT_S, Audience
from parley.console.web.transcript_api import placed
from parley.reading import Logged, Record

# A log whose last records were deleted never comes to its last sequence.
QUIET_S = 1.0
LISTED_WITHIN_S = 5.0
REBUILT_WITHIN_S = 20.0

log = structlog.get_logger()


class Hub:
    def __init__(self, client: Client, debates: DebateList | None = None) -> None:
        self.client = client
        self.debates = debates or DebateList(client.reading, ArchivedDebates())
        self.rows = self.debates.hot
        self.wire = Wire(client.reading)
        # Set once the list of debates is complete.
        self.rebuilt = anyio.Event()
        self.rebuilt_in_s: float | None = None
        self.audience = Audience()
        self.metrics = Metrics()
        self._channels: dict[DebateRef, Channel] = {}
        self._read = 0
        self._target = Position()
        self._caught_up = anyio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        reading = self.client.reading
        self._target = await reading.position()
        async with self.client.overhearing(self._on_partial), anyio.create_task_group() as tasks:
            tasks.start_soon(self.debates.follow)
            tasks.start_soon(self._report_rebuild)
            tasks.start_soon(self.wire.run)
            tasks.start_soon(self.audience.look_after)
            tasks.start_soon(self._beat)
            tasks.start_soon(reading.tail, self._on_records)

    @property
    def ready(self) -> anyio.Event:
        return self.rebuilt

    def describe(self) -> Presence:
        """For the probes; a page does not answer roll calls."""
        return Presence(
            service="parley-web",
            id="",
            version=__version__,
            labels={"role": "web"},
            figures={"listed": len(self.rows), "viewers": len(self.audience)},
        )

    async def up_to_date(self) -> None:
        """Once everything was read that stood in the log at the start. Raises Unavailable."""
        with anyio.move_on_after(REBUILT_WITHIN_S):
            await self.rebuilt.wait()
            return
        raise Unavailable("the list of debates is still being rebuilt from the log")

    @asynccontextmanager
    async def watching(self, ref: DebateRef) -> AsyncIterator[Channel]:
        """Raises NotFound for a debate that is not there."""
        channel = self._channels.setdefault(ref, Channel(self.client.reading, ref))
        channel.viewers += 1
        try:
            await channel.open()
            if not channel.is_known:
                raise NotFound(f"there is no debate {ref} on this server")
            yield channel
        finally:
            channel.viewers -= 1
            if not channel.viewers:
                self._channels.pop(ref, None)

    async def facts_of(self, ref: DebateRef) -> list[Logged]:
        """From its submission on. Raises NotFound for a debate that the log no longer holds."""
        logged = placed(await self.client.reading.debate(ref))
        if not logged:
            self.rows.forget(ref)
            raise NotFound(f"the log no longer holds {ref}")
        return logged

    async def row_of(self, ref: DebateRef) -> Row:
        """Of a debate that stands in the log; the reader may be a moment behind."""
        seen = anyio.Event()

        def note(entry: Entry) -> None:
            if entry.ref == ref:
                seen.set()

        self.rows.listeners.append(note)
        try:
            row = await self.debates.row(ref)
            if row is None:
                with anyio.move_on_after(LISTED_WITHIN_S):
                    await seen.wait()
                row = await self.debates.row(ref)
        finally:
            self.rows.listeners.remove(note)
        if row is None:
            raise Unavailable(f"{ref} is not listed yet")
        return row

    def _on_records(self, records: Sequence[Record]) -> None:
        for record in records:
            try:
                self._on_record(record)
            except Exception:
                log.exception("record_failed", subject=record.subject, sequence=record.sequence)

    def _on_record(self, record: Record) -> None:
        self._read += 1
        address = self.client.reading.place_of(record)
        if address is not None:
            ref, tail = address
            self.rows.take(ref, tail, record)
            channel = self._channels.get(ref)
            if channel is not None:
                channel.take(record)
        self.wire.take(record)
        if not self._caught_up.is_set() and self.wire.reached.includes(self._target):
            self._caught_up.set()

    def _on_partial(self, ref: DebateRef, said: Partial) -> None:
        channel = self._channels.get(ref)
        try:
            if channel is not None:
                channel.take_partial(said)
        except Exception:
            log.exception("partial_failed", debate=str(ref))

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(HEARTBEAT_S)
            self.wire.beat()
            for channel in self._channels.values():
                channel.strip.beat()

    def _heard(self) -> tuple[int, Link]:
        return self._read, self.client.reading.link

    async def _report_rebuild(self) -> None:
        started = time.monotonic()
        quiet = not any(self._target.reached)
        while not quiet and not self._caught_up.is_set():
            before = self._heard()
            with anyio.move_on_after(QUIET_S):
                await self._caught_up.wait()
            quiet = before == self._heard() and self.client.reading.link.up
        await self.debates.ready.wait()
        self.rebuilt_in_s = round(time.monotonic() - started, 3)
        log.info(
            "debates_listed",
            debates=await self.debates.count(),
            records=self._read,
            seconds=self.rebuilt_in_s,
        )
        self.rebuilt.set()
