"""Corrections by the validator and by the Stage 2 reviewers, each on a draft of Stage 1."""

from collections.abc import Sequence

from parley.bus.contracts.absa.review import (
    AspectReviewItem,
    CorrectionLogEntry,
    SentimentReviewItem,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    CorrectionProposal,
    Polarity,
    Span,
    Term,
)
from parley.coordinator.protocols.absa.rules.override import Draft
from parley.coordinator.protocols.absa.rules.postprocess import NOT_SUBSTRING

FLIP_POLARITY = "FLIP_POLARITY"
DROP_ASPECT = "DROP_ASPECT"
REVISE_SPAN = "REVISE_SPAN"
RESOLVING = frozenset({FLIP_POLARITY, DROP_ASPECT, REVISE_SPAN})
ATE_REVIEW = "STAGE2_ATE_REVIEW"
ATSA_REVIEW = "STAGE2_ATSA_REVIEW"

CORRECTED_CONFIDENCE = 0.9
CORRECTED_SHARE = 0.9
OLD_SHARE = 0.1
ADDED_ASPECT_CONFIDENCE = 0.8

KEPT, UNKNOWN_ASPECT = "", "unknown aspect"
CANNOT_FLIP = "cannot flip neutral"
NO_SPAN = "no revised_span"
NO_EFFECT = "no effect"
OUT_OF_RANGE = "revised_span out of range"
ALREADY_THERE = "already there"


def apply_proposal(draft: Draft, proposal: CorrectionProposal) -> CorrectionLogEntry:
    """A proposal of the Stage 1 validator. Types without an effect are logged as not applied."""
    match proposal.proposal_type:
        case "FLIP_POLARITY":
            problem, polarity = _flip_first(draft, proposal.target_aspect)
        case "DROP_ASPECT":
            problem, polarity = _drop_aspect(draft, proposal.target_aspect), None
        case "REVISE_SPAN":
            problem = _revise_span(draft, proposal.target_aspect, proposal.revised_span)
            polarity = None
        case _:
            problem, polarity = NO_EFFECT, None
    return CorrectionLogEntry(
        proposal_type=proposal.proposal_type,
        target_aspect=proposal.target_aspect,
        rationale=proposal.rationale,
        applied=not problem,
        reason=problem or "applied",
        resulting_polarity=polarity,
    )


def apply_aspect_review(draft: Draft, item: AspectReviewItem) -> CorrectionLogEntry | None:
    """None when the reviewer keeps the aspect as it is."""
    match item.action:
        case "drop" | "remove":
            problem = _drop_aspect(draft, item.term)
        case "revise_span" | "revise":
            problem = _revise_span(draft, item.term, item.revised_span)
        case "add":
            problem = _add_aspect(draft, item)
        case _:
            return None
    return CorrectionLogEntry(
        proposal_type=ATE_REVIEW,
        target_aspect=item.term,
        rationale=item.reason,
        applied=not problem,
        reason=_verdict(item.action, problem),
    )


def apply_sentiment_review(draft: Draft, item: SentimentReviewItem) -> CorrectionLogEntry | None:
    """None when the reviewer keeps the sentiments as they are."""
    polarity: Polarity | None = None
    match item.action:
        case "drop" | "remove":
            problem = _drop_sentiments(draft, item.aspect_ref)
        case "add":
            problem, polarity = _add_sentiment(draft, item), item.revised_polarity
        case "flip_polarity":
            problem, polarity = _flip_all(draft, item.aspect_ref, item.revised_polarity)
        case _:
            return None
    return CorrectionLogEntry(
        proposal_type=ATSA_REVIEW,
        target_aspect=item.aspect_ref,
        rationale=item.reason,
        applied=not problem,
        reason=_verdict(item.action, problem),
        resulting_polarity=None if problem else polarity,
    )


def corrected(sentiment: AspectSentiment, new: Polarity) -> AspectSentiment:
    shares = {new.value: CORRECTED_SHARE}
    if sentiment.polarity is not None and sentiment.polarity is not new:
        shares[sentiment.polarity.value] = OLD_SHARE
    return sentiment.model_copy(
        update={
            "polarity": new,
            "confidence": max(sentiment.confidence, CORRECTED_CONFIDENCE),
            "polarity_distribution": shares,
        }
    )


def _of_aspect(draft: Draft, aspect: str) -> Sequence[AspectSentiment]:
    return [sentiment for sentiment in draft.sentiments if sentiment.key == aspect]


def _flip_first(draft: Draft, aspect: str) -> tuple[str, Polarity | None]:
    found = _of_aspect(draft, aspect)
    if not found:
        return UNKNOWN_ASPECT, None
    opposite = found[0].polarity.opposite if found[0].polarity is not None else None
    if opposite is None:
        return CANNOT_FLIP, None
    draft.replace(found[0], corrected(found[0], opposite))
    return KEPT, opposite


def _flip_all(draft: Draft, aspect: str, wanted: Polarity | None) -> tuple[str, Polarity | None]:
    found = _of_aspect(draft, aspect)
    new = wanted
    for sentiment in found:
        opposite = sentiment.polarity.opposite if sentiment.polarity is not None else None
        new = wanted or opposite or Polarity.NEGATIVE
        draft.replace(sentiment, corrected(sentiment, new))
    return (KEPT if found else UNKNOWN_ASPECT), new


def _drop_aspect(draft: Draft, aspect: str) -> str:
    if not draft.has_aspect(aspect) and not _of_aspect(draft, aspect):
        return UNKNOWN_ASPECT
    draft.aspects = [item for item in draft.aspects if item.term != aspect]
    draft.dropped.add(aspect)
    _drop_sentiments(draft, aspect)
    return KEPT


def _drop_sentiments(draft: Draft, aspect: str) -> str:
    kept = [sentiment for sentiment in draft.sentiments if sentiment.key != aspect]
    problem = KEPT if len(kept) < len(draft.sentiments) else UNKNOWN_ASPECT
    draft.sentiments = kept
    return problem


def _revise_span(draft: Draft, aspect: str, span: Span | None) -> str:
    if not draft.has_aspect(aspect):
        return UNKNOWN_ASPECT
    if span is None:
        return NO_SPAN
    if not _lies_within(span, draft.text):
        return OUT_OF_RANGE
    draft.aspects = [
        item.model_copy(update={"span": span}) if item.term == aspect else item
        for item in draft.aspects
    ]
    return KEPT


def _add_aspect(draft: Draft, item: AspectReviewItem) -> str:
    if item.revised_span is None:
        return NO_SPAN
    if not item.term or item.term not in draft.text:
        return NOT_SUBSTRING
    if not _lies_within(item.revised_span, draft.text):
        return OUT_OF_RANGE
    if draft.has_aspect(item.term):
        return ALREADY_THERE
    draft.aspects.append(
        AspectItem(
            term=item.term,
            span=item.revised_span,
            confidence=ADDED_ASPECT_CONFIDENCE,
            rationale=with_provenance(item.reason, item.provenance),
        )
    )
    draft.dropped.discard(item.term)
    return KEPT


def _add_sentiment(draft: Draft, item: SentimentReviewItem) -> str:
    if item.revised_polarity is None:
        return "no revised_polarity"
    if _of_aspect(draft, item.aspect_ref):
        return ALREADY_THERE
    span = next((aspect.span for aspect in draft.aspects if aspect.term == item.aspect_ref), None)
    draft.sentiments.append(
        AspectSentiment(
            aspect_ref=item.aspect_ref,
            aspect_term=Term(term=item.aspect_ref, span=span),
            polarity=item.revised_polarity,
            evidence=with_provenance(item.reason, item.provenance),
            confidence=CORRECTED_CONFIDENCE,
            polarity_distribution={item.revised_polarity.value: CORRECTED_SHARE},
        )
    )
    return KEPT


def _lies_within(span: Span, text: str) -> bool:
    return span.start < span.end <= len(text)


def with_provenance(reason: str, provenance: str) -> str:
    """The reason of something added says once where it comes from."""
    if not provenance or "source:" in reason:
        return reason
    return f"{reason} | {provenance}"


def _verdict(action: str, problem: str) -> str:
    return f"{action}: {problem}" if problem else action
