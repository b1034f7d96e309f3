"""
What a model fills in when it reviews Stage 1, and what becomes of it.

A reviewer reviews: an answer that brings aspects or sentiments of its own is refused.
"""

from typing import Annotated

from pydantic import Field, model_validator

from parley.agents.llm.absa.ground import POLARITIES, Ground, PolarityWord, not_in_text, polarity_of
from parley.agents.llm.absa.stage1_forms import unknown_aspect
from parley.agents.llm.question import Form
from parley.agents.llm.quotes import wording
from parley.agents.llm.text_fields import MOST_ITEMS, Line, Name, Portion, name, settled, tidy
from parley.bus.contracts.absa.requests import ReviewRequest
from parley.bus.contracts.absa.review import (
    AspectReviewItem,
    AteReview,
    AtsaReview,
    SentimentReviewItem,
)
from parley.bus.contracts.absa.sentiment import (
    FinalValidation,
    FinalValidationOutput,
    Polarity,
)

KEEP, REVISE, DROP, ADD = "keep", "revise_span", "drop", "add"
MAINTAIN, FLIP = "maintain", "flip_polarity"
ASPECT_ACTIONS = (KEEP, REVISE, DROP, ADD)
SENTIMENT_ACTIONS = (MAINTAIN, FLIP, DROP, ADD)
FORBIDDEN = ("aspects", "aspect_sentiments")

AspectAction = Annotated[str, Field(json_schema_extra={"enum": list(ASPECT_ACTIONS)})]
SentimentAction = Annotated[str, Field(json_schema_extra={"enum": list(SENTIMENT_ACTIONS)})]
_AT_MOST = Field(json_schema_extra={"maxItems": MOST_ITEMS})


class ReviewForm(Form):
    @model_validator(mode="before")
    @classmethod
    def _only_reviews(cls, value: object) -> object:
        brought = [key for key in FORBIDDEN if isinstance(value, dict) and key in value]
        if brought:
            raise ValueError(f"stage2_structure_error: {', '.join(brought)}: review only")
        return value


class AspectReviewEntry(Form):
    term: Name
    action: AspectAction
    new_term: Name
    reason: Line


class AteReviewForm(ReviewForm):
    aspect_review: Annotated[list[AspectReviewEntry], _AT_MOST]
    note: Line


class SentimentReviewEntry(Form):
    aspect_ref: Name
    action: SentimentAction
    evidence: Line
    polarity: PolarityWord
    reason: Line


class AtsaReviewForm(ReviewForm):
    sentiment_review: Annotated[list[SentimentReviewEntry], _AT_MOST]
    note: Line


class FinalValidationForm(Form):
    resolved_risks: Annotated[list[Name], _AT_MOST]
    remaining_risks: Annotated[list[Name], _AT_MOST]
    final_consistency_score: Portion
    note: Line


def read_ate_review(form: AteReviewForm, request: ReviewRequest, ground: Ground) -> AteReview:
    mistakes = [] if form.aspect_review else ground.why_empty(form.note)
    terms = [item.term for item in request.ate.aspects]
    items = []
    for entry in form.aspect_review[:MOST_ITEMS]:
        item = _aspect_review(entry, terms, ground)
        if isinstance(item, str):
            mistakes.append(item)
        else:
            items.append(item)
    usable = bool(items) or not form.aspect_review
    return settled(AteReview(aspect_review=tuple(items)), mistakes, usable=usable)


def _aspect_review(
    entry: AspectReviewEntry, terms: list[str], ground: Ground
) -> AspectReviewItem | str:
    """Or what is wrong with it."""
    action = entry.action.strip().lower()
    if action not in ASPECT_ACTIONS:
        return f"- aspect_review.action: should be one of {', '.join(ASPECT_ACTIONS)}"
    term = ground.known(entry.term, terms)
    if term is None and action != ADD:
        return unknown_aspect("aspect_review.term", entry.term, terms)
    span = None
    if action in {REVISE, ADD}:
        span = ground.place(entry.new_term)
        if span is None:
            return not_in_text("aspect_review.new_term", entry.new_term)
    named = wording(ground.text, span) if action == ADD and span is not None else term or ""
    return AspectReviewItem(term=named, action=action, revised_span=span, reason=tidy(entry.reason))


def read_atsa_review(form: AtsaReviewForm, request: ReviewRequest, ground: Ground) -> AtsaReview:
    mistakes = [] if form.sentiment_review else ground.why_empty(form.note)
    spans = {item.term: item.span for item in request.ate.aspects}
    for sentiment in request.atsa.aspect_sentiments:
        spans.setdefault(sentiment.key, None)
    items = []
    for entry in form.sentiment_review[:MOST_ITEMS]:
        key = ground.known(entry.aspect_ref, list(spans))
        if key is None:
            mistakes.append(
                unknown_aspect("sentiment_review.aspect_ref", entry.aspect_ref, list(spans))
            )
            continue
        item = _sentiment_review(entry, key, ground)
        if isinstance(item, str):
            mistakes.append(item)
        else:
            items.append(item)
    usable = bool(items) or not form.sentiment_review
    return settled(AtsaReview(sentiment_review=tuple(items)), mistakes, usable=usable)


def _sentiment_review(
    entry: SentimentReviewEntry, key: str, ground: Ground
) -> SentimentReviewItem | str:
    """Or what is wrong with it. A polarity is given only on words that can be quoted."""
    action = entry.action.strip().lower()
    if action not in SENTIMENT_ACTIONS:
        return f"- sentiment_review.action: should be one of {', '.join(SENTIMENT_ACTIONS)}"
    reason = tidy(entry.reason)
    if action not in {FLIP, ADD}:
        return SentimentReviewItem(aspect_ref=key, action=action, reason=reason)
    polarity = polarity_of(entry.polarity)
    if polarity is None:
        return f'- sentiment_review.polarity of "{key}": should be one of {POLARITIES}'
    quote = ground.quoted(entry.evidence)
    if not quote and polarity is not Polarity.NEUTRAL:
        return not_in_text(f'sentiment_review.evidence of "{key}"', entry.evidence)
    return SentimentReviewItem(
        aspect_ref=key,
        action=action,
        revised_polarity=polarity,
        reason=f'{reason} "{quote}"'.strip() if quote else reason,
    )


def read_final_validation(
    form: FinalValidationForm, request: ReviewRequest, ground: Ground
) -> FinalValidationOutput:
    """A risk that was not called resolved remains, as does one that was called both. No other counts."""
    filled = bool(form.resolved_risks or form.remaining_risks)
    mistakes = [] if filled else ground.why_empty(form.note)
    known = list(dict.fromkeys(risk.type for risk in request.validator.structural_risks))
    resolved = {_kind(one) for one in form.resolved_risks}
    remaining = {_kind(one) for one in form.remaining_risks}
    settled_now = [one for one in known if _kind(one) in resolved - remaining]
    content = FinalValidationOutput(
        final_validation=FinalValidation(
            resolved_risks=tuple(settled_now),
            remaining_risks=tuple(one for one in known if one not in settled_now),
            final_consistency_score=form.final_consistency_score,
        )
    )
    return settled(content, mistakes)


def _kind(risk: str) -> str:
    return name(risk).upper().replace(" ", "_")
