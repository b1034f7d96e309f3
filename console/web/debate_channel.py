"""One debate as its viewers follow it: read once, told once, encoded once for all of them."""

from collections.abc import AsyncGenerator

import anyio
from anyio.lowlevel import checkpoint

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.partial import Partial
from parley.bus.errors import DecodeError
from parley.bus.subjects import DebateRef
from parley.console.web.sse import HEARTBEAT, event
from parley.console.web.timeline import Frame, Timeline
from parley.console.web.transcript_api import FactPresenter, declared_in, event_json
from parley.reading import Reading, Record

END = event("end", b"{}")


class PartialEvent(Contract):
    """What a persona has so far of the turn it is speaking; each one replaces the one before."""

    id: str
    panel: str
    step: str
    persona: str
    text: str
    attempt: int


class Channel:
    def __init__(self, reading: Reading, ref: DebateRef) -> None:
        self.ref = ref
        self.strip = Timeline(floor=-1)
        self.viewers = 0
        self._reading = reading
        self._teller = FactPresenter()
        self._last = 0
        # (sequence in the log, ordinal in the debate) of every fact that was told.
        self._places: list[tuple[int, int]] = []
        self._opening = anyio.Lock()
        # What arrives while the log is read.
        self._early: list[Record] | None = []
        # By (step, persona), with a number that rises.
        self._partials: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._said = 0

    @property
    def is_over(self) -> bool:
        return self._teller.state.closed is not None

    @property
    def is_known(self) -> bool:
        return self._teller.state.facts > 0

    async def open(self) -> None:
        """From here on the strip holds every fact there is; what follows, `take` adds."""
        async with self._opening:
            if self._early is None:
                return
            for record in await self._reading.records(self.ref):
                self._tell(record)
                # A long debate must not make the others wait.
                await checkpoint()
            early, self._early = self._early, None
            for record in early:
                self._tell(record)

    def take(self, record: Record) -> None:
        if self._early is not None:
            self._early.append(record)
        else:
            self._tell(record)

    def take_partial(self, said: Partial) -> None:
        step = self._teller.state.open_step
        if step is None or step.name != said.step or not step.awaits(said.persona):
            return
        whole = PartialEvent(
            id=self.ref.id,
            panel=self.ref.panel,
            step=said.step,
            persona=said.persona,
            text=said.text,
            attempt=said.attempt,
        )
        self._said += 1
        frame = event("partial", whole.model_dump_json().encode())
        self._partials[said.step, said.persona] = self._said, frame
        self.strip.wake()

    async def frames(self, after: int, *, declarations_only: bool = False) -> AsyncGenerator[bytes]:
        """
        Every fact behind the ordinal `after`, in order, each once; ends with the debate.

        Events used to be numbered by their sequences in the log: one of those is still understood.
        """
        after = self._ordinal_at(after)
        place = self.strip.place_after(after)
        said = 0
        beats = self.strip.beats
        while True:
            told = self.strip.since(place, after) or []
            place = self.strip.end
            fresh = sorted(one for one in self._partials.values() if one[0] > said)
            said = self._said
            spoken = [] if declarations_only else [frame for _, frame in fresh]
            shown = [one.shown(declarations_only=declarations_only) for one in told]
            chunk = b"".join([*shown, *spoken])
            if self.is_over:
                yield chunk + END
                return
            if chunk:
                yield chunk
            elif beats != self.strip.beats:
                beats = self.strip.beats
                yield HEARTBEAT
            else:
                await self.strip.change()

    def _tell(self, record: Record) -> None:
        if record.sequence <= self._last:
            return
        self._last = record.sequence
        try:
            logged = self._reading.decode(record)
        except DecodeError:
            return
        told = self._teller.tell(logged)
        if told is None:
            return
        if isinstance(logged.fact, TurnTaken):
            self._partials.pop((logged.fact.step, logged.fact.persona), None)
        ordinal = told.item.ordinal
        self._places.append((record.sequence, ordinal))
        data = event("fact", event_json(self.ref, told), ordinal)
        self.strip.append(
            Frame(ordinal, self.ref, data, declared=declared_in(self.ref, told, ordinal))
        )

    def _ordinal_at(self, after: int) -> int:
        if not self._places or after <= self._places[-1][1]:
            return after
        known = [ordinal for sequence, ordinal in self._places if sequence <= after]
        return known[-1] if known else after
