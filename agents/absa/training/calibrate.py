"""
Fitting confidence to correctness, by maximum likelihood on sentences the models never saw.

A chance is passed through `slope * logit + offset` (Platt); the logits of a polarity are divided by
a temperature. Both are found by golden-section search and Newton steps: no library needed.
"""

from collections.abc import Callable, Sequence
from math import exp, log

from parley.agents.absa.english.maxent import Triple
from parley.agents.absa.english.model import tempered

_GOLDEN = 0.6180339887498949
_EDGE = 1e-6
_BINS = 10
_STEPS = 60


def fit_temperature(logits: Sequence[Triple], labels: Sequence[int]) -> float:
    def loss(temperature: float) -> float:
        return -sum(
            log(max(_EDGE, tempered(row, temperature)[label]))
            for row, label in zip(logits, labels, strict=True)
        )

    return _smallest(loss, 0.3, 4.0)


def fit_scale(chances: Sequence[float], right: Sequence[bool]) -> tuple[float, float]:
    """Slope and offset for the logit of a chance."""
    features = [_logit(chance) for chance in chances]
    slope, offset = 1.0, 0.0
    for _ in range(_STEPS):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for x, hit in zip(features, right, strict=True):
            p = 1.0 / (1.0 + exp(-(slope * x + offset)))
            error, weight = p - hit, p * (1.0 - p)
            g0 += error * x
            g1 += error
            h00 += weight * x * x
            h01 += weight * x
            h11 += weight
        determinant = h00 * h11 - h01 * h01 + _EDGE
        slope -= (h11 * g0 - h01 * g1) / determinant
        offset -= (h00 * g1 - h01 * g0) / determinant
    return slope, offset


def calibration_error(chances: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error: mean gap between confidence and correctness over equal bins."""
    groups: list[list[tuple[float, bool]]] = [[] for _ in range(_BINS)]
    for chance, hit in zip(chances, right, strict=True):
        groups[min(_BINS - 1, int(chance * _BINS))].append((chance, hit))
    gaps = (
        abs(sum(c for c, _ in group) - sum(hit for _, hit in group)) for group in groups if group
    )
    return sum(gaps) / max(1, len(chances))


def _logit(chance: float) -> float:
    inside = min(1.0 - _EDGE, max(_EDGE, chance))
    return log(inside / (1.0 - inside))


def _smallest(loss: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_STEPS):
        left = high - _GOLDEN * (high - low)
        right = low + _GOLDEN * (high - low)
        if loss(left) < loss(right):
            high = right
        else:
            low = left
    return (low + high) / 2
