"""
All debates at once, for those who follow everything.

While anybody does, every fact is told as it comes and kept for a while. Who comes back after a
longer absence is brought up to date from the log, piece by piece, and then joins the others.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import anyio
import structlog

from parley.bus.contracts.facts import Submitted
from parley.bus.errors import BusError, DecodeError, NotFound, Unavailable
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.console.web.sse import HEARTBEAT, event
from parley.console.web.timeline import Frame, Timeline
from parley.console.web.transcript_api import FactPresenter, declared_in, event_json

# What is kept for those who are a little behind.
MOST_FRAMES = 2000
# What may wait to be told before everybody has to come again.
MOST_PENDING = 20_000
MOST_TELLERS = 500
PIECE = 500
QUIET_S = 2.0

log = structlog.get_logger()


class Only(NamedTuple):
    """What a viewer of all debates wants to see of them."""

    panel: str | None = None
    declarations: bool = False

    def of(self, frame: Frame) -> bytes:
        if self.panel not in (None, frame.ref.panel):
            return b""
        return frame.shown(declarations_only=self.declarations)


EVERYTHING = Only()


class FactPresenters:
    """Knows how far each debate has come, of those that were heard of lately."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[DebateRef, FactPresenter] = {}

    async def frame(self, record: Record) -> Frame | None:
        """None for what is no fact, or has no place in its debate."""
        try:
            logged = self._journal.decode(record)
        except DecodeError:
            return None
        ref = logged.ref
        teller = self._known.pop(ref, None)
        if teller is None:
            teller = FactPresenter()
            if not isinstance(logged.fact, Submitted):
                await self._catch_up(teller, ref, record.sequence)
        told = teller.tell(logged)
        self._keep(ref, teller)
        if told is None:
            return None
        data = event("fact", event_json(ref, told), record.sequence)
        declared = declared_in(ref, told, record.sequence)
        return Frame(record.sequence, ref, data, declared)

    async def _catch_up(self, teller: FactPresenter, ref: DebateRef, before: int) -> None:
        earlier, _ = await self._journal.read(ref)
        for one in earlier:
            if one.sequence < before:
                teller.tell(one)

    def _keep(self, ref: DebateRef, teller: FactPresenter) -> None:
        if teller.state.closed is None:
            self._known[ref] = teller
        if len(self._known) > MOST_TELLERS:
            del self._known[next(iter(self._known))]


class Wire:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._viewers = 0
        self._pending: list[Record] = []
        self._wake = anyio.Event()
        # Of the last record that the process has seen.
        self.last = 0
        self._begin()

    def _begin(self) -> None:
        """Whoever follows the strip before this one has to come again."""
        self._pending.clear()
        self._tellers = FactPresenters(self._journal)
        self._strip = Timeline(MOST_FRAMES, self.last)

    def beat(self) -> None:
        self._strip.beat()

    def take(self, record: Record) -> None:
        self.last = record.sequence
        if not self._viewers:
            return
        self._pending.append(record)
        if len(self._pending) > MOST_PENDING:
            self._give_up("more facts than can be told")
        self._wake.set()

    async def run(self) -> None:
        """Tell what comes; until cancelled."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            try:
                await self._tell_pending()
            except BusError as error:
                self._give_up(str(error))

    async def frames(self, after: int, only: Only = EVERYTHING) -> AsyncGenerator[bytes]:
        """Every fact behind `after`, in order, each once."""
        if not self._viewers:
            self._begin()
        self._viewers += 1
        strip = self._strip
        try:
            async for data, reached in self._missed(after, strip, only):
                after = reached
                yield data
            async for data in self._following(after, strip, only):
                yield data
        finally:
            self._viewers -= 1

    async def _following(self, after: int, strip: Timeline, only: Only) -> AsyncGenerator[bytes]:
        place = strip.place_after(after)
        beats = strip.beats
        while strip is self._strip:
            told = strip.since(place, after)
            if told is None:
                return
            place = strip.end
            chunk = b"".join(only.of(one) for one in told)
            if chunk:
                yield chunk
            elif beats != strip.beats:
                beats = strip.beats
                yield HEARTBEAT
            else:
                await strip.change()

    async def _missed(
        self, after: int, strip: Timeline, only: Only
    ) -> AsyncGenerator[tuple[bytes, int]]:
        """What the strip no longer holds, and how far that reaches."""
        tellers = FactPresenters(self._journal)
        while after < strip.floor:
            records = await self._piece(after + 1, strip.floor)
            if not records:
                await self._check_gone(strip.floor)
                return
            for record in records:
                frame = await tellers.frame(record)
                if frame is not None and (data := only.of(frame)):
                    yield data, record.sequence
            after = records[-1].sequence

    async def _piece(self, start: int, until: int) -> list[Record]:
        """Records from `start` to `until`, not many more than fit into memory easily."""
        records: list[Record] = []
        subjects = self._journal.subjects
        filters = (*subjects.facts(), subjects.redrives())
        with anyio.move_on_after(QUIET_S) as reading:

            def on(arrived: Sequence[Record]) -> None:
                records.extend(record for record in arrived if record.sequence <= until)
                if arrived[-1].sequence >= until or len(records) >= PIECE:
                    reading.cancel()

            await partial(self._journal.bus.tail, filters, start=start, on=on)()
        return records

    async def _check_gone(self, sequence: int) -> None:
        """Raises Unavailable if the log still holds it: then the server is merely slow."""
        with suppress(NotFound):
            await self._journal.bus.record(sequence)
            raise Unavailable("the log cannot be read in time")

    async def _tell_pending(self) -> None:
        strip = self._strip
        while self._pending and strip is self._strip:
            pending, self._pending = self._pending, []
            for record in pending:
                frame = await self._tellers.frame(record)
                if strip is not self._strip:
                    return
                if frame is not None:
                    strip.append(frame)

    def _give_up(self, reason: str) -> None:
        log.warning("viewers_sent_away", reason=reason)
        left = self._strip
        self._begin()
        left.wake()
