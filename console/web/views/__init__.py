"""What the web page shows of a debate: its state after any number of facts, as plain values. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import Field

from parley.bus.errors import NotFound
from parley.bus.journal import Logged
from parley.bus.subjects import DebateRef
from parley.console.web.views.absa import AbsaView, absa_view
from parley.console.web.views.common import Scene
from parley.console.web.views.deliberation import DeliberationView, deliberation_view
from parley.console.web.views.transcript import walk
from parley.console.web.views.verdicts import VerdictView, verdict_view

DebateView = Annotated[VerdictView | AbsaView | DeliberationView, Field(discriminator="protocol")]

_VIEWS: Mapping[str, Callable[[Scene], VerdictView | AbsaView | DeliberationView]] = {
    "verdicts": verdict_view,
    "absa": absa_view,
    "deliberation": deliberation_view,
}


def view_of(ref: DebateRef, logged: Sequence[Logged], at: int | None = None) -> DebateView:
    """
    The debate after its first `at` facts, all of them by default; at least its submission.

    Raises NotFound where nothing was submitted.
    """
    walked = walk(logged, len(logged))
    if not walked:
        raise NotFound(f"no debate {ref.id!r}")
    shown = walked if at is None else walked[: max(1, at)]
    scene = Scene(ref, shown, len(walked))
    return _VIEWS[scene.state.running_panel.protocol](scene)
