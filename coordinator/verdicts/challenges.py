from collections.abc import Sequence
from itertools import combinations

from parley.bus.contracts.verdicts import Challenge
from parley.coordinator.tolerance import above
from parley.coordinator.verdicts.position import Position


def challenges(positions: Sequence[Position]) -> tuple[Challenge, ...]:
    """
    One challenge for each pair that differs, from the more confident agent to the other.

    Positions come in roster order: of two equally confident agents the earlier one challenges.
    """
    return tuple(
        _challenge(earlier, later)
        for earlier, later in combinations(positions, 2)
        if earlier.verdict is not later.verdict
    )


def _challenge(earlier: Position, later: Position) -> Challenge:
    if above(later.confidence, earlier.confidence):
        return Challenge(challenger=later.agent, challenged=earlier.agent)
    return Challenge(challenger=earlier.agent, challenged=later.agent)
