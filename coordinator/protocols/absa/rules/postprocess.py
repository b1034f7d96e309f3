"""What is done to the answers of Stage 1 before anybody relies on them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.params import LanguagePatterns
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    Severity,
    Span,
    StructuralRisk,
    Term,
    ValidatorOutput,
)
from parley.coordinator.protocols.absa.rules.language import (
    first_marker_end,
    has_contrast,
    has_negation,
    strip_particle,
)

GUESS_CONFIDENCE = 0.5
BACKFILL_CONFIDENCE = 0.5
# Up to this many characters a neutral by default quotes the whole text as its evidence.
WHOLE_TEXT_EVIDENCE = 2_000
# A contrast sets two aspects against each other: with fewer, one was missed.
CONTRASTED_ASPECTS = 2
NOT_SUBSTRING = "aspect_not_substring"
MISSING_ATSA = "missing_atsa_for_aspect"
NEGATION_SUPPRESSED = "negation_suppressed"
MISSING_SECOND_ASPECT = "MISSING_SECOND_ASPECT"
DROPPED_UNANCHORED = "dropped_unanchored_aspect_ref"


@dataclass(frozen=True, slots=True)
class CleanAspects:
    aspects: tuple[AspectItem, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanSentiments:
    """`issues` are handed to the moderator."""

    sentiments: tuple[AspectSentiment, ...]
    issues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CleanValidation:
    validator: ValidatorOutput
    notes: tuple[str, ...] = ()


def clean_aspects(
    text: str,
    aspects: Sequence[AspectItem],
    patterns: LanguagePatterns,
    *,
    contrast_guess: bool = False,
) -> CleanAspects:
    stripped = [_without_particle(aspect, patterns) for aspect in aspects]
    guess = _contrasted_aspect(text, stripped, patterns) if contrast_guess else None
    found = [*stripped, guess] if guess is not None else stripped
    kept = tuple(aspect for aspect in found if aspect.term and aspect.term in text)
    notes = tuple(
        f"rejection_reason:{NOT_SUBSTRING} term:{aspect.term}"
        for aspect in found
        if not (aspect.term and aspect.term in text)
    )
    return CleanAspects(kept, notes)


def backfill_sentiments(
    text: str, aspects: Sequence[AspectItem], sentiments: Sequence[AspectSentiment]
) -> CleanSentiments:
    terms = {aspect.term for aspect in aspects}
    kept = [sentiment for sentiment in sentiments if sentiment.key in terms]
    issues = [
        f"{DROPPED_UNANCHORED}:{sentiment.key}"
        for sentiment in sentiments
        if sentiment.key not in terms
    ]
    spoken_of = {sentiment.key for sentiment in kept}
    for aspect in aspects:
        if aspect.term not in spoken_of:
            spoken_of.add(aspect.term)
            kept.append(neutral_placeholder(text, aspect, MISSING_ATSA))
    return CleanSentiments(tuple(kept), tuple(issues))


def neutral_placeholder(text: str, aspect: AspectItem, reason: str) -> AspectSentiment:
    return AspectSentiment(
        aspect_ref=aspect.term,
        aspect_term=Term(term=aspect.term, span=aspect.span),
        polarity=Polarity.NEUTRAL,
        evidence=_evidence(text, aspect.term),
        confidence=BACKFILL_CONFIDENCE,
        polarity_distribution={Polarity.NEUTRAL.value: 1.0},
        is_backfilled=True,
        neutral_reason=reason,
    )


def _evidence(text: str, term: str) -> str:
    """The text; of a very long one only what surrounds the term, or a record would hold it often."""
    if len(text) <= WHOLE_TEXT_EVIDENCE:
        return text
    middle = max(0, text.find(term))
    return text[max(0, middle - WHOLE_TEXT_EVIDENCE // 2) : middle + WHOLE_TEXT_EVIDENCE // 2]


def clean_validation(
    text: str,
    validator: ValidatorOutput,
    aspects: Sequence[AspectItem],
    patterns: LanguagePatterns,
) -> CleanValidation:
    notes: tuple[str, ...] = ()
    if not has_negation(text, patterns):
        calmed = _without_negation(validator)
        notes = () if calmed == validator else (NEGATION_SUPPRESSED,)
        validator = calmed
    if has_contrast(text, patterns) and len(aspects) < CONTRASTED_ASPECTS:
        missed = StructuralRisk(
            type=MISSING_SECOND_ASPECT,
            scope=Span(start=0, end=len(text)),
            severity=Severity.HIGH,
            description="The text contrasts two things but names fewer than two aspects.",
        )
        validator = validator.model_copy(
            update={"structural_risks": (*validator.structural_risks, missed)}
        )
    return CleanValidation(validator, notes)


def risk_type(risk: StructuralRisk) -> str:
    """`negation scope` and `NEGATION_SCOPE` are one type."""
    return risk.type.strip().upper().replace(" ", "_")


def _without_particle(aspect: AspectItem, patterns: LanguagePatterns) -> AspectItem:
    term = strip_particle(aspect.term, patterns)
    if term == aspect.term:
        return aspect
    cut = len(aspect.term) - len(term)
    span = aspect.span
    if span is not None:
        span = Span(start=span.start, end=max(span.start, span.end - cut))
    return aspect.model_copy(update={"term": term, "span": span})


def _contrasted_aspect(
    text: str, aspects: Sequence[AspectItem], patterns: LanguagePatterns
) -> AspectItem | None:
    marker_end = first_marker_end(text, patterns)
    if marker_end is None or len(aspects) >= CONTRASTED_ASPECTS:
        return None
    token = re.compile(patterns.aspect_token_regex).search(text, marker_end)
    if token is None:
        return None
    term = strip_particle(token.group(), patterns)
    if term in {aspect.term for aspect in aspects}:
        return None
    return AspectItem(
        term=term,
        span=Span(start=token.start(), end=token.start() + len(term)),
        confidence=GUESS_CONFIDENCE,
        rationale="guessed from the contrast",
    )


def _without_negation(validator: ValidatorOutput) -> ValidatorOutput:
    return validator.model_copy(
        update={
            "structural_risks": tuple(
                risk
                for risk in validator.structural_risks
                if not risk_type(risk).startswith("NEGATION")
            ),
            "correction_proposals": tuple(
                proposal
                for proposal in validator.correction_proposals
                if proposal.proposal_type != "FLIP_POLARITY"
            ),
        }
    )
