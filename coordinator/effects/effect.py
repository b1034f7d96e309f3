"""
Effects: what a finding needs from outside the log before it is written down.

The rules say that something is looked for; an effect looks, and returns the finding with its
`observed` fields filled in. Effects are found by the entry points of the group `parley.effects`,
under the name of the finding's type.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from parley.bus.contracts.facts import Finding
from parley.bus.plugins import Plugins
from parley.bus.port import Bus
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState

CarryOut = Callable[[DebateRef, DebateState, Finding], Awaitable[Finding]]


@dataclass(frozen=True, slots=True)
class Effect:
    """`open` makes what carries the effect out, once for each process."""

    open: Callable[[Bus], CarryOut]


EFFECTS: Mapping[str, Effect] = Plugins("parley.effects", Effect)


class Effects:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._opened: dict[Effect, CarryOut] = {}

    async def carry_out(self, ref: DebateRef, state: DebateState, fact: Finding) -> Finding:
        effect = EFFECTS[fact.type]
        if effect not in self._opened:
            self._opened[effect] = effect.open(self._bus)
        return await self._opened[effect](ref, state, fact)
