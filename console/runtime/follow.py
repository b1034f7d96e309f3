"""Following debates to their end, and showing them."""

from collections.abc import Sequence
from contextlib import aclosing

from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.console.terminal.views import View
from parley.coordinator.core.state import DebateState


async def follow_to_the_end(
    client: Client, refs: Sequence[DebateRef], view: View, *, after: Position
) -> dict[DebateRef, DebateState]:
    """The final states, once all of these debates are closed."""
    waiting, states = set(refs), dict[DebateRef, DebateState]()
    alone = refs[0] if len(refs) == 1 else None
    watched = frozenset(refs) if alone is not None else waiting
    async with (
        client.overhearing(view.overhear, alone),
        aclosing(client.watch(after=after, debates=watched)) as events,
    ):
        async for event in events:
            view.show(event.ref, event.fact, event.before, event.state)
            states[event.ref] = event.state
            if event.state.closed is not None:
                waiting.discard(event.ref)
            if not waiting:
                break
    return states
