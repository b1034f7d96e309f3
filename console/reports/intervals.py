"""How far figures of a sample can be trusted: 95 % intervals, the same every time they are computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import fmean

from parley.bus.contracts.base import Contract

# Of the normal distribution, for 95 %.
Z = 1.959964
RESAMPLES = 2000
SEED = 20_260
METHODS = (
    "Shares have 95 % Wilson score intervals; differences between variants 95 % percentile intervals"
    f" of a paired bootstrap ({RESAMPLES} resamples, seed {SEED})."
)


class Interval(Contract):
    low: float
    high: float


class ShareOf(Contract):
    """`right` of `of`; the share is None of nothing."""

    right: int
    of: int
    share: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Difference:
    mean: float
    interval: Interval


def in_points(mean: float, interval: Interval) -> str:
    """Of a difference between shares: `+2.1 [+0.3, +3.9]`."""
    return f"{100 * mean:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def share_of(right: int, of: int) -> ShareOf:
    if of == 0:
        return ShareOf(right=right, of=of, share=None, interval=None)
    return ShareOf(right=right, of=of, share=right / of, interval=wilson(right, of))


def wilson(right: int, of: int) -> Interval:
    share = right / of
    centre = share + Z * Z / (2 * of)
    spread = Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    whole = 1 + Z * Z / of
    return Interval(
        low=max(0.0, (centre - spread) / whole), high=min(1.0, (centre + spread) / whole)
    )


def paired_difference(differences: Sequence[float]) -> Difference | None:
    """The mean of differences between pairs; None of none."""
    if not differences:
        return None
    chance = Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    count = len(differences)
    means = sorted(fmean(chance.choices(differences, k=count)) for _ in range(RESAMPLES))
    cut = round(0.025 * RESAMPLES)
    return Difference(
        mean=fmean(differences), interval=Interval(low=means[cut], high=means[-cut - 1])
    )
