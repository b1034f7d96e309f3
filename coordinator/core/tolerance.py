"""Comparisons of scores with thresholds. Plain floats would make `0.6 - 0.4 >= 0.2` false."""

EPS = 1e-9


def below(x: float, threshold: float) -> bool:
    return x < threshold - EPS


def above(x: float, threshold: float) -> bool:
    return x > threshold + EPS


def at_least(x: float, threshold: float) -> bool:
    return x >= threshold - EPS
