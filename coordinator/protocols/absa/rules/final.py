"""The tuples a sample ends with."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.debate import SentimentTuple
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    Term,
    term_text,
)
from parley.bus.errors import ProtocolError
from parley.coordinator.protocols.absa.rules.override import located
from parley.coordinator.protocols.absa.rules.polarity import canonical

ALIGNED_CONFIDENCE = 0.7
ALIGNED_SHARE = 0.9


class PolarityContractViolation(ProtocolError):
    """A final tuple has no polarity of the contract; the sample fails and says so."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """The debate's set as sentiments, and its tuples that could not be taken."""

    sentiments: tuple[AspectSentiment, ...]
    left_out: tuple[SentimentTuple, ...]


def tuple_key(aspect: str) -> str:
    """Aspects of tuples are compared trimmed, lower-cased and without spaces."""
    return "".join(aspect.split()).lower()


def align_to_debate(
    text: str, tuples: Sequence[SentimentTuple], stage2: Sequence[AspectSentiment]
) -> Alignment:
    """Exactly the debate's set; only what names no polarity or nothing in the text is left out."""
    taken: dict[tuple[str, Polarity], AspectSentiment] = {}
    left_out: list[SentimentTuple] = []
    for item in tuples:
        polarity = canonical(item.polarity)
        base = _sentiment_of(text, item.key, stage2)
        if polarity is None or base is None:
            left_out.append(item)
        else:
            taken.setdefault((tuple_key(item.key), polarity), _aligned(base, polarity))
    return Alignment(tuple(taken.values()), tuple(left_out))


def kept_sentiments(
    aspects: Sequence[AspectItem], sentiments: Sequence[AspectSentiment]
) -> tuple[AspectSentiment, ...]:
    terms = {aspect.term for aspect in aspects}
    return tuple(sentiment for sentiment in sentiments if sentiment.key in terms)


def build_final_aspects(sentiments: Sequence[AspectSentiment]) -> tuple[AspectSentiment, ...]:
    """Sentiments as they stand in the result; what is only implied has no term in the text."""
    return tuple(
        sentiment.model_copy(
            update={"aspect_ref": sentiment.key, "aspect_term": _term_of(sentiment)}
        )
        for sentiment in sentiments
    )


def _term_of(sentiment: AspectSentiment) -> Term | str | None:
    if sentiment.is_implicit:
        return Term()
    if term_text(sentiment.aspect_term):
        return sentiment.aspect_term
    return Term(term=sentiment.key)


def build_tuples(sentiments: Sequence[AspectSentiment]) -> tuple[SentimentTuple, ...]:
    """As a stage has them, polarity missing or not."""
    return tuple(
        SentimentTuple(
            aspect_ref=sentiment.key,
            aspect_term=term_text(_term_of(sentiment)),
            polarity=sentiment.polarity,
        )
        for sentiment in sentiments
    )


def build_final_tuples(sentiments: Sequence[AspectSentiment]) -> tuple[SentimentTuple, ...]:
    for sentiment in sentiments:
        if sentiment.polarity is None:
            raise PolarityContractViolation(
                f"the final tuple of {sentiment.key!r} has no polarity: "
                "positive, negative or neutral is required"
            )
    return build_tuples(sentiments)


def _sentiment_of(
    text: str, aspect: str, stage2: Sequence[AspectSentiment]
) -> AspectSentiment | None:
    wanted = tuple_key(aspect)
    if not wanted:
        return None
    for sentiment in stage2:
        if tuple_key(sentiment.key) == wanted:
            return sentiment
    term = aspect.strip()
    if term not in text:
        return None
    span = located(text, term, ALIGNED_CONFIDENCE).span
    return AspectSentiment(
        aspect_ref=term,
        aspect_term=Term(term=term, span=span),
        confidence=ALIGNED_CONFIDENCE,
        evidence="debate_final_tuple",
    )


def _aligned(sentiment: AspectSentiment, polarity: Polarity) -> AspectSentiment:
    return sentiment.model_copy(
        update={
            "polarity": polarity,
            "confidence": max(sentiment.confidence, ALIGNED_CONFIDENCE),
            "polarity_distribution": {polarity.value: ALIGNED_SHARE},
        }
    )
