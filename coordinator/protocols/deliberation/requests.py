"""What each step of a deliberation asks: enough to answer by it alone, and no history beyond that."""

from typing import assert_never

from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesRequest,
    DeliberateRequest,
    DeliberationRequest,
    ForceRequest,
    RegimeReason,
    ScoreRequest,
    SenseRequest,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Conclusion
from parley.coordinator.protocols.deliberation.explored import explored_axes
from parley.coordinator.protocols.deliberation.progress import Progress, StepKind
from parley.coordinator.protocols.deliberation.report import Round, usable_axes


def request_for(due: StepKind, panel: DeliberationPanel, progress: Progress) -> DeliberationRequest:
    if due is StepKind.THINK:
        return _think(panel, progress)
    heard = progress.current
    assert heard is not None, "only thinking begins an iteration"
    match due:
        case StepKind.SCORE:
            return ScoreRequest(
                iteration=heard.number,
                theta=panel.params.theta,
                personas=panel.debaters,
                axes=_axes_in(heard, progress),
                candidates=heard.proposals,
            )
        case StepKind.AXES | StepKind.AXES_AGAIN:
            return AxesRequest(
                iteration=heard.number,
                theta=panel.params.theta,
                axes=progress.state.axes,
                conclusion=progress.state.conclusion,
                turns=heard.spoken,
                candidates=heard.scored,
            )
        case StepKind.FORCE:
            return _force(panel, progress, heard)
        case StepKind.SENSE:
            return SenseRequest(
                iteration=heard.number,
                theta=panel.params.theta,
                axes=_explored(progress),
                conclusion=_conclusion(progress, heard),
                unexplored=heard.unexplored,
            )
        case _:
            assert_never(due)


def summary_request(
    panel: DeliberationPanel, progress: Progress, reason: RegimeReason
) -> SummaryRequest:
    last = progress.judged[-1]
    return SummaryRequest(
        theta=panel.params.theta,
        reason=reason,
        conclusion=last.state.conclusion,
        confidence=last.declaration.details.confidence,
        axes=explored_axes(progress, panel),
        unexplored=last.round.unexplored,
        turns=last.round.spoken,
        candidates=tuple(sorted(last.state.candidates, key=lambda one: -one.score)),
    )


def _think(panel: DeliberationPanel, progress: Progress) -> DeliberateRequest:
    last = progress.judged[-1] if progress.judged else None
    return DeliberateRequest(
        iteration=len(progress.judged) + 1,
        theta=panel.params.theta,
        personas=panel.debaters,
        conclusion=progress.state.conclusion,
        axes=progress.state.axes,
        candidates=last.round.proposals if last else (),
        forced_perspective=last.declaration.details.forced_perspective if last else None,
        decisive_axis=_decisive(last.round) if last else None,
        last_turns=last.round.spoken if last else (),
    )


def _force(panel: DeliberationPanel, progress: Progress, heard: Round) -> ForceRequest:
    assert progress.provisional is not None, "forcing follows a first judgement"
    details = progress.provisional.details
    assert details.d_current is not None
    assert details.d_min is not None
    return ForceRequest(
        iteration=heard.number,
        theta=panel.params.theta,
        axes=_explored(progress),
        d_current=details.d_current,
        d_min=details.d_min,
        conclusion=_conclusion(progress, heard),
    )


def _explored(progress: Progress) -> tuple[str, ...]:
    """With those of the iteration that is being judged."""
    assert progress.provisional is not None, "only judged axes are explored"
    return progress.provisional.termination_rationale.axes_explored


def _conclusion(progress: Progress, heard: Round) -> Conclusion | None:
    judged = heard.judgement.conclusion if heard.judgement else None
    return progress.state.conclusion if judged is None else judged


def _axes_in(heard: Round, progress: Progress) -> tuple[str, ...]:
    """The known axes and those just raised: candidates are scored before anybody judges them."""
    raised = usable_axes(axis for one in heard.said for axis in one.turn.axes)
    return tuple(dict.fromkeys((*progress.state.axes, *raised)))


def _decisive(last: Round) -> str | None:
    found = last.sensitivity
    return None if found is None or found.sensitivity is Sensitivity.LOW else found.axis
