"""
What a model fills in for Stage 1, and what becomes of it.

No form asks for a character position: a model quotes, and places are found in the text. A list
that is left empty has to say why in `note`, or nothing was filled in.
"""

from collections.abc import Sequence
from typing import Annotated, get_args

from pydantic import Field

from parley.agents.llm.absa.ground import POLARITIES, Ground, PolarityWord, not_in_text, polarity_of
from parley.agents.llm.question import Form
from parley.agents.llm.quotes import wording
from parley.agents.llm.text_fields import MOST_ITEMS, Line, Name, Portion, name, settled, tidy
from parley.bus.contracts.absa.requests import AtsaRequest, ValidationRequest
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    CorrectionProposal,
    Polarity,
    SentenceLabel,
    Severity,
    Span,
    StructuralRisk,
    Term,
    ValidatorOutput,
)

RISKS = (
    "NEGATION_SCOPE",
    "CONTRAST",
    "IRONY",
    "POLARITY_MISMATCH",
    "EVIDENCE_GAP",
    "SPAN_MISMATCH",
    "OTHER",
)
OTHER = "OTHER"
DROP_ASPECT = "DROP_ASPECT"
REVISE_SPAN = "REVISE_SPAN"
CORRECTIONS = ("FLIP_POLARITY", DROP_ASPECT, REVISE_SPAN)
NO_EVIDENCE = "no_explicit_evidence"

RiskWord = Annotated[str, Field(json_schema_extra={"enum": list(RISKS)})]
SeverityWord = Annotated[str, Field(json_schema_extra={"enum": list(Severity)})]
CorrectionWord = Annotated[str, Field(json_schema_extra={"enum": list(CORRECTIONS)})]
_AT_MOST = Field(json_schema_extra={"maxItems": MOST_ITEMS})


class TermEntry(Form):
    term: Name
    confidence: Portion


class AteForm(Form):
    aspects: Annotated[list[TermEntry], _AT_MOST]
    note: Line


class SentimentEntry(Form):
    aspect: Name
    evidence: Line
    polarity: PolarityWord
    confidence: Portion
    is_implicit: bool


class AtsaForm(Form):
    aspect_sentiments: Annotated[list[SentimentEntry], _AT_MOST]
    note: Line


class RiskEntry(Form):
    quote: Line
    type: RiskWord
    severity: SeverityWord
    description: Line


class CorrectionEntry(Form):
    target_aspect: Name
    proposal_type: CorrectionWord
    quote: Line
    rationale: Line


class ValidatorForm(Form):
    structural_risks: Annotated[list[RiskEntry], _AT_MOST]
    correction_proposals: Annotated[list[CorrectionEntry], _AT_MOST]
    consistency_score: Portion
    # The sentence's label where it should be another than the annotation says; empty otherwise.
    suggested_label: Name = ""
    note: Line


def read_ate(form: AteForm, ground: Ground) -> AteOutput:
    mistakes = [] if form.aspects else ground.why_empty(form.note)
    found: dict[str, AspectItem] = {}
    for entry in form.aspects[:MOST_ITEMS]:
        place = ground.place(entry.term)
        if place is None:
            mistakes.append(not_in_text("aspects.term", entry.term))
            continue
        item = _aspect(ground, place, entry.confidence)
        found.setdefault(item.term, item)
    content = AteOutput(aspects=tuple(found.values()))
    return settled(content, mistakes, usable=bool(found) or not form.aspects)


def _aspect(ground: Ground, place: Span, confidence: float) -> AspectItem:
    """The clean-up after this stage takes one particle off every term; the noun's own is shielded."""
    bare = wording(ground.text, place)
    following = ground.text[place.end : place.end + 1]
    if ground.without_particle(bare) != bare and following in ground.patterns.topic_particles:
        place = Span(start=place.start, end=place.end + len(following))
    term = wording(ground.text, place)
    return AspectItem(term=term, span=place, normalized=bare.lower(), confidence=confidence)


def read_atsa(form: AtsaForm, request: AtsaRequest, ground: Ground) -> AtsaOutput:
    """Of each aspect once: a second sentiment for it changes nothing."""
    given = {ground.without_particle(item.term): item for item in request.ate.aspects}
    mistakes = [] if form.aspect_sentiments else ground.why_empty(form.note)
    found: dict[str, AspectSentiment] = {}
    for entry in form.aspect_sentiments[:MOST_ITEMS]:
        key = ground.known(entry.aspect, list(given))
        if key is None:
            mistakes.append(unknown_aspect("aspect_sentiments.aspect", entry.aspect, list(given)))
        elif key not in found:
            sentiment = _sentiment(entry, key, given[key], ground)
            if isinstance(sentiment, str):
                mistakes.append(sentiment)
            else:
                found[key] = sentiment
    missing = [key for key in given if key not in found]
    mistakes += [f'- aspect_sentiments: nothing usable about "{key}"' for key in missing]
    content = AtsaOutput(aspect_sentiments=tuple(found[key] for key in given if key in found))
    return settled(content, mistakes, usable=bool(found) or not given)


def unknown_aspect(field: str, said: str, known: Sequence[str]) -> str:
    listed = ", ".join(f'"{one}"' for one in known) or "nothing"
    return f'- {field}: "{name(said)}" is not among the aspects ({listed})'


def _sentiment(
    entry: SentimentEntry, key: str, item: AspectItem, ground: Ground
) -> AspectSentiment | str:
    """Or what is wrong with it."""
    polarity = polarity_of(entry.polarity)
    if polarity is None:
        return f'- aspect_sentiments.polarity of "{key}": should be one of {POLARITIES}'
    place = ground.place(entry.evidence, item.span)
    neutral = polarity is Polarity.NEUTRAL
    if place is None and not neutral:
        return not_in_text(f'aspect_sentiments.evidence of "{key}"', entry.evidence)
    evidence = wording(ground.text, place) if place is not None else ""
    return AspectSentiment(
        aspect_ref=key,
        aspect_term=Term(term=key, span=_bare_span(key, item)),
        opinion_term=Term(term=evidence, span=place) if place is not None else None,
        polarity=polarity,
        evidence=evidence,
        confidence=entry.confidence,
        is_implicit=entry.is_implicit,
        neutral_reason=NO_EVIDENCE if neutral else None,
    )


def _bare_span(key: str, item: AspectItem) -> Span | None:
    if item.span is None:
        return None
    return Span(start=item.span.start, end=item.span.start + len(key))


def read_validator(
    form: ValidatorForm, request: ValidationRequest, ground: Ground
) -> ValidatorOutput:
    filled = bool(form.structural_risks or form.correction_proposals)
    mistakes = [] if filled else ground.why_empty(form.note)
    risks = []
    for entry in form.structural_risks[:MOST_ITEMS]:
        scope = ground.place(entry.quote)
        if scope is None:
            mistakes.append(not_in_text("structural_risks.quote", entry.quote))
        else:
            risks.append(_risk(entry, scope))
    terms = [ground.without_particle(item.term) for item in request.ate.aspects]
    proposals = []
    for proposed in form.correction_proposals[:MOST_ITEMS]:
        proposal = _proposal(proposed, terms, ground)
        if isinstance(proposal, str):
            mistakes.append(proposal)
        else:
            proposals.append(proposal)
    content = ValidatorOutput(
        structural_risks=tuple(risks),
        consistency_score=form.consistency_score,
        correction_proposals=tuple(proposals),
        suggested_label=_label(form.suggested_label),
    )
    return settled(content, mistakes, usable=bool(risks or proposals) or not filled)


def _label(text: str) -> SentenceLabel | None:
    said = text.strip().lower()
    return next((one for one in get_args(SentenceLabel) if one == said), None)


def _risk(entry: RiskEntry, scope: Span) -> StructuralRisk:
    kind = entry.type.strip().upper().replace(" ", "_")
    severity = entry.severity.strip().lower()
    return StructuralRisk(
        type=kind if kind in RISKS else OTHER,
        scope=scope,
        severity=Severity(severity) if severity in list(Severity) else Severity.MEDIUM,
        description=tidy(entry.description),
    )


def _proposal(
    entry: CorrectionEntry, terms: Sequence[str], ground: Ground
) -> CorrectionProposal | str:
    """Or what is wrong with it."""
    target = ground.known(entry.target_aspect, terms)
    if target is None:
        return unknown_aspect("correction_proposals.target_aspect", entry.target_aspect, terms)
    kind = entry.proposal_type.strip().upper()
    if kind not in CORRECTIONS:
        return f"- correction_proposals.proposal_type: should be one of {', '.join(CORRECTIONS)}"
    place = ground.place(entry.quote)
    if place is None and (entry.quote.strip() or kind != DROP_ASPECT):
        return not_in_text("correction_proposals.quote", entry.quote)
    return CorrectionProposal(
        target_aspect=target,
        proposal_type=kind,
        rationale=tidy(entry.rationale),
        revised_span=place if kind == REVISE_SPAN else None,
    )
