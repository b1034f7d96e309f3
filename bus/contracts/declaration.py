"""
The termination declaration: what a node says after every iteration, whether it goes on or stops.

The outer fields are the brief's schema; everything needed to recompute the decision by hand
stands in `details`. `node` is who declares: the debate, or one of its steps. Of the debate's own
declarations exactly one terminates.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from parley.bus.contracts.base import Contract, Figure, Figures, Real, Token, Whole, Word

# The node that a debate is as a whole; every other node is one of its steps.
DEBATE = "debate"


class TerminationStatus(Word):
    TERMINATE = "terminate"
    CONTINUE = "continue"


class TerminationType(Word):
    ANSWER_CONVERGENCE = "answer_convergence"
    VERIFICATION_PASS = "verification_pass"
    DECISION_SUFFICIENCY = "decision_sufficiency"
    # No rule earned the stop: a cap of iterations, a budget, a cancellation, a missing answer.
    OPERATIONAL = "operational"


class Sensitivity(Word):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


# How a node works: it judges once, closes in on an answer, or opens up new ones.
Mode = Literal["validate", "converge", "diverge"]


class TerminationRationale(Contract):
    """All five are computed and written; None only in logs of earlier rules."""

    orthogonality_score: Real | None = None
    semantic_expansion_delta: Real | None = None
    decision_sensitivity: Sensitivity | None = None
    axes_explored: tuple[str, ...] = ()
    axes_remaining_estimate: Whole | None = None


class RejectedCandidate(Contract):
    id: str
    score: Real
    reason: str


class DMinLowered(Contract):
    from_: Whole = Field(alias="from")
    to: Whole


class Check(Contract):
    """One comparison that a rule made: `value op threshold`, and whether it held."""

    name: str
    # None where the figure is not known.
    value: Figure = None
    op: Literal["<", "<=", ">", ">=", "==", "!="]
    threshold: Figure
    held: bool


class DeclarationDetails(Contract):
    """`basis` holds ordinals: positions of facts within their debate, counted from 0."""

    rule: str
    thresholds: Figures = {}
    values: Figures = {}
    # Every comparison in the order in which it was made, for readers who show or redo it.
    checks: tuple[Check, ...] = ()
    basis: tuple[Whole, ...] = ()
    regime: str
    theta: str | None = None
    mode: Mode | None = None
    iteration: Whole
    # How far the conclusion moved; `semantic_expansion_delta` says how far coverage grew.
    delta_sem: Real | None = None
    delta_coverage: Real | None = None
    confidence: Real | None = None
    d_current: Whole | None = None
    d_min: Whole | None = None
    d_min_lowered: DMinLowered | None = None
    saturation_streak: Whole | None = None
    forced_perspective: str | None = None
    rejected_candidates: tuple[RejectedCandidate, ...] | None = None
    forced_by_cap: bool = False
    unmet: tuple[
        Literal[
            "decision_stability",
            "min_iterations",
            "confidence",
            "min_candidates",
            "verification",
            "margin",
            "dimension",
            "orthogonality",
            "cooldown",
            "coverage_or_stability",
            "sensitivity",
            "consensus",
            "answer",
        ],
        ...,
    ] = ()


class TerminationDeclaration(Contract):
    node: Token = DEBATE
    termination_status: TerminationStatus
    termination_type: TerminationType
    termination_rationale: TerminationRationale
    justification: Annotated[str, StringConstraints(min_length=1)]
    details: DeclarationDetails

    @property
    def conclusion_moved(self) -> float | None:
        """Logs of the first rules, which name no mode, have it in the rationale."""
        if self.details.mode is None:
            return self.termination_rationale.semantic_expansion_delta
        return self.details.delta_sem

    @property
    def terminates(self) -> bool:
        return self.termination_status is TerminationStatus.TERMINATE
