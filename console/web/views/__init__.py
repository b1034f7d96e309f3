"""What the web page shows of a debate: its state after any number of facts, as plain values. Pure."""

from collections.abc import Sequence

from parley.bus.errors import NotFound
from parley.bus.subjects import DebateRef
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.transcript import item_of
from parley.console.web.views.common import Scene
from parley.console.web.views.parts import ViewBase
from parley.coordinator.core.reducer import walk
from parley.reading import Logged


def view_of(ref: DebateRef, logged: Sequence[Logged], at: int | None = None) -> ViewBase:
    """
    The debate after its first `at` facts, all of them by default; at least its submission.

    Raises NotFound where nothing was submitted.
    """
    steps = zip(walk(one.fact for one in logged), logged, strict=True)
    placed = [(step, one.time_ns) for step, one in steps if step.has_place]
    if not placed:
        raise NotFound(f"there is no debate {ref.id} on this server")
    shown = placed if at is None else placed[: max(1, at)]
    state = shown[-1][0].after
    items = tuple(item_of(step, time_ns) for step, time_ns in shown)
    scene = Scene(ref, state, items, len(placed))
    return presentation_of(state.running_panel.protocol).view(scene)
