from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from parley.bus.contracts.verdicts.content import Challenge
from parley.coordinator.core.tolerance import above
from parley.coordinator.protocols.verdicts.position import Position


def challenges(positions: Sequence[Position]) -> tuple[Challenge, ...]:
    """
    One challenge for each pair that differs, from the more confident agent to the other.

    Positions come in roster order: of two equally confident agents the earlier one challenges.
    """
    return tuple(
        [
            _challenge(earlier, later)
            for earlier, later in combinations(positions, 2)
            if earlier.verdict != later.verdict
        ]
    )


def _challenge(earlier: Position, later: Position) -> Challenge:
    if above(later.confidence, earlier.confidence):
        return _between(later.agent, earlier.agent)
    return _between(earlier.agent, later.agent)


@lru_cache(maxsize=4096)
def _between(challenger: str, challenged: str) -> Challenge:
    """The same few agents meet in every debate of a panel."""
    return Challenge(challenger=challenger, challenged=challenged)
