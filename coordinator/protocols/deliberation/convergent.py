"""L0 gives one verdict and stops; L1 iterates until its answer stands still and it trusts it."""

from parley.bus.contracts.deliberation.regimes import RegimeParams
from parley.coordinator.protocols.deliberation.decision import (
    Compared,
    Decision,
    comparisons,
    is_above,
    is_below,
    reaches,
    sentence,
    unmet,
)
from parley.coordinator.protocols.deliberation.observation import Observation


def decide_validation(seen: Observation) -> Decision:
    return Decision(
        stops=True,
        rule="single_verdict",
        because="L0 stops at once, whatever its confidence",
        unmet=(),
        compared=Compared({}, {"iteration": seen.iteration, "confidence": seen.confidence}),
    )


def decide_convergence(seen: Observation, params: RegimeParams) -> Decision:
    checks = (
        is_below(
            "decision_stability",
            "delta_sem",
            seen.delta_sem,
            "decision_stability_delta",
            params.decision_stability_delta,
        ),
        reaches("min_iterations", "iteration", seen.iteration, "k_min", params.k_min),
        is_above(
            "confidence",
            "confidence",
            seen.confidence,
            "confidence_threshold",
            params.confidence_threshold,
        ),
    )
    missing = unmet(checks)
    return Decision(
        stops=not missing,
        rule=missing[0] if missing else "answer_convergence",
        because=sentence(checks),
        unmet=missing,
        checks=comparisons(checks),
        compared=Compared(
            thresholds={
                "decision_stability_delta": params.decision_stability_delta,
                "k_min": params.k_min,
                "confidence_threshold": params.confidence_threshold,
                "max_iterations": params.max_iterations,
            },
            values={
                "delta_sem": seen.delta_sem,
                "iteration": seen.iteration,
                "confidence": seen.confidence,
            },
        ),
    )
