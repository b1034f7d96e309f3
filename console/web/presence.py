"""Who is there, what waits for them, and what nobody could do: the operators' view."""

import anyio

from parley.bus.contracts.base import Contract
from parley.bus.port import Presence
from parley.console.runtime.seats import ANSWER_WITHIN_S, thinking_by_model
from parley.console.transcript.timestamps import iso
from parley.operations import Letter, Operations

# Those who ask within this time get the same answer.
FRESH_S = 1.0
# Somebody busy may miss a call; who misses all of them for this long is gone.
GONE_AFTER_S = 5.0
OURS = "parley-"


class Agent(Contract):
    """`panel` and `persona` are null for a coordinator."""

    panel: str | None
    persona: str | None
    role: str
    id: str
    version: str
    labels: dict[str, str]
    figures: dict[str, float]


class QueueFigures(Contract):
    """`pending` waits to be handed out, `in_flight` is being thought about."""

    name: str
    pending: int
    in_flight: int
    redelivered: int


class DeadRow(Contract):
    """`queue` is null for a record that a reader of the log could not use."""

    number: int
    sequence: int
    queue: str | None
    reason: str
    attempts: int
    time: str
    subject: str | None
    debate_id: str | None
    panel: str | None
    persona: str | None
    step: str | None


class PresenceReport(Contract):
    """`dead` holds the newest of `dead_total`; `?before=` the lowest number shows older ones."""

    agents: tuple[Agent, ...]
    queues: tuple[QueueFigures, ...]
    dead: tuple[DeadRow, ...]
    dead_total: int


class PresenceBoard:
    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._calling = anyio.Lock()
        # Who answered, and when, by their ids.
        self._heard: dict[str, tuple[float, Presence]] = {}
        self._called_at = -FRESH_S

    async def call(self, before: int | None, limit: int) -> PresenceReport:
        present = await self.present()
        dead = await self._operations.dead_letters(before=before, newest=limit)
        are_all = before is None and len(dead) < limit
        return PresenceReport(
            agents=tuple(sorted(map(_agent, present), key=_place)),
            queues=tuple(await self._queues()),
            dead=tuple(map(_dead, dead)),
            dead_total=len(dead) if are_all else await self._operations.count_dead(),
        )

    async def thinks_by_model(self, panel: str) -> frozenset[str]:
        """The personas of the panel for whom a model answers."""
        return thinking_by_model(await self.present(), panel)

    async def present(self) -> list[Presence]:
        async with self._calling:
            if anyio.current_time() - self._called_at >= FRESH_S:
                await self._call()
        return [one for _, one in self._heard.values()]

    async def _call(self) -> None:
        answers = await self._operations.presences(ANSWER_WITHIN_S)
        now = self._called_at = anyio.current_time()
        self._heard |= {one.id: (now, one) for one in answers if one.service.startswith(OURS)}
        self._heard = {
            name: heard for name, heard in self._heard.items() if now - heard[0] < GONE_AFTER_S
        }

    async def _queues(self) -> list[QueueFigures]:
        return [
            QueueFigures(
                name=one.name,
                pending=one.lag,
                in_flight=one.in_flight,
                redelivered=one.redelivered,
            )
            for one in await self._operations.queues()
        ]


def _agent(one: Presence) -> Agent:
    return Agent(
        panel=one.labels.get("panel"),
        persona=one.labels.get("persona"),
        role=one.labels.get("role", one.service.removeprefix(OURS)),
        id=one.id,
        version=one.version,
        labels=dict(one.labels),
        figures=dict(one.figures),
    )


def _place(one: Agent) -> tuple[str, str, str]:
    return one.panel or "", one.persona or "", one.id


def _dead(one: Letter) -> DeadRow:
    return DeadRow(
        number=one.dead.number,
        sequence=one.dead.sequence,
        queue=one.dead.queue or None,
        reason=one.dead.reason,
        attempts=one.dead.attempts,
        time=iso(one.dead.time_ns),
        subject=one.subject,
        debate_id=one.ref.id if one.ref is not None else None,
        panel=one.ref.panel if one.ref is not None else None,
        persona=one.persona,
        step=one.ask.step if one.ask is not None else None,
    )
