"""Which axes a deliberation explored, when each joined, and who raised it."""

from collections.abc import Iterator

from parley.bus.contracts.deliberation.content import ExploredAxis, RaisedAxis
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.coordinator.protocols.deliberation.observation import RegimeState
from parley.coordinator.protocols.deliberation.progress import Judged, Progress
from parley.coordinator.protocols.deliberation.report import Round, usable_axes, usable_axis


def explored_axes(progress: Progress, panel: DeliberationPanel) -> tuple[ExploredAxis, ...]:
    found: list[ExploredAxis] = []
    before = RegimeState()
    for judged in progress.judged:
        found += _joined(judged, before, panel)
        before = judged.state
    return tuple(found)


def _joined(
    judged: Judged, before: RegimeState, panel: DeliberationPanel
) -> Iterator[ExploredAxis]:
    forced = judged.declaration.details.forced_perspective
    for name in judged.state.axes[len(before.axes) :]:
        raised = _raised(judged.round, name)
        perspective = judged.round.perspective
        if name == forced:
            yield ExploredAxis(
                name=name,
                iteration=judged.round.number,
                raised_by=(panel.facilitator,),
                forced=True,
                difference=perspective.reason if perspective else "",
            )
        else:
            yield ExploredAxis(
                name=name,
                iteration=judged.round.number,
                raised_by=_authors(judged.round, name, raised),
                difference=raised.difference if raised else "",
            )


def _raised(heard: Round, name: str) -> RaisedAxis | None:
    judged = heard.judgement.axes if heard.judgement else None
    return next((one for one in judged or () if usable_axis(one.name) == name), None)


def _authors(heard: Round, name: str, raised: RaisedAxis | None) -> tuple[str, ...]:
    """As the facilitator says; where it does not, those who named the axis themselves."""
    present = tuple(one.agent for one in heard.said)
    named = tuple(agent for agent in (raised.raised_by if raised else ()) if agent in present)
    return named or tuple(one.agent for one in heard.said if name in usable_axes(one.turn.axes))
