"""What the stop rules look at, computed once a round."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from parley.coordinator.core.budget import Spent
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.groups import by_verdict, mean_confidence
from parley.coordinator.protocols.verdicts.position import Position

History = Sequence[Sequence[Position]]


class Figures(NamedTuple):
    """`spent` is None where no rule asks for it."""

    history: History
    round: int
    disagreement: float
    majority_verdict: str | None
    majority_share: float
    unchanged_streak: int
    mean_confidence: dict[str, float]
    # Share of the agents present before and after the last round that changed their verdict in it.
    changed_share: float
    changed_in_debate: bool
    spent: Spent | None

    def largest_move(self) -> float:
        """Of anybody's confidence in the last round; 1 where a verdict changed or somebody came."""
        if self.round == 0 or self.changed_share:
            return 1.0
        before = {agent: confidence for agent, _, confidence in self.history[-2]}
        moves = [
            abs(confidence - before[agent]) if agent in before else 1.0
            for agent, _, confidence in self.history[-1]
        ]
        return max(moves, default=0.0)

    def lowest_confidence(self) -> float:
        return min([confidence for _, _, confidence in self.history[-1]], default=0.0)

    def confidence_spread(self) -> float:
        confidences = [confidence for _, _, confidence in self.history[-1]]
        return max(confidences, default=0.0) - min(confidences, default=0.0)


def figures_of(
    history: History, spent: Spent | None = None, earlier: Sequence[float] | None = None
) -> Figures:
    """`earlier` are the shares before the last round, where they are known."""
    positions = history[-1]
    if earlier is None or len(history) == 1:
        shares = shares_of(history)
    else:
        shares = [*earlier, _changed_share(history[-2], positions)]
    groups = by_verdict(positions)
    majority = max(groups, key=lambda verdict: len(groups[verdict]), default=None)
    return Figures(
        history=history,
        round=len(shares),
        disagreement=disagreement([verdict for _, verdict, _ in positions]),
        majority_verdict=majority,
        majority_share=len(groups[majority]) / len(positions) if majority else 0.0,
        unchanged_streak=_unchanged_streak(shares),
        mean_confidence={verdict: mean_confidence(group) for verdict, group in groups.items()},
        changed_share=shares[-1] if shares else 0.0,
        changed_in_debate=any(shares),
        spent=spent,
    )


def shares_of(history: History) -> list[float]:
    """An agent that speaks for the first time in a round has not changed a verdict."""
    return [_changed_share(before, after) for before, after in pairwise(history)]


def _changed_share(before: Sequence[Position], after: Sequence[Position]) -> float:
    previous = {agent: verdict for agent, verdict, _ in before}
    compared = changed = 0
    for agent, verdict, _ in after:
        if agent in previous:
            compared += 1
            changed += verdict != previous[agent]
    return changed / max(compared, 1)


def _unchanged_streak(shares: Sequence[float]) -> int:
    streak = 0
    for share in shares:
        streak = 0 if share else streak + 1
    return streak
