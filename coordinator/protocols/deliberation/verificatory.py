"""
L2: diverge until there are enough candidates, then select the best and check that it passes.

The dimension is reported here, it gates nothing.
"""

from collections.abc import Sequence

from parley.bus.contracts.declaration import RejectedCandidate
from parley.bus.contracts.deliberation.regimes import Candidate, RegimeParams
from parley.coordinator.protocols.deliberation.decision import (
    Compared,
    Decision,
    comparisons,
    is_above,
    reaches,
    sentence,
    unmet,
)
from parley.coordinator.protocols.deliberation.observation import Observation


def decide_verification(seen: Observation, params: RegimeParams) -> Decision:
    # sorted() is stable, so that equal scores stay in the order first seen.
    ranked = sorted(seen.candidates, key=lambda candidate: -candidate.score)
    best = ranked[0].score if ranked else None
    second = ranked[1].score if len(ranked) > 1 else 0.0
    margin = None if best is None else best - second
    checks = (
        reaches(
            "min_candidates", "candidates", len(ranked), "min_candidates", params.min_candidates
        ),
        is_above(
            "verification",
            "best_score",
            best,
            "verification_threshold",
            params.verification_threshold,
        ),
        is_above("margin", "margin", margin, "margin_delta", params.margin_delta),
    )
    missing = unmet(checks)
    leader = f"best {ranked[0].id!r}; " if ranked else ""
    phase = "diverge" if "min_candidates" in missing else "converge"
    return Decision(
        stops=not missing,
        rule=missing[0] if missing else "verification_pass",
        because=f"phase {phase}; {leader}{sentence(checks)}",
        unmet=missing,
        checks=comparisons(checks),
        compared=Compared(
            thresholds={
                "min_candidates": params.min_candidates,
                "verification_threshold": params.verification_threshold,
                "margin_delta": params.margin_delta,
                "max_iterations": params.max_iterations,
            },
            values={
                "iteration": seen.iteration,
                "phase": phase,
                "candidates": len(ranked),
                "best": ranked[0].id if ranked else None,
                "best_score": best,
                "second_score": second,
                "margin": margin,
            },
        ),
        losers=_losers(ranked),
    )


def _losers(ranked: Sequence[Candidate]) -> tuple[RejectedCandidate, ...]:
    return tuple(
        RejectedCandidate(
            id=loser.id, score=loser.score, reason=loser.reason.strip() or _why(loser, ranked[0])
        )
        for loser in ranked[1:]
    )


def _why(loser: Candidate, best: Candidate) -> str:
    if loser.score == best.score:
        return f"same score {loser.score:.6g} as {best.id}, which was named first"
    return f"score {loser.score:.6g} is {best.score - loser.score:.6g} below {best.id}"
