"""
Sparse weights that learn: AdaGrad with an L1 penalty that is paid when a feature is next seen.

Late payment makes a step cost only what the example holds. The mean over the last epochs is what is
kept: it varies less with the order of the examples than the last values do.
"""

from math import sqrt


class SparseRows:
    """Feature → a row of `width` weights."""

    def __init__(self, names: set[str], width: int, rate: float, penalty: float) -> None:
        self.width = width
        self.rows: dict[str, list[float]] = {name: [0.0] * width for name in sorted(names)}
        self._rate = rate
        self._penalty = penalty
        self._squares = {name: [0.1] * width for name in self.rows}
        self._paid = dict.fromkeys(self.rows, 0.0)
        self._sums = {name: [0.0] * width for name in self.rows}
        self._snapshots = 0

    def update(self, name: str, gradient: list[float], epoch: float) -> None:
        """`epoch` is the time in epochs, fractions included."""
        row, squares = self.rows[name], self._squares[name]
        due = self._penalty * (epoch - self._paid[name])
        self._paid[name] = epoch
        for k, slope in enumerate(gradient):
            squares[k] += slope * slope
            rate = self._rate / sqrt(squares[k])
            row[k] = shrunk(row[k] - rate * slope, rate * due)

    def snapshot(self) -> None:
        self._snapshots += 1
        for name, row in self.rows.items():
            sums = self._sums[name]
            for k, weight in enumerate(row):
                sums[k] += weight

    def mean(self) -> dict[str, tuple[float, ...]]:
        return {
            name: tuple(weight / self._snapshots for weight in sums)
            for name, sums in self._sums.items()
        }


def shrunk(weight: float, by: float) -> float:
    if weight > by:
        return weight - by
    return weight + by if weight < -by else 0.0
