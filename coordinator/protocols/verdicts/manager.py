"""
What the manager makes of a finished debate: one verdict, a confidence and the reasons in words.

Total over every reason and every set of positions; where nobody spoke there is no verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from parley.bus.contracts.verdicts.content import FollowUp, ManagerDecision, TerminationReason
from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.verdicts import rationale
from parley.coordinator.protocols.verdicts.forensic_labels import Verdict
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.trust import UNKNOWN_AGENT_TRUST

STANDSTILL_CONFIDENCE = 0.60
DEADLOCK_CONFIDENCE = 0.70
MAJORITY_CONFIDENCE = 0.55
INSUFFICIENT_EVIDENCE_CONFIDENCE = 0.30

# The agent that can point at the manipulated region.
LOCALIZER = "spatial"

# In doubt the graver finding, and any finding before none.
GRAVEST_FIRST = (
    Verdict.MANIPULATED,
    Verdict.AI_GENERATED,
    Verdict.AUTHENTIC,
    Verdict.UNCERTAIN,
)


def decide_verdict(  # noqa: PLR0913  one argument for each thing the decision rests on
    reason: TerminationReason,
    positions: Sequence[Position],
    trust: Mapping[str, float],
    *,
    roster: Sequence[str],
    mixed_content_min_confidence: float = 0.6,
    evidence: Mapping[str, Sequence[str]] = {},
) -> ManagerDecision:
    """`evidence` names, by agent, the findings worth quoting in the rationale."""
    if not positions:
        return ManagerDecision(
            final_verdict=Verdict.UNCERTAIN,
            confidence=0.0,
            termination_reason=reason,
            rationale=rationale.nobody_spoke(reason),
            incomplete=True,
        )
    decision = _decide(reason, positions, trust, roster, mixed_content_min_confidence)
    spoken = rationale.statements(positions, evidence)
    return decision.model_copy(update={"rationale": f"{decision.rationale} Statements: {spoken}"})


def majority_vote(positions: Sequence[Position], trust: Mapping[str, float]) -> str:
    """Uncertain when nobody voted."""
    groups = by_verdict(positions)
    scores = _weighted_scores(positions, trust)
    standards: tuple[Callable[[str], float], ...] = (
        lambda verdict: len(groups[verdict]),
        lambda verdict: verdict != Verdict.UNCERTAIN,
        lambda verdict: mean_confidence(groups[verdict]),
        lambda verdict: scores[verdict],
    )
    leaders = list(groups)
    for standard in standards:
        leaders = _leaders(leaders, standard)
    return next((verdict for verdict in GRAVEST_FIRST if verdict in leaders), Verdict.UNCERTAIN)


def _decide(
    reason: TerminationReason,
    positions: Sequence[Position],
    trust: Mapping[str, float],
    roster: Sequence[str],
    mixed_content_min_confidence: float,
) -> ManagerDecision:
    match reason:
        case TerminationReason.CONSENSUS_REACHED:
            return _on_consensus(positions, trust)
        case TerminationReason.STALEMATE | TerminationReason.NO_PROGRESS:
            verdict, ground = _manager_decision(positions, trust, mixed_content_min_confidence)
            return ManagerDecision(
                final_verdict=verdict,
                confidence=STANDSTILL_CONFIDENCE,
                termination_reason=reason,
                rationale=rationale.standstill(reason, ground),
            )
        case TerminationReason.HIGH_CONFIDENCE_DEADLOCK:
            return _on_deadlock(positions, roster)
        case TerminationReason.MAX_ROUNDS_REACHED | TerminationReason.BUDGET_EXHAUSTED:
            verdict = majority_vote(positions, trust)
            return ManagerDecision(
                final_verdict=verdict,
                confidence=MAJORITY_CONFIDENCE,
                termination_reason=reason,
                rationale=rationale.majority(reason, positions, verdict),
                incomplete=reason is TerminationReason.BUDGET_EXHAUSTED,
            )
        case (
            TerminationReason.CANCELLED
            | TerminationReason.QUORUM_LOST
            | TerminationReason.DEBATE_DISABLED
        ):
            return ManagerDecision(
                final_verdict=Verdict.UNCERTAIN,
                confidence=0.0,
                termination_reason=reason,
                rationale=rationale.undecided(reason),
                incomplete=True,
            )
        case _:
            assert_never(reason)


def _on_consensus(positions: Sequence[Position], trust: Mapping[str, float]) -> ManagerDecision:
    verdict = majority_vote(positions, trust)
    holders = by_verdict(positions)[verdict]
    confidence = _trusted_mean(holders, trust)
    insufficient = verdict == Verdict.UNCERTAIN and len(holders) == len(positions)
    return ManagerDecision(
        final_verdict=verdict,
        confidence=(
            min(confidence, INSUFFICIENT_EVIDENCE_CONFIDENCE) if insufficient else confidence
        ),
        termination_reason=TerminationReason.CONSENSUS_REACHED,
        rationale=(
            rationale.insufficient_evidence(positions)
            if insufficient
            else rationale.consensus(positions, verdict)
        ),
        insufficient_evidence=insufficient,
    )


def _on_deadlock(positions: Sequence[Position], roster: Sequence[str]) -> ManagerDecision:
    can_localize = LOCALIZER in roster
    reason = TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    return ManagerDecision(
        final_verdict=Verdict.MANIPULATED,
        confidence=DEADLOCK_CONFIDENCE,
        termination_reason=reason,
        rationale=rationale.deadlock(positions, can_localize=can_localize),
        follow_ups=(
            FollowUp(agent=LOCALIZER, reason=reason, status=None if can_localize else "unassigned"),
        ),
    )


def _manager_decision(
    positions: Sequence[Position], trust: Mapping[str, float], min_confidence: float
) -> tuple[str, str]:
    confident = [each for each in positions if at_least(each.confidence, min_confidence)]
    if {Verdict.AI_GENERATED, Verdict.AUTHENTIC} <= {each.verdict for each in confident}:
        return Verdict.MANIPULATED, rationale.mixed_content(confident)
    scores = _weighted_scores(positions, trust)
    leaders = _leaders(list(scores), scores.__getitem__)
    verdict = next(verdict for verdict in GRAVEST_FIRST if verdict in leaders)
    return verdict, rationale.weighted_vote(scores, verdict, tied=len(leaders) > 1)


def _weighted_scores(positions: Sequence[Position], trust: Mapping[str, float]) -> dict[str, float]:
    return {
        verdict: sum(_trust(holder, trust) * holder.confidence for holder in group)
        for verdict, group in by_verdict(positions).items()
    }


def _trusted_mean(holders: Sequence[Position], trust: Mapping[str, float]) -> float:
    """The plain mean where no holder is trusted at all."""
    total = sum(_trust(holder, trust) for holder in holders)
    if total == 0:
        return mean_confidence(holders)
    return sum(_trust(holder, trust) * holder.confidence for holder in holders) / total


def _trust(position: Position, trust: Mapping[str, float]) -> float:
    return trust.get(position.agent, UNKNOWN_AGENT_TRUST)


def _leaders(verdicts: Sequence[str], standard: Callable[[str], float]) -> list[str]:
    """Those that share the highest value, up to the tolerance."""
    best = max(map(standard, verdicts), default=0.0)
    return [verdict for verdict in verdicts if at_least(standard(verdict), best)]
