"""
What a run remembers between iterations, and what it sees in the current one.

`observe` settles every figure (given, computed or unknown) before any rule looks at it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.regimes import (
    STABLE,
    AxesRecord,
    Candidate,
    Conclusion,
    Forcing,
    Iteration,
    RegimeParams,
)
from parley.coordinator.core.novelty import coverage_change, keywords, words
from parley.coordinator.core.tolerance import at_least, below
from parley.coordinator.protocols.deliberation.similarity import Similarity, jaccard


@dataclass(frozen=True, slots=True)
class RegimeState:
    """`streak` counts the latest iterations in a row whose orthogonality was below epsilon."""

    iterations: int = 0
    axes: tuple[str, ...] = ()
    dimension: int = 0
    streak: int = 0
    keywords: frozenset[str] = frozenset()
    conclusion: Conclusion | None = None
    candidates: tuple[Candidate, ...] = ()
    records: tuple[AxesRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """
    One iteration with all figures settled; None means unknown, and unknown never satisfies a rule.

    `orthogonality_lexical` is None where no axes were reported. `new_perspective` is the axis that
    the forcing answer names, None if it is a known one.
    """

    iteration: int
    orthogonality: float | None
    orthogonality_given: float | None
    orthogonality_lexical: float | None
    new_axes: tuple[str, ...]
    axes: tuple[str, ...]
    d_current: int
    d_current_given: int | None
    streak: int
    delta_coverage: float | None
    delta_sem: float | None
    confidence: float | None
    candidates: tuple[Candidate, ...]
    sensitivity: Sensitivity | None
    forcing: Forcing | None
    new_perspective: str | None
    axes_remaining_estimate: int | None
    keywords: frozenset[str]
    conclusion: Conclusion | None


def observe(
    state: RegimeState, iteration: Iteration, params: RegimeParams, similarity: Similarity
) -> Observation:
    epsilon = params.orthogonality_epsilon
    novelty = judge_axes(iteration.axes or (), state.axes, epsilon, similarity)
    axes = (*state.axes, *novelty.joined)
    orthogonality = orthogonality_of(iteration.orthogonality, iteration.axes, novelty.orthogonality)
    forced = iteration.forcing.axis if iteration.forcing else None
    saturated = orthogonality is not None and below(orthogonality, epsilon)
    return Observation(
        iteration=state.iterations + 1,
        orthogonality=orthogonality,
        orthogonality_given=iteration.orthogonality,
        orthogonality_lexical=novelty.orthogonality if iteration.axes is not None else None,
        new_axes=novelty.joined,
        axes=axes,
        d_current=_dimension(state, iteration, len(novelty.joined)),
        d_current_given=iteration.d_current,
        streak=state.streak + 1 if saturated else 0,
        delta_coverage=_delta_coverage(state, iteration),
        delta_sem=_delta_sem(state, iteration),
        confidence=iteration.confidence,
        candidates=_merge(state.candidates, iteration.candidates or ()),
        sensitivity=iteration.sensitivity,
        forcing=iteration.forcing,
        new_perspective=forced if forced and is_new(forced, axes, epsilon, similarity) else None,
        axes_remaining_estimate=iteration.axes_remaining_estimate,
        keywords=state.keywords | keywords(iteration.text or ""),
        conclusion=_latest_conclusion(state, iteration),
    )


def remember(state: RegimeState, seen: Observation) -> RegimeState:
    return replace(
        state,
        iterations=seen.iteration,
        axes=seen.axes,
        dimension=seen.d_current,
        streak=seen.streak,
        keywords=seen.keywords,
        conclusion=seen.conclusion,
        candidates=seen.candidates,
    )


def _dimension(state: RegimeState, iteration: Iteration, joined: int) -> int:
    if iteration.d_current is None:
        return state.dimension + joined
    return max(state.dimension, iteration.d_current)


def _delta_coverage(state: RegimeState, iteration: Iteration) -> float | None:
    if iteration.delta_coverage is not None:
        return iteration.delta_coverage
    if state.iterations == 0:
        return 1.0
    if iteration.text is None:
        return None
    return coverage_change(keywords(iteration.text), state.keywords)


def _delta_sem(state: RegimeState, iteration: Iteration) -> float | None:
    if iteration.delta_sem is not None:
        return iteration.delta_sem
    if state.iterations == 0:
        return 1.0
    if iteration.conclusion is None:
        return None
    if state.conclusion is None:
        return 0.0 if iteration.conclusion == STABLE else 1.0
    return conclusion_change(state.conclusion, iteration.conclusion)


def _latest_conclusion(state: RegimeState, iteration: Iteration) -> Conclusion | None:
    if iteration.conclusion is None or iteration.conclusion == STABLE:
        return state.conclusion
    return iteration.conclusion


def _merge(known: tuple[Candidate, ...], latest: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Candidates accumulate by id in the order first seen; the latest score stands."""
    by_id = {candidate.id: candidate for candidate in (*known, *latest)}
    return tuple(by_id.values())


def conclusion_change(before: Conclusion, now: Conclusion) -> float:
    """
    Structural difference of two conclusions.

    Words of one letter count here, unlike in coverage: "option A" and "option B" differ.
    A conclusion that changes its form, from fields to text or back, changes wholly.
    """
    if now == STABLE:
        return 0.0
    if isinstance(before, str) and isinstance(now, str):
        return 1.0 - jaccard(words(before), words(now))
    if isinstance(before, dict) and isinstance(now, dict):
        return _field_change(before, now)
    return 1.0


def _field_change(before: Mapping[str, JsonValue], now: Mapping[str, JsonValue]) -> float:
    keys = before.keys() | now.keys()
    kept = [key for key in before.keys() & now.keys() if before[key] == now[key]]
    return (len(keys) - len(kept)) / max(1, len(keys))


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
