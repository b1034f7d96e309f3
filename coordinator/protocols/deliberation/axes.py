"""How much an iteration's axes add to the known ones, and which of them join."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.deliberation.similarity import Similarity


@dataclass(frozen=True, slots=True)
class Novelty:
    """`joined` are the axes that add a dimension, in the order they were named."""

    orthogonality: float
    joined: tuple[str, ...]


def own_score(axis: str, known: Sequence[str], similarity: Similarity) -> float:
    """1 for an axis like no other, 0 for a known one."""
    return 0.0 if axis in known else max(0.0, 1.0 - similarity(axis, known))


def is_new(axis: str, known: Sequence[str], epsilon: float, similarity: Similarity) -> bool:
    """Similarity 1 is never new, even where an epsilon of 0 would let it pass."""
    score = own_score(axis, known, similarity)
    return score > 0.0 and at_least(score, epsilon)


def judge_axes(
    axes: Sequence[str], known: Sequence[str], epsilon: float, similarity: Similarity
) -> Novelty:
    """
    Score the axes against what was known before the iteration.

    Joining also looks at the axes that joined before in the same iteration: an axis and its
    second value, named together, are one dimension.
    """
    orthogonality = max((own_score(axis, known, similarity) for axis in axes), default=0.0)
    joined: list[str] = []
    for axis in axes:
        if is_new(axis, (*known, *joined), epsilon, similarity):
            joined.append(axis)
    return Novelty(orthogonality, tuple(joined))


def orthogonality_of(
    given: float | None, axes: Sequence[str] | None, lexical: float
) -> float | None:
    """
    Combine an assessment given by the iteration's author with the lexical one.

    With axes to look at, the author's figure counts only as far as the names bear it out. Without
    any, it stands alone. None when neither is there: nobody judged this iteration.
    """
    if given is not None:
        return min(given, lexical) if axes else given
    return None if axes is None else lexical
