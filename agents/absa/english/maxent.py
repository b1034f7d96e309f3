"""A log-linear choice between the three polarities."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp

from parley.bus.contracts.absa.sentiment import Polarity

Triple = tuple[float, float, float]
POLARITIES = (Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL)


@dataclass(frozen=True, slots=True)
class MaxEnt:
    """`rows`: feature → its weight for positive, negative, neutral."""

    rows: dict[str, Triple]

    def logits(self, names: Iterable[str]) -> Triple:
        positive = negative = neutral = 0.0
        rows = self.rows
        for name in names:
            row = rows.get(name)
            if row:
                positive += row[0]
                negative += row[1]
                neutral += row[2]
        return positive, negative, neutral


def softmax(logits: Triple) -> Triple:
    top = max(logits)
    positive, negative, neutral = (exp(value - top) for value in logits)
    total = positive + negative + neutral
    return positive / total, negative / total, neutral / total
