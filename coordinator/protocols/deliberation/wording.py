"""The justification of a declaration: the deciding predicate, what it means, the comparisons."""

from parley.bus.contracts.deliberation.regimes import RegimeParams
from parley.coordinator.protocols.deliberation.decision import Decision

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
