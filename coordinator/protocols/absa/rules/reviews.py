"""
From Stage 1 to the patched Stage 2: every correction, in the one order that is allowed.

Validator proposals, then the ATE review, then the ATSA review, then the debate's override, then
the anchor guard, which lets no sentiment pass that speaks of no aspect.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.debate import Protocol
from parley.bus.contracts.absa.gate import GateOutcome
from parley.bus.contracts.absa.params import OverrideThresholds
from parley.bus.contracts.absa.review import (
    AteReview,
    AtsaReview,
    CorrectionLogEntry,
    ReviewContext,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    ValidatorOutput,
)
from parley.coordinator.protocols.absa.rules.corrections import (
    apply_aspect_review,
    apply_proposal,
    apply_sentiment_review,
)
from parley.coordinator.protocols.absa.rules.gate import (
    GateInput,
    disabled_gate,
    idle_gate,
    run_gate,
)
from parley.coordinator.protocols.absa.rules.override import Draft
from parley.coordinator.protocols.absa.rules.postprocess import (
    DROPPED_UNANCHORED,
    neutral_placeholder,
)

STRUCTURE_ERROR = "stage2_structure_error"
PLACEHOLDER_REASON = "stage2_placeholder_no_sentiments"
FORBIDDEN_IN_REVIEWS = ("aspects", "aspect_sentiments")


@dataclass(frozen=True, slots=True)
class OverrideRules:
    """How the gate of this run is set."""

    enabled: bool
    protocol: Protocol
    thresholds: OverrideThresholds
    polarity_repair: bool = False
    blocked: frozenset[tuple[str, Polarity]] = frozenset()


@dataclass(frozen=True, slots=True)
class ReviewInput:
    """Stage 1 after post-processing, the two reviews, and what the debate left behind (or None)."""

    text: str
    aspects: Sequence[AspectItem]
    sentiments: Sequence[AspectSentiment]
    validator: ValidatorOutput
    ate_review: AteReview
    atsa_review: AtsaReview
    context: ReviewContext | None
    override: OverrideRules


@dataclass(frozen=True, slots=True)
class Patched:
    aspects: tuple[AspectItem, ...]
    sentiments: tuple[AspectSentiment, ...]
    anchor_issues: tuple[str, ...]
    log: tuple[CorrectionLogEntry, ...]
    gate: GateOutcome


def structure_error(answer_keys: Sequence[str]) -> str | None:
    """A reviewer reviews: an answer that brings its own aspects or sentiments is refused."""
    brought = [key for key in FORBIDDEN_IN_REVIEWS if key in answer_keys]
    return f"{STRUCTURE_ERROR}: {', '.join(brought)}" if brought else None


def with_sources(
    ate_review: AteReview, atsa_review: AtsaReview, context: ReviewContext | None
) -> tuple[AteReview, AtsaReview]:
    """The reviews with every empty provenance filled from the aspect's first hint, if a debate ran."""
    if context is None:
        return ate_review, atsa_review
    aspects = tuple(
        item
        if item.provenance
        else item.model_copy(update={"provenance": _source(context, item.term)})
        for item in ate_review.aspect_review
    )
    sentiments = tuple(
        item
        if item.provenance
        else item.model_copy(update={"provenance": _source(context, item.aspect_ref)})
        for item in atsa_review.sentiment_review
    )
    return AteReview(aspect_review=aspects), AtsaReview(sentiment_review=sentiments)


def apply_reviews(given: ReviewInput) -> Patched:
    draft = Draft(text=given.text, aspects=list(given.aspects), sentiments=list(given.sentiments))
    ate_review, atsa_review = with_sources(given.ate_review, given.atsa_review, given.context)
    log = [apply_proposal(draft, item) for item in given.validator.correction_proposals]
    reviewed = [apply_aspect_review(draft, item) for item in ate_review.aspect_review]
    reviewed += [apply_sentiment_review(draft, item) for item in atsa_review.sentiment_review]
    log += [entry for entry in reviewed if entry is not None]
    gate = _override(given, draft)
    aspects = list(gate.aspects)
    sentiments, issues = anchored(aspects, gate.sentiments)
    any_review = bool(ate_review.aspect_review or atsa_review.sentiment_review)
    dropped = any(issue.startswith(DROPPED_UNANCHORED) for issue in issues)
    if any_review and aspects and not sentiments and not dropped:
        sentiments = [neutral_placeholder(given.text, aspects[0], PLACEHOLDER_REASON)]
    return Patched(
        aspects=tuple(aspects),
        sentiments=tuple(sentiments),
        anchor_issues=tuple(issues),
        log=(*log, *gate.log),
        gate=gate,
    )


def anchored(
    aspects: Sequence[AspectItem], sentiments: Sequence[AspectSentiment]
) -> tuple[list[AspectSentiment], list[str]]:
    """Sentiments that speak of an aspect, renamed where they only nearly do; and what was done."""
    terms = [aspect.term for aspect in aspects if aspect.term]
    kept: list[AspectSentiment] = []
    issues: list[str] = []
    for sentiment in sentiments:
        key = sentiment.key
        home = key if key in terms else _home(key, terms)
        if home is None:
            issues.append(f"{DROPPED_UNANCHORED}:{key}")
        elif home == key:
            kept.append(sentiment)
        else:
            issues.append(f"mapped_aspect_ref:{key}->{home}")
            kept.append(sentiment.model_copy(update={"aspect_ref": home}))
    return kept, issues


def _home(key: str, terms: Sequence[str]) -> str | None:
    if not key:
        return None
    return next((term for term in terms if key in term or term in key), None)


def _override(given: ReviewInput, draft: Draft) -> GateOutcome:
    if not given.override.enabled:
        return disabled_gate(draft.aspects, draft.sentiments)
    if given.context is None:
        return idle_gate(draft.aspects, draft.sentiments)
    return run_gate(
        GateInput(
            text=given.text,
            aspect_hints=given.context.aspect_hints,
            summary=given.context.summary,
            structural_risks=given.validator.structural_risks,
            aspects=draft.aspects,
            sentiments=draft.sentiments,
            thresholds=given.override.thresholds,
            polarity_repair=given.override.polarity_repair,
            dropped=frozenset(draft.dropped),
            blocked=given.override.blocked,
        ),
        given.override.protocol,
    )


def _source(context: ReviewContext, aspect: str) -> str:
    hints = context.aspect_hints.get(aspect)
    speaker, stance = (hints[0].speaker, hints[0].stance) if hints else ("", None)
    return f"source:{speaker or 'unknown'}/{stance or 'unknown'}"
