"""Votes among agents: who leads by which standard, and how sure the leaders are."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import above, at_least
from parley.coordinator.protocols.verdicts.figures import History
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.trust import UNKNOWN_AGENT_TRUST

Trust = Mapping[str, float]


def plurality(positions: Sequence[Position], trust: Trust, verdicts: Sequence[str]) -> str:
    """
    Most agents; ties go to any label before `undecided`, the surer, the more trusted, the graver.

    `verdicts` are gravest first, the undecided one last; it stands where nobody voted.
    """
    groups = by_verdict(positions)
    scores = trust_scores(positions, trust)
    standards: tuple[Callable[[str], float], ...] = (
        lambda verdict: len(groups[verdict]),
        lambda verdict: verdict != verdicts[-1],
        lambda verdict: mean_confidence(groups[verdict]),
        lambda verdict: scores[verdict],
    )
    leaders = list(groups)
    for standard in standards:
        leaders = leading(leaders, standard)
    return gravest(leaders, verdicts)


def holds_share(positions: Sequence[Position], share: float, *, more: bool) -> str | None:
    """The verdict that more than (or at least) this share of the agents hold; None if none is."""
    reaches = above if more else at_least
    return next(
        (
            verdict
            for verdict, group in by_verdict(positions).items()
            if reaches(len(group) / len(positions), share)
        ),
        None,
    )


def trust_scores(positions: Iterable[Position], trust: Trust) -> dict[str, float]:
    scores: dict[str, float] = {}
    for agent, verdict, confidence in positions:
        weight = trust.get(agent, UNKNOWN_AGENT_TRUST) * confidence
        scores[verdict] = scores.get(verdict, 0.0) + weight
    return scores


def confidence_scores(positions: Iterable[Position]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for _, verdict, confidence in positions:
        scores[verdict] = scores.get(verdict, 0.0) + confidence
    return scores


def trajectory_scores(history: History, trust: Trust, decay: float) -> dict[str, float]:
    """A round weighs `decay` of what the next one does; only the last one where that is 0."""
    scores: dict[str, float] = {}
    weight = 1.0
    for positions in reversed(history):
        for verdict, score in trust_scores(positions, trust).items():
            scores[verdict] = scores.get(verdict, 0.0) + weight * score
        weight *= decay
    return scores


def best_of(scores: Mapping[str, float], verdicts: Sequence[str]) -> tuple[str, bool]:
    """The gravest of those that weigh most, and whether there were several."""
    leaders = leading(list(scores), scores.__getitem__)
    return gravest(leaders, verdicts), len(leaders) > 1


def trusted_mean(holders: Sequence[Position], trust: Trust) -> float:
    """The plain mean where no holder is trusted at all."""
    total = total_of(trust.get(holder.agent, UNKNOWN_AGENT_TRUST) for holder in holders)
    if total == 0:
        return mean_confidence(holders)
    return total_of(trust_scores(holders, trust).values()) / total


def gravest(leaders: Sequence[str], verdicts: Sequence[str]) -> str:
    return next((one for one in (*verdicts[:-1], *leaders) if one in leaders), verdicts[-1])


def leading(verdicts: Sequence[str], standard: Callable[[str], float]) -> list[str]:
    """Those that share the highest value, up to the tolerance."""
    best = max(map(standard, verdicts), default=0.0)
    return [verdict for verdict in verdicts if at_least(standard(verdict), best)]
