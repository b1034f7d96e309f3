"""
Whether one variant is better than another, or only luckier: paired tests, the same every time.

Pairs are about the same input; where a run was repeated, an input counts once, by its mean.
"""

from collections.abc import Callable, Sequence
from math import comb
from random import Random
from typing import TypeVar

from parley.console.reports.intervals import RESAMPLES, SEED

PairT = TypeVar("PairT")


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact and two-sided: `only_first` inputs were right in the first variant alone."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def bootstrap_p(
    pairs: Sequence[PairT],
    difference: Callable[[Sequence[PairT]], float],
    resamples: int = RESAMPLES,
) -> float:
    """
    Two-sided: how often a difference drawn anew from the same pairs lies on the other side of zero.

    Never 0: the drawing itself counts as one more resample.
    """
    if not pairs or difference(pairs) == 0:
        return 1.0
    chance = Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    sign = 1 if difference(pairs) > 0 else -1
    beyond = sum(
        sign * difference(chance.choices(pairs, k=len(pairs))) <= 0 for _ in range(resamples)
    )
    return min(1.0, 2 * (beyond + 1) / (resamples + 1))
