"""
The unified decision flow: one iteration in, one declaration out, always.

`step` is pure. Two questions may arise in deliberation that somebody else has to answer: a forced
perspective and the decision's sensitivity. Without the answer the step decides by default (forcing:
go on; sensitivity: high) and says in `needs` which answer it lacked. A caller that can ask drops
that result, asks, and calls again with the same state and the answer in the iteration; one that
cannot, or was not answered, takes the result as it is.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from parley.bus.contracts.declaration import (
    DeclarationDetails,
    Mode,
    Sensitivity,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.deliberation.regimes import (
    AxesRecord,
    Iteration,
    Regime,
    RegimeParams,
    Theta,
)
from parley.coordinator.core.checks import check
from parley.coordinator.protocols.deliberation.convergent import (
    decide_convergence,
    decide_validation,
)
from parley.coordinator.protocols.deliberation.decision import Decision, Need
from parley.coordinator.protocols.deliberation.deliberative import decide_deliberation
from parley.coordinator.protocols.deliberation.observation import (
    Observation,
    RegimeState,
    observe,
    remember,
)
from parley.coordinator.protocols.deliberation.similarity import Similarity, lexical_similarity
from parley.coordinator.protocols.deliberation.verificatory import decide_verification


class Step(NamedTuple):
    state: RegimeState
    declaration: TerminationDeclaration
    needs: Need | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Where the iteration leaves the axes, once the decision has taken effect."""

    axes: tuple[str, ...]
    new_axes: tuple[str, ...]
    d_current: int
    d_min: int
    streak: int


def step(
    state: RegimeState,
    iteration: Iteration,
    params: RegimeParams,
    similarity: Similarity = lexical_similarity,
    basis: tuple[int, ...] = (),
) -> Step:
    """`basis` are the ordinals of the facts that the iteration rests on, where there are any."""
    seen = observe(state, iteration, params, similarity)
    decision = _decide(seen, params)
    outcome = _outcome(seen, decision, params)
    declaration = _declare(seen, decision, outcome, params, basis)
    following = replace(
        remember(state, seen),
        axes=outcome.axes,
        dimension=outcome.d_current,
        streak=outcome.streak,
        records=(*state.records, *_record(seen, outcome, params)),
    )
    return Step(following, declaration, decision.needs)


def _decide(seen: Observation, params: RegimeParams) -> Decision:
    match params.theta:
        case Theta.L0:
            return decide_validation(seen)
        case Theta.L1:
            return decide_convergence(seen, params)
        case Theta.L2:
            return decide_verification(seen, params)
        case Theta.L3 | Theta.L4:
            return decide_deliberation(seen, params)
        case _:
            assert_never(params.theta)


def _outcome(seen: Observation, decision: Decision, params: RegimeParams) -> _Outcome:
    effects = decision.effects
    forced = () if effects.forced_axis is None else (effects.forced_axis,)
    return _Outcome(
        axes=(*seen.axes, *forced),
        new_axes=(*seen.new_axes, *forced),
        d_current=seen.d_current + len(forced),
        d_min=effects.d_min_lowered.to if effects.d_min_lowered else params.d_min,
        streak=0 if effects.streak_reset else seen.streak,
    )


def _declare(
    seen: Observation,
    decision: Decision,
    outcome: _Outcome,
    params: RegimeParams,
    basis: tuple[int, ...],
) -> TerminationDeclaration:
    capped = not decision.stops and seen.iteration >= params.max_iterations
    stops = decision.stops or capped
    checks = decision.checks
    if not decision.stops:
        cap = check("iteration", seen.iteration, ">=", params.max_iterations, capped)
        checks = (*checks, cap)
    regime = params.theta.regime
    tracks_axes = params.theta.tracks_axes
    remaining = max(0, outcome.d_min - outcome.d_current) if tracks_axes else 0
    if seen.axes_remaining_estimate is not None:
        remaining = seen.axes_remaining_estimate
    return TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE if stops else TerminationStatus.CONTINUE,
        termination_type=(TerminationType.OPERATIONAL if capped else params.theta.termination_type),
        termination_rationale=TerminationRationale(
            orthogonality_score=_orthogonality(seen),
            semantic_expansion_delta=_expansion(seen),
            # What was not asked is not known to be low.
            decision_sensitivity=decision.sensitivity or Sensitivity.HIGH,
            axes_explored=outcome.axes if tracks_axes else (),
            axes_remaining_estimate=remaining,
        ),
        justification=justify(decision, params, capped=capped),
        details=DeclarationDetails(
            rule="max_iterations" if capped else decision.rule,
            thresholds=decision.compared.thresholds,
            values=decision.compared.values,
            checks=checks,
            basis=basis,
            regime=regime,
            theta=params.theta,
            mode=_mode(params.theta, decision),
            iteration=seen.iteration,
            delta_sem=seen.delta_sem,
            delta_coverage=seen.delta_coverage,
            confidence=seen.confidence,
            d_current=outcome.d_current if tracks_axes else None,
            d_min=outcome.d_min if tracks_axes else None,
            d_min_lowered=decision.effects.d_min_lowered,
            saturation_streak=outcome.streak if regime is Regime.DELIBERATIVE else None,
            forced_perspective=decision.effects.forced_axis,
            rejected_candidates=decision.losers if stops else None,
            forced_by_cap=capped,
            unmet=decision.unmet,
        ),
    )


def _orthogonality(seen: Observation) -> float:
    """Of the axes; where nobody named any, of the words."""
    return _expansion(seen) if seen.orthogonality is None else seen.orthogonality


def _expansion(seen: Observation) -> float:
    """The growth of coverage; where nobody said a word that can be read, of the axes."""
    if seen.delta_coverage is not None:
        return seen.delta_coverage
    return len(seen.new_axes) / max(1, len(seen.axes))


def _mode(theta: Theta, decision: Decision) -> Mode:
    """L2 opens up until it has candidates enough, then closes in."""
    if theta is Theta.L0:
        return "validate"
    if theta is Theta.L1:
        return "converge"
    if theta is Theta.L2 and "min_candidates" not in decision.unmet:
        return "converge"
    return "diverge"


def _record(seen: Observation, outcome: _Outcome, params: RegimeParams) -> tuple[AxesRecord, ...]:
    if not params.theta.tracks_axes:
        return ()
    record = AxesRecord(
        iteration=seen.iteration,
        new_axes=outcome.new_axes,
        cumulative_axes=outcome.axes,
        orthogonality_score=seen.orthogonality,
        d_current=outcome.d_current,
        d_min=outcome.d_min,
    )
    return (record,)


MEANING = {
    "single_verdict": "there is one verdict and no iteration",
    "answer_convergence": "the answer is reached",
    "verification_pass": "the criteria are passed",
    "decision_sufficiency": "the grounds suffice to decide, be there a better answer or not",
    "truly_saturated": "no further independent axis can be found",
    "decision_stability": "the answer still moves",
    "min_iterations": "the answer still needs a confirmation",
    "confidence": "the answer is not trusted enough",
    "min_candidates": "there are too few candidates",
    "verification": "the best candidate is not good enough",
    "margin": "the best candidate does not stand out",
    "dimension": "too few independent axes are explored",
    "orthogonality": "new axes still appear",
    "cooldown": "saturation has not lasted long enough",
    "coverage_or_stability": "the picture still moves",
    "sensitivity": "an unexplored axis could change the conclusion",
    "perspective_forcing": "too few axes are explored and none is added unasked",
    "d_floor": "there is too little to call it saturated",
}


def justify(decision: Decision, params: RegimeParams, *, capped: bool) -> str:
    reason = f"{decision.rule} ({MEANING[decision.rule]}): {decision.because}"
    if capped:
        unmet = ", ".join(decision.unmet)
        return (
            f"terminate by max_iterations {params.max_iterations} with {unmet} unmet, "
            f"else continue by {reason}"
        )
    return f"{'terminate' if decision.stops else 'continue'} by {reason}"
