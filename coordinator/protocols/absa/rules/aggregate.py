"""One label for a sentence out of the sentiments of its aspects."""

from collections.abc import Iterable, Sequence

from parley.bus.contracts.absa.moderator import SpanLabel, StageLabel
from parley.bus.contracts.absa.params import StageLabelRule
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    Span,
    Term,
)
from parley.coordinator.core.tolerance import above

MISSING_POLARITY = "[missing polarity]"


def strongest(sentiments: Iterable[AspectSentiment]) -> AspectSentiment | None:
    """The most confident one; the first of several that are equally so."""
    best: AspectSentiment | None = None
    for sentiment in sentiments:
        if best is None or above(sentiment.confidence, best.confidence):
            best = sentiment
    return best


def sentence_label(
    sentiments: Sequence[AspectSentiment], rule: StageLabelRule = "common"
) -> StageLabel:
    label = span_label(sentiments, (), rule)
    return StageLabel(label=label.label, confidence=label.confidence, note=label.note)


def span_label(
    sentiments: Sequence[AspectSentiment],
    aspects: Sequence[AspectItem],
    rule: StageLabelRule = "common",
) -> SpanLabel:
    """
    The sentence's label with the place of the aspect that decided it.

    By `common` it is mixed where both poles stand, as sure as the weaker pole and of no place; else
    their one polarity. Neutral and missing ones count where nothing else stands.
    """
    positive = strongest(one for one in sentiments if one.polarity is Polarity.POSITIVE)
    negative = strongest(one for one in sentiments if one.polarity is Polarity.NEGATIVE)
    if rule == "common" and positive is not None and negative is not None:
        return SpanLabel(label="mixed", confidence=min(positive.confidence, negative.confidence))
    polar = (positive or negative) if rule == "common" else None
    best = polar or strongest(sentiments)
    if best is None:
        return SpanLabel(label="neutral", confidence=0.0)
    span = _span(best, aspects)
    if best.polarity is None:
        return SpanLabel(
            label="neutral", confidence=best.confidence, note=MISSING_POLARITY, span=span
        )
    return SpanLabel(label=best.polarity.value, confidence=best.confidence, span=span)


def _span(sentiment: AspectSentiment, aspects: Sequence[AspectItem]) -> Span | None:
    for aspect in aspects:
        if aspect.term == sentiment.key:
            return aspect.span
    return sentiment.aspect_term.span if isinstance(sentiment.aspect_term, Term) else None
