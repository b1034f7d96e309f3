"""How strongly the hints on one aspect pull, and where to."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from parley.bus.contracts.absa.gate import HintSample
from parley.bus.contracts.absa.review import AspectHint
from parley.bus.contracts.absa.sentiment import Polarity
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import above
from parley.coordinator.protocols.absa.rules.polarity import Reading, ReadPolarity, read_polarity

SAMPLED_HINTS = 5
# Few are written in more than a dozen ways.
_CACHED_SAMPLES = 256


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
    readings = [item.reading for item in read]
    favour = _weights(read, hints, Polarity.POSITIVE)
    against = _weights(read, hints, Polarity.NEGATIVE)
    return Scores(
        pos=total_of(favour),
        neg=total_of(against),
        valid=len(favour) + len(against),
        invalid=readings.count(Reading.INVALID),
        repaired=readings.count(Reading.REPAIRED),
        sample=tuple(
            _sample(hint.polarity_hint, item.polarity)
            for item, hint in zip(read[:SAMPLED_HINTS], hints, strict=False)
        ),
    )


def _weights(
    read: Sequence[ReadPolarity], hints: Sequence[AspectHint], wanted: Polarity
) -> list[float]:
    both = zip(read, hints, strict=True)
    return [hint.weight for item, hint in both if item.polarity is wanted]


@lru_cache(maxsize=_CACHED_SAMPLES)
def _sample(raw: str | None, canon: Polarity | None) -> HintSample:
    return HintSample(raw=raw, canon=canon)
