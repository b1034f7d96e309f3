from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from parley.bus.contracts.verdicts.content import Challenge, Standing
from parley.coordinator.core.tolerance import above
from parley.coordinator.protocols.verdicts.position import Position

# Characters of a point; the statement it is taken from stands in the same ask.
LONGEST_POINT = 300


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
def _between(challenger: str, challenged: str, point: str = "") -> Challenge:
    """The same few agents meet in every debate of a panel."""
    return Challenge(challenger=challenger, challenged=challenged, point=point)


def with_points(found: Sequence[Challenge], standing: Sequence[Standing]) -> tuple[Challenge, ...]:
    """The challenges in words: each with what its challenger says against the other."""
    said = {one.agent: one for one in standing}
    return tuple(
        [
            _between(
                one.challenger,
                one.challenged,
                point(said[one.challenger], said[one.challenged]),
            )
            for one in found
        ]
    )


def point(challenger: Standing, challenged: Standing) -> str:
    """
    The challenger's strongest argument against the other: arguments stand strongest first; one that
    names the other agent or its verdict goes before, one that the other makes too comes last.
    """
    against = challenged.agent, challenged.verdict, challenged.verdict.replace("_", " ")
    shared = set(_points(challenged))
    told = list(_points(challenger))
    if len(told) < 2:  # noqa: PLR2004 - nothing to choose from
        return told[0] if told else ""
    return min(
        told,
        key=lambda text: (text in shared, not any(name in text.lower() for name in against)),
    )


def _points(said: Standing) -> Iterator[str]:
    """Whole arguments, or else the reasoning, cut to what can be said in one breath."""
    for text in said.arguments or (said.reasoning,):
        if text.strip():
            yield text if len(text) <= LONGEST_POINT else f"{text[: LONGEST_POINT - 1]}…"
