"""How strongly the hints on one aspect pull, and where to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.gate import HintSample
from parley.bus.contracts.absa.review import AspectHint
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.absa.polarity import Reading, read_polarity
from parley.coordinator.tolerance import above

SAMPLED_HINTS = 5


@dataclass(frozen=True, slots=True)
class Scores:
    pos: float
    neg: float
    valid: int
    invalid: int
    repaired: int
    sample: tuple[HintSample, ...]

    @property
    def total(self) -> float:
        return self.pos + self.neg

    @property
    def margin(self) -> float:
        return abs(self.pos - self.neg)

    @property
    def target(self) -> Polarity:
        return Polarity.POSITIVE if above(self.pos, self.neg) else Polarity.NEGATIVE


def score_hints(hints: Sequence[AspectHint], *, repair: bool) -> Scores:
    read = [read_polarity(hint.polarity_hint, repair=repair) for hint in hints]
    readings = Counter(item.reading for item in read)
    weighed = [(item.polarity, hint.weight) for item, hint in zip(read, hints, strict=True)]
    return Scores(
        pos=_sum(weighed, Polarity.POSITIVE),
        neg=_sum(weighed, Polarity.NEGATIVE),
        valid=sum(polarity in (Polarity.POSITIVE, Polarity.NEGATIVE) for polarity, _ in weighed),
        invalid=readings[Reading.INVALID],
        repaired=readings[Reading.REPAIRED],
        sample=tuple(
            HintSample(raw=hint.polarity_hint, canon=item.polarity)
            for item, hint in zip(read, hints, strict=True)
        )[:SAMPLED_HINTS],
    )


def _sum(weighed: Iterable[tuple[Polarity | None, float]], wanted: Polarity) -> float:
    return sum(weight for polarity, weight in weighed if polarity is wanted)
