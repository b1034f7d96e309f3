"""What an override does to the sentiments of one aspect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parley.bus.contracts.absa.gate import OverrideAction
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity, Span, Term
from parley.coordinator.core.tolerance import at_least

PROPOSAL_TYPE = "DEBATE_OVERRIDE"
EVIDENCE = "debate_override"
TARGET_SHARE = 0.8
OLD_SHARE = 0.2


@dataclass(slots=True)
class Draft:
    """Aspects and sentiments while corrections are being applied; `dropped` names aspects removed."""

    text: str
    aspects: list[AspectItem]
    sentiments: list[AspectSentiment]
    dropped: set[str] = field(default_factory=set)

    def has_aspect(self, term: str) -> bool:
        return any(aspect.term == term for aspect in self.aspects)

    def replace(self, old: AspectSentiment, new: AspectSentiment) -> None:
        """By identity: two sentiments may be equal and still be two."""
        self.sentiments = [new if item is old else item for item in self.sentiments]


def located(text: str, term: str, confidence: float) -> AspectItem:
    """An aspect at its first place in the text, which must contain it."""
    start = text.index(term)
    return AspectItem(
        term=term, span=Span(start=start, end=start + len(term)), confidence=confidence
    )


def already_confident(sentiment: AspectSentiment, target: Polarity, floor: float) -> bool:
    return sentiment.polarity is target and at_least(sentiment.confidence, floor)


def add_sentiment(
    draft: Draft, aspect: str, target: Polarity, confidence: float
) -> CorrectionLogEntry:
    """Without an aspect to stand on, the new sentiment falls to the anchor guard later."""
    known = draft.has_aspect(aspect) or aspect in draft.dropped
    if aspect and not known and aspect in draft.text:
        draft.aspects.append(located(draft.text, aspect, confidence))
    span = next((item.span for item in draft.aspects if item.term == aspect), None)
    draft.sentiments.append(
        AspectSentiment(
            aspect_ref=aspect,
            aspect_term=Term(term=aspect, span=span),
            polarity=target,
            evidence=EVIDENCE,
            confidence=confidence,
            polarity_distribution={target.value: TARGET_SHARE},
        )
    )
    return _entry(aspect, target, OverrideAction.ADD.value)


def flip_sentiments(
    draft: Draft, candidates: Sequence[AspectSentiment], target: Polarity, floor: float
) -> Iterator[CorrectionLogEntry]:
    for old in candidates:
        if already_confident(old, target, floor):
            continue
        shares = {target.value: TARGET_SHARE}
        if old.polarity is not None and old.polarity is not target:
            shares[old.polarity.value] = OLD_SHARE
        draft.replace(
            old,
            old.model_copy(
                update={
                    "polarity": target,
                    "confidence": max(old.confidence, floor),
                    "polarity_distribution": shares,
                }
            ),
        )
        was = old.polarity.value if old.polarity is not None else None
        yield _entry(old.key, target, f"{OverrideAction.FLIP.value} {was}->{target.value}")


def _entry(aspect: str, target: Polarity, reason: str) -> CorrectionLogEntry:
    return CorrectionLogEntry(
        proposal_type=PROPOSAL_TYPE,
        target_aspect=aspect,
        rationale=f"debate_hint {target.value}",
        applied=True,
        reason=reason,
        resulting_polarity=target,
    )
