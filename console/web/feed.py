"""
All debates at once, for those who follow everything.

While anybody does, every fact is told as it comes and kept for a while. Who comes back after a
longer absence is brought up to date from the log, piece by piece, and then joins the others.
"""

from collections.abc import AsyncGenerator
from typing import NamedTuple

import anyio
import structlog

from parley.bus.contracts.facts import Submitted
from parley.bus.errors import BusError, DecodeError
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.console.web.sse import HEARTBEAT, event
from parley.console.web.timeline import Frame, Timeline
from parley.console.web.transcript_api import FactPresenter, declared_in, event_json
from parley.reading import Reading, Record

# What is kept for those who are a little behind.
MOST_FRAMES = 2000
# What may wait to be told before everybody has to come again.
MOST_PENDING = 20_000
MOST_TELLERS = 500

log = structlog.get_logger()


class Only(NamedTuple):
    """What a viewer of all debates wants to see of them."""

    panel: str | None = None
    declarations: bool = False

    def of(self, frame: Frame, position: Position) -> bytes:
        """The events of a frame, with the id for somebody who has everything before `position`."""
        if self.panel not in (None, frame.ref.panel):
            return b""
        shown = frame.shown(declarations_only=self.declarations)
        if frame.position == position:
            return shown
        return shown.replace(f"id: {frame.position}\n".encode(), f"id: {position}\n".encode())


EVERY_FACT = Only()


class FactPresenters:
    """Knows how far each debate has come, of those that were heard of lately."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._known: dict[DebateRef, FactPresenter] = {}

    async def frame(self, record: Record, position: Position) -> Frame | None:
        """None for what is no fact, or has no place in its debate; `position` is behind it."""
        try:
            logged = self._reading.decode(record)
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
        data = event("fact", event_json(ref, told), position)
        declared = declared_in(ref, told, position)
        return Frame(record.sequence, ref, data, position, declared)

    async def _catch_up(self, teller: FactPresenter, ref: DebateRef, before: int) -> None:
        for one in await self._reading.debate(ref):
            if one.sequence < before:
                teller.tell(one)

    def _keep(self, ref: DebateRef, teller: FactPresenter) -> None:
        if teller.state.closed is None:
            self._known[ref] = teller
        if len(self._known) > MOST_TELLERS:
            del self._known[next(iter(self._known))]


class Wire:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._viewers = 0
        self._pending: list[Record] = []
        self._wake = anyio.Event()
        # Behind the last records that the process has seen.
        self.reached = reading.beginning
        self._begin()

    def _begin(self) -> None:
        """Whoever follows the strip before this one has to come again."""
        self._pending.clear()
        self._tellers = FactPresenters(self._reading)
        self._strip = Timeline(MOST_FRAMES)
        # What stands on the strip, or is pending, is behind the first; the second is told.
        self._floor = self._told = self.reached
        self._losses = self._reading.link.losses

    def beat(self) -> None:
        self._strip.beat()

    def take(self, record: Record) -> None:
        if self._viewers and self._losses != self._reading.link.losses:
            # What was archived meanwhile was not heard of here.
            self._give_up("the server was away")
        self.reached = self.reached.past(record.sequence)
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

    async def frames(self, after: Position, only: Only = EVERY_FACT) -> AsyncGenerator[bytes]:
        """Every fact behind `after`, each stream in order, each once."""
        if not self._viewers:
            self._begin()
        self._viewers += 1
        strip = self._strip
        try:
            async for frame in self._missed(after, strip, only.panel or "*"):
                after = frame.position
                if shown := only.of(frame, after):
                    yield shown
            async for data in self._following(after.joined(self._floor_of(strip)), strip, only):
                yield data
        finally:
            self._viewers -= 1

    async def _following(
        self, after: Position, strip: Timeline, only: Only
    ) -> AsyncGenerator[bytes]:
        place, beats = strip.begin, strip.beats
        while strip is self._strip:
            told = strip.since(place)
            if told is None:
                return
            place = strip.end
            frames = []
            for one in told:
                if not after.covers(one.sequence):
                    # A viewer may know more than we do, from a process that was ahead of us.
                    after = after.past(one.sequence).joined(one.position)
                    frames.append(only.of(one, after))
            if chunk := b"".join(frames):
                yield chunk
            elif beats != strip.beats:
                beats = strip.beats
                yield HEARTBEAT
            else:
                await strip.change()

    async def _missed(self, after: Position, strip: Timeline, panel: str) -> AsyncGenerator[Frame]:
        """What the strip no longer holds, wherever it stands by now."""
        tellers = FactPresenters(self._reading)
        while strip is self._strip and not after.includes(self._floor_of(strip)):
            until = self._floor_of(strip)
            async for piece in self._reading.backlog(panel, after, until):
                for record in piece:
                    after = after.past(record.sequence)
                    frame = await tellers.frame(record, after)
                    if frame is not None:
                        yield frame
            after = after.joined(until)

    def _floor_of(self, strip: Timeline) -> Position:
        return strip.left.position if strip.left is not None else self._floor

    async def _tell_pending(self) -> None:
        strip = self._strip
        while self._pending and strip is self._strip:
            pending, self._pending = self._pending, []
            for record in pending:
                self._told = self._told.past(record.sequence)
                frame = await self._tellers.frame(record, self._told)
                if strip is not self._strip:
                    return
                if frame is not None:
                    strip.append(frame)

    def _give_up(self, reason: str) -> None:
        log.warning("viewers_sent_away", reason=reason)
        left = self._strip
        self._begin()
        left.wake()
