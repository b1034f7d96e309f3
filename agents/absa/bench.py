"""
What a persona of the debate has before it: Stage 1's tuples, each with a second look of its own.

Stage 1 may come from any brain, so nothing is taken for granted: a term may be missing, spelt
differently, named twice or not in the text at all.
"""

from dataclasses import dataclass
from functools import lru_cache

from typing_extensions import override

from parley.agents.absa.reading import POLARITIES, Chances, Look, Place, chance_of, pooled
from parley.agents.absa.text_reading import TextReading
from parley.bus.contracts.absa.debate import SharedContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    Span,
    Term,
)

# The second look rests on words it can name, so it counts more than the first (validation split).
SECOND_WEIGHT = 2.0
# How sure Stage 1 is taken to be where it gives no distribution of its own.
_LEAST_CHANCE = 0.02
_UNSURE: Chances = (1 / 3, 1 / 3, 1 / 3)
_CACHED_CASES = 64


@dataclass(frozen=True, slots=True)
class Holding:
    """
    A tuple of Stage 1. `place` is None when its term does not stand in the text.

    `belief` pools Stage 1's chances with those of the second look.
    """

    key: str
    place: Place | None
    polarity: Polarity | None
    likelihood: float
    second: Look
    belief: Chances

    @property
    def best(self) -> Polarity:
        return POLARITIES[self.belief.index(max(self.belief))]

    @property
    def gain(self) -> float:
        """How much likelier the best polarity is than the one held."""
        if self.polarity is None:
            return max(self.belief)
        return max(self.belief) - chance_of(self.belief, self.polarity)


def holdings(reading: TextReading, context: SharedContext) -> tuple[Holding, ...]:
    """In Stage 1's order."""
    return _held(_Case(reading, context.stage1_aspects, context.stage1_aspect_sentiments))


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """What Stage 1 says of a text: the personas of a debate are given the same one after another."""

    reading: TextReading
    aspects: tuple[AspectItem, ...]
    sentiments: tuple[AspectSentiment, ...]

    @override
    def __hash__(self) -> int:
        return hash(self.reading.text)

    @override
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Case)
            and self.reading is other.reading
            and self.aspects == other.aspects
            and self.sentiments == other.sentiments
        )


@lru_cache(maxsize=_CACHED_CASES)
def _held(case: _Case) -> tuple[Holding, ...]:
    reading, sentiments = case.reading, case.sentiments
    aspects = {item.term: item for item in case.aspects}
    places = [_place(reading, item, aspects) for item in sentiments]
    looks = reading.second_looks([place for place in places if place is not None])
    remaining = iter(looks)
    return tuple(
        _holding(reading, item, place, next(remaining) if place else Look(_UNSURE), aspects)
        for item, place in zip(sentiments, places, strict=True)
    )


def evidence_text(reading: TextReading, look: Look) -> str | None:
    return reading.quote(look.evidence.place) if look.evidence else None


def _holding(
    reading: TextReading,
    item: AspectSentiment,
    place: Place | None,
    look: Look,
    aspects: dict[str, AspectItem],
) -> Holding:
    known = aspects.get(item.key)
    own = reading.likelihood(place) if place else 0.0
    stated = known.confidence if known else 0.0
    return Holding(
        item.key,
        place,
        item.polarity,
        own if own > 0.0 else min(stated, _LEAST_CHANCE),
        look,
        pooled(_stated(item), look.chances, SECOND_WEIGHT),
    )


def _place(
    reading: TextReading, item: AspectSentiment, aspects: dict[str, AspectItem]
) -> Place | None:
    span: Span | None = None
    if isinstance(item.aspect_term, Term):
        span = item.aspect_term.span
    known = aspects.get(item.key)
    if span is None and known is not None:
        span = known.span
    claimed = Place(span.start, span.end) if span else None
    return reading.locate(item.key, claimed)


def _stated(item: AspectSentiment) -> Chances:
    """Stage 1's own chances, or what its polarity and confidence amount to."""
    if item.is_backfilled or item.polarity is None:
        return _UNSURE
    given = [item.polarity_distribution.get(polarity.value, 0.0) for polarity in POLARITIES]
    if sum(chance > 0.0 for chance in given) <= 1:
        rest = (1.0 - item.confidence) / 2
        given = [
            max(item.confidence, 1 / 3) if polarity is item.polarity else rest
            for polarity in POLARITIES
        ]
    floored = [max(_LEAST_CHANCE, chance) for chance in given]
    total = sum(floored)
    return floored[0] / total, floored[1] / total, floored[2] / total
