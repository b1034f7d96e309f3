"""
Stage 2: each stage reviews its own first answer in the light of the debate.

With a debate its final set is what the reviews bring about; what the validator changed against the
debate's judgement is put back. Without one the reviewers only have their second look.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from parley.agents.absa.bench import Holding, evidence_text, holdings
from parley.agents.absa.debate_v2 import JUNK, LEAST_GAIN, is_overruled
from parley.agents.absa.resolution import canonical
from parley.agents.absa.speech import say, word
from parley.agents.absa.stage1 import as_span
from parley.agents.absa.text import Language
from parley.agents.absa.text_reading import Skill, TextReading, read_text
from parley.agents.absa.validator import findings
from parley.bus.contracts.absa.debate import SharedContext
from parley.bus.contracts.absa.requests import ReviewRequest
from parley.bus.contracts.absa.review import (
    AspectReviewItem,
    AteReview,
    AtsaReview,
    ReviewContext,
    SentimentReviewItem,
)
from parley.bus.contracts.absa.sentiment import (
    AspectSentiment,
    FinalValidation,
    FinalValidationOutput,
    Polarity,
    StructuralRisk,
)

_DECIMALS = 4
# One turn of one speaker is no reason to change a polarity; two are.
LONE_VOICE = 1.0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What should remain, by key; `provenance` names who changed it."""

    polarities: dict[str, Polarity]
    reasons: dict[str, str]
    provenance: dict[str, str]


def review_terms(text: str, request: ReviewRequest, skill: Skill = "model") -> AteReview:
    reading = read_text(text, request.language_code, skill)
    outcome = _outcome(reading, request)
    return AteReview(aspect_review=tuple(_term_reviews(reading, request, outcome)))


def review_sentiments(text: str, request: ReviewRequest, skill: Skill = "model") -> AtsaReview:
    reading = read_text(text, request.language_code, skill)
    outcome = _outcome(reading, request)
    return AtsaReview(
        sentiment_review=tuple(_sentiment_reviews(reading.language, request, outcome))
    )


def validate_finally(
    text: str, request: ReviewRequest, skill: Skill = "model"
) -> FinalValidationOutput:
    """The risks of Stage 1 again, on what the reviews leave."""
    reading = read_text(text, request.language_code, skill)
    outcome = _outcome(reading, request)
    left = SharedContext(
        text=text,
        stage1_aspects=tuple(a for a in request.ate.aspects if a.term in outcome.polarities),
        stage1_aspect_sentiments=tuple(
            _restated(item, outcome.polarities[item.key])
            for item in request.atsa.aspect_sentiments
            if item.key in outcome.polarities
        ),
    )
    still = {_label(finding.risk) for finding in findings(reading, left)}
    before = [_label(risk) for risk in request.validator.structural_risks]
    remaining = tuple(dict.fromkeys(label for label in before if label in still))
    resolved = tuple(dict.fromkeys(label for label in before if label not in still))
    share = len(still) / max(1, len(left.stage1_aspect_sentiments))
    return FinalValidationOutput(
        final_validation=FinalValidation(
            resolved_risks=resolved,
            remaining_risks=remaining,
            final_consistency_score=round(max(0.0, 1.0 - share), _DECIMALS),
        )
    )


def _outcome(reading: TextReading, request: ReviewRequest) -> _Outcome:
    context = request.review_context
    if context is None:
        return _own_outcome(reading, request)
    final = {
        item.key: polarity
        for item in context.summary.final_tuples
        if (polarity := canonical(item.polarity)) is not None and item.key
    }
    if not final:
        return _voted_outcome(reading.language, request, context)
    reasons = {
        edit.target.key or edit.value or "": say(
            reading.language, "review.edit", op=edit.op, quote=edit.evidence or ""
        ).strip()
        for edit in context.summary.final_patch
    }
    return _Outcome(final, reasons, _sources(context))


def _own_outcome(reading: TextReading, request: ReviewRequest) -> _Outcome:
    """No debate ran: only what both looks together overrule."""
    polarities: dict[str, Polarity] = {}
    reasons: dict[str, str] = {}
    for holding in holdings(reading, _stage1(reading.text, request)):
        if holding.place is None or holding.likelihood < JUNK:
            continue
        overruled = is_overruled(reading, holding, LEAST_GAIN)
        held = holding.best if overruled or holding.polarity is None else holding.polarity
        polarities[holding.key] = held
        if overruled:
            reasons[holding.key] = _second_thought(reading, holding)
    return _Outcome(polarities, reasons, {})


def _voted_outcome(language: Language, request: ReviewRequest, context: ReviewContext) -> _Outcome:
    """A debate without tuples (v1): Stage 1, except where the speakers outweigh it."""
    polarities = {
        item.key: item.polarity
        for item in request.atsa.aspect_sentiments
        if item.polarity is not None
    }
    reasons: dict[str, str] = {}
    for aspect, voted in _votes(context).items():
        held = polarities.get(aspect)
        if held is not None and held is not voted:
            polarities[aspect] = voted
            reasons[aspect] = say(language, "review.voted", polarity=word(language, voted))
    return _Outcome(polarities, reasons, _sources(context))


def _votes(context: ReviewContext) -> dict[str, Polarity]:
    """Aspects on which all who took sides took the same one."""
    votes: dict[str, Polarity] = {}
    for aspect, hints in context.aspect_hints.items():
        weights = dict.fromkeys((Polarity.POSITIVE, Polarity.NEGATIVE), 0.0)
        for hint in hints:
            side = canonical(hint.polarity_hint)
            if side in weights:
                weights[side] += hint.weight
        sides = [side for side, weight in weights.items() if weight > 0.0]
        if len(sides) == 1 and weights[sides[0]] > LONE_VOICE:
            votes[aspect] = sides[0]
    return votes


def _term_reviews(
    reading: TextReading, request: ReviewRequest, outcome: _Outcome
) -> Iterator[AspectReviewItem]:
    terms = {item.term for item in request.ate.aspects} - _withdrawn(request)
    left_out, named = (say(reading.language, f"review.{one}") for one in ("left_out", "named"))
    for term in _terms(request):
        stays = term in outcome.polarities
        if stays and term not in terms:
            continue
        yield AspectReviewItem(
            term=term,
            action="keep" if stays else "drop",
            reason=outcome.reasons.get(term, "" if stays else left_out),
            provenance=outcome.provenance.get(term, ""),
        )
    for key in outcome.polarities:
        place = None if key in terms else reading.locate(key, None)
        if place is not None:
            yield AspectReviewItem(
                term=key,
                action="add",
                revised_span=as_span(place),
                reason=outcome.reasons.get(key, named),
                provenance=outcome.provenance.get(key, ""),
            )


def _terms(request: ReviewRequest) -> Iterator[str]:
    yield from dict.fromkeys(item.term for item in request.ate.aspects)


def _withdrawn(request: ReviewRequest) -> set[str]:
    """Aspects the validator had dropped before these reviews: what stays has to be added again."""
    return {
        proposal.target_aspect
        for proposal in request.validator.correction_proposals
        if proposal.proposal_type == "DROP_ASPECT"
    }


def _sentiment_reviews(
    language: Language, request: ReviewRequest, outcome: _Outcome
) -> Iterator[SentimentReviewItem]:
    named = say(language, "review.named")
    flipped = {
        proposal.target_aspect
        for proposal in request.validator.correction_proposals
        if proposal.proposal_type == "FLIP_POLARITY"
    }
    withdrawn = _withdrawn(request)
    held = {
        item.key: item.polarity
        for item in request.atsa.aspect_sentiments
        if item.key not in withdrawn
    }
    for key, polarity in held.items():
        final = outcome.polarities.get(key)
        yield SentimentReviewItem(
            aspect_ref=key,
            action=_action(polarity, final, was_flipped=key in flipped),
            revised_polarity=final,
            reason=outcome.reasons.get(key, ""),
            provenance=outcome.provenance.get(key, ""),
        )
    for key, polarity in outcome.polarities.items():
        if key not in held:
            yield SentimentReviewItem(
                aspect_ref=key,
                action="add",
                revised_polarity=polarity,
                reason=outcome.reasons.get(key, named),
                provenance=outcome.provenance.get(key, ""),
            )


def _action(held: Polarity | None, final: Polarity | None, *, was_flipped: bool) -> str:
    """The validator's flip was applied before this review: undo it where the debate disagrees."""
    if final is None:
        return "drop"
    if was_flipped and held is not None and held.opposite is not None:
        return "maintain" if final is held.opposite else "flip_polarity"
    return "maintain" if final is held else "flip_polarity"


def _sources(context: ReviewContext) -> dict[str, str]:
    """Aspect → the first speaker who moved it."""
    found: dict[str, str] = {}
    for point in context.rebuttal_points:
        for aspect in point.aspect_refs:
            found.setdefault(aspect, point.provenance_hint)
    return found


def _stage1(text: str, request: ReviewRequest) -> SharedContext:
    return SharedContext(
        text=text,
        stage1_aspects=request.ate.aspects,
        stage1_aspect_sentiments=request.atsa.aspect_sentiments,
    )


def _restated(item: AspectSentiment, polarity: Polarity) -> AspectSentiment:
    return item.model_copy(update={"polarity": polarity, "polarity_distribution": {}})


def _second_thought(reading: TextReading, holding: Holding) -> str:
    quote = evidence_text(reading, holding.second)
    seen = say(
        reading.language, "review.second_look", polarity=word(reading.language, holding.best)
    )
    return f"{seen} ({quote})" if quote else seen


def _label(risk: StructuralRisk) -> str:
    about = risk.description.partition(":")[0]
    return f"{risk.type} {about}".strip()
