"""
Sums of floats on which every Python agrees.

From 3.12 on `sum` makes up for what rounding loses: what one Python has decided would not verify on
another.
"""

from collections.abc import Iterable


def total_of(values: Iterable[float]) -> float:
    total: float = 0
    for value in values:
        total += value
    return total
