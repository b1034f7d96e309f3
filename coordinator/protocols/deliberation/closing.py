"""The end of a deliberation: what is declared when no rule ended it, and what is decided."""

from collections import Counter

from parley.bus.contracts.declaration import (
    DeclarationDetails,
    RejectedCandidate,
    Sensitivity,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.deliberation.content import (
    DeliberationDecision,
    Dissent,
    Summary,
    conclusion_text,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import RegimeParams, Theta
from parley.bus.contracts.facts import Terminated
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.protocols.deliberation.decision import Predicate
from parley.coordinator.protocols.deliberation.explored import explored_axes
from parley.coordinator.protocols.deliberation.progress import Progress
from parley.coordinator.protocols.deliberation.report import Said

# What is still open before the first declaration says so.
_OPEN_AT_FIRST: dict[Theta, tuple[Predicate, ...]] = {
    Theta.L0: ("min_iterations",),
    Theta.L1: ("decision_stability", "min_iterations", "confidence"),
    Theta.L2: ("min_candidates", "verification", "margin"),
    Theta.L3: ("dimension", "orthogonality"),
    Theta.L4: ("dimension", "orthogonality"),
}


def declare_operational(
    reason: TerminationReason,
    params: RegimeParams,
    progress: Progress,
    basis: tuple[int, ...],
) -> TerminationDeclaration:
    """For an end that no rule of the regime brought about: cancellation, lost quorum."""
    state, last = progress.state, progress.declaration
    tracks_axes = params.theta.tracks_axes
    stood = last.termination_rationale if last else None
    return TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.OPERATIONAL,
        termination_rationale=TerminationRationale(
            orthogonality_score=stood.orthogonality_score if stood else 0.0,
            semantic_expansion_delta=stood.semantic_expansion_delta if stood else 0.0,
            # Who stops a deliberation from outside does not say what would have come of it.
            decision_sensitivity=Sensitivity.HIGH,
            axes_explored=state.axes if tracks_axes else (),
            axes_remaining_estimate=max(0, params.d_min - state.dimension) if tracks_axes else 0,
        ),
        justification=(
            f"terminate by {reason.value}: stopped from outside after "
            f"{state.iterations} of at most {params.max_iterations} iterations"
        ),
        details=DeclarationDetails(
            rule=reason.value,
            thresholds={"max_iterations": params.max_iterations},
            values={"iteration": state.iterations},
            basis=basis,
            regime=params.theta.regime,
            theta=params.theta,
            iteration=state.iterations,
            d_current=state.dimension if tracks_axes else None,
            d_min=params.d_min if tracks_axes else None,
            forced_by_cap=True,
            unmet=last.details.unmet if last else _OPEN_AT_FIRST[params.theta],
        ),
    )


def decision_of(
    terminated: Terminated,
    panel: DeliberationPanel,
    progress: Progress,
    summary: Summary | None,
) -> DeliberationDecision:
    found = summary or _without_judge(progress)
    return DeliberationDecision(
        conclusion=found.conclusion,
        answer=found.answer,
        confidence=found.confidence,
        termination_reason=terminated.reason,
        rationale=found.rationale,
        dissent=found.dissent,
        axes=explored_axes(progress, panel) if panel.params.theta.tracks_axes else (),
        rejected_candidates=_rejected(terminated.declaration),
        incomplete=summary is None,
    )


def _rejected(declaration: TerminationDeclaration) -> tuple[RejectedCandidate, ...]:
    return declaration.details.rejected_candidates or ()


def _without_judge(progress: Progress) -> Summary:
    """The last conclusion, or else the position that most debaters hold, the first if equal."""
    said = progress.rounds[-1].said if progress.rounds else ()
    held = Counter(one.turn.position for one in said if one.turn.position)
    common = max(held, key=lambda position: held[position], default="")
    details = progress.declaration.details if progress.declaration else None
    return Summary(
        conclusion=conclusion_text(progress.state.conclusion) or common,
        confidence=details.confidence if details else None,
        rationale="nobody summed up; this is what stood last",
        dissent=tuple(_dissent(one) for one in said if one.turn.position not in ("", common)),
    )


def _dissent(said: Said) -> Dissent:
    return Dissent(agent=said.agent, position=said.turn.position, reason=said.turn.message)
