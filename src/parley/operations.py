"""
What whoever runs Parley asks and does: who is there, what waits, what to do with dead letters.

An ask becomes a dead letter when a persona's queue has given it up. A coordinator that sees it
writes the persona's abstention at once, and the debate goes on without it: a redrive can only come
in time where none was there to see it, or where a worker refused the ask. Redriving asks the
persona once more.
The ask itself stays where it is in the log: a copy for that one persona is put before its queue,
beside the debate. Nothing can happen twice, because the turn is written once ever. Nothing can
happen too late either, because a turn counts only while its step waits for it: where it no longer
does, nothing is sent, and the dead letter stays to be looked at or dropped.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import anyio

from parley.bus.contracts.facts import Ask, TurnTaken
from parley.bus.errors import Conflict, DecodeError, NotFound
from parley.bus.jetstream.bus import JetStreamBus
from parley.bus.jetstream.inspect import QueueState
from parley.bus.journal import Journal
from parley.bus.port import DeadLetter, Endpoint, Link, Presence, PromptedAgent, Record
from parley.bus.subjects import DebateRef
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState


class Fate(StrEnum):
    """Told to people by the value, to programs by the name."""

    REDRIVEN = "redriven"
    SPOKEN = "not needed: the persona has spoken"
    ABSTAINED = "too late: its abstention is written, the debate goes on without it"
    STEP_OVER = "too late: the step is over, a turn would count for nothing"
    CLOSED = "too late: the debate is closed"
    UNASKED = "not asked: the debate knows of no such ask"
    NO_ASK = "not an ask: a reader of the log could not use it, so nobody can be asked again"
    UNREADABLE = "the ask cannot be read"
    GONE = "no longer in the log"

    @property
    def code(self) -> str:
        return self.name.lower()


# Three times what lies between two signs of life of a coordinator.
SILENT_S = 3.0

# Of these nothing is left to do.
SETTLED = frozenset({Fate.REDRIVEN, Fate.SPOKEN})


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter with what can still be known about it."""

    dead: DeadLetter
    record: Record | None = None
    ref: DebateRef | None = None
    ask: Ask | None = None

    @property
    def subject(self) -> str | None:
        if self.record is not None:
            return self.record.subject
        return self.dead.trace.subject if self.dead.trace is not None else None

    @property
    def persona(self) -> str | None:
        if self.ref is None or not self.dead.queue:
            return None
        return self.dead.queue.removeprefix(f"{self.ref.panel}-")


class Operations:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def link(self) -> Link:
        """The way to the server."""
        return self._journal.bus.link

    async def presences(self, within_s: float) -> list[Presence]:
        """Every agent and coordinator that answers in this time."""
        return await self._journal.bus.roll_call(within_s)

    async def answer_requests(self, name: str, about: str, endpoints: Sequence[Endpoint]) -> None:
        """As a NATS micro service, until cancelled."""
        await self._journal.bus.answer_requests(name, about, endpoints)

    async def answer_prompts(self, owner: str, agents: Sequence[PromptedAgent]) -> None:
        """As agents of Synadia's agent protocol, until cancelled."""
        await self._journal.bus.answer_prompts(owner, agents)

    async def is_coordinated(self) -> bool:
        """Whether a coordinator gives a sign of life."""
        with anyio.move_on_after(SILENT_S):
            async with anyio.create_task_group() as tasks:
                await self._journal.bus.listen(
                    self._journal.subjects.beacons(), lambda _, __: tasks.cancel_scope.cancel()
                )
            return True
        return False

    async def queues(self) -> list[QueueState]:
        """Only a real server knows them."""
        bus = self._journal.bus
        return await bus.queues() if isinstance(bus, JetStreamBus) else []

    async def count_dead(self) -> int:
        return await self._journal.bus.count_dead()

    async def dead_letters(
        self, *, before: int | None = None, newest: int | None = None
    ) -> list[Letter]:
        """Oldest first; with `newest` no more than so many, of the numbers below `before`."""
        dead = await self._journal.bus.dead_letters(before=before, newest=newest)
        return [await self._opened(one) for one in dead]

    async def dead_letter(self, number: int) -> Letter:
        """Raises NotFound."""
        for one in await self.dead_letters(before=number + 1, newest=1):
            if one.dead.number == number:
                return one
        raise NotFound(f"no dead letter {number} (parley dlq list shows them)")

    async def _opened(self, dead: DeadLetter) -> Letter:
        subjects = self._journal.subjects
        try:
            record = await self._journal.bus.record(dead.sequence)
        except NotFound:
            address = subjects.parse(dead.trace.subject) if dead.trace is not None else None
            return Letter(dead, ref=address[0] if address is not None else None)
        address = subjects.parse_ask(record.subject)
        ref = address[0] if address is not None else None
        try:
            return Letter(dead, record, *self._journal.decode_ask(record))
        except DecodeError:
            return Letter(dead, record, ref)

    async def fate(self, one: Letter) -> Fate:
        """What redriving would come to at this moment."""
        if one.record is None and one.dead.trace is None:
            return Fate.GONE
        if one.persona is None:
            return Fate.NO_ASK
        if one.ask is None or one.ref is None:
            return Fate.UNREADABLE
        logged, _ = await self._journal.read(one.ref)
        facts = [entry.fact for entry in logged]
        step, persona = one.ask.step, one.persona
        if any(isinstance(f, TurnTaken) and (f.step, f.persona) == (step, persona) for f in facts):
            return Fate.SPOKEN
        return _fate_of_silent(fold(facts), step, persona)

    async def redrive(self, one: Letter) -> Fate:
        """Two who do this at the same time ask once."""
        found = await self.fate(one)
        if found is Fate.REDRIVEN:
            assert one.ref is not None
            assert one.ask is not None
            assert one.persona is not None
            with suppress(Conflict):
                await self._journal.redrive(one.ref, one.ask, one.persona, one.dead.sequence)
        if found in SETTLED:
            await self.drop(one)
        return found

    async def drop(self, one: Letter) -> None:
        """Idempotent. The record stays in the log, where it still is."""
        await self._journal.bus.forget_dead(one.dead.number)


def _fate_of_silent(state: DebateState, name: str, persona: str) -> Fate:
    step = state.step(name)
    if step is None or persona not in step.ask.personas:
        return Fate.UNASKED
    if state.closed is not None:
        return Fate.CLOSED
    if step.is_over:
        return Fate.STEP_OVER
    return Fate.REDRIVEN if step.awaits(persona) else Fate.ABSTAINED
