"""The Stage 1 validator: where the two earlier answers do not fit the text or each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from parley.agents.absa.bench import Holding, holdings
from parley.agents.absa.debate_v2 import JUNK, LEAST_GAIN, is_overruled
from parley.agents.absa.reading import Place
from parley.agents.absa.speech import say, word
from parley.agents.absa.stage1 import as_span
from parley.agents.absa.text_reading import Skill, TextReading, read_text
from parley.bus.contracts.absa.debate import SharedContext
from parley.bus.contracts.absa.requests import ValidationRequest
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    CorrectionProposal,
    Polarity,
    SentenceLabel,
    Severity,
    Span,
    StructuralRisk,
    ValidatorOutput,
)

# How sure the second look has to be to speak against the first one alone.
SURE = 0.7
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """A risk, the aspect it is about (empty: the sentence) and what to do about it."""

    aspect: str
    risk: StructuralRisk
    proposal: CorrectionProposal | None = None


def validate(text: str, request: ValidationRequest, skill: Skill = "model") -> ValidatorOutput:
    reading = read_text(text, request.language_code, skill)
    context = SharedContext(
        text=text,
        stage1_aspects=request.ate.aspects,
        stage1_aspect_sentiments=request.atsa.aspect_sentiments,
    )
    found = list(findings(reading, context))
    touched = {finding.aspect for finding in found if finding.aspect}
    number = len(request.atsa.aspect_sentiments)
    return ValidatorOutput(
        structural_risks=tuple(finding.risk for finding in found),
        consistency_score=round(1.0 - len(touched) / number, _DECIMALS) if number else 0.0,
        correction_proposals=tuple(f.proposal for f in found if f.proposal is not None),
        suggested_label=_suggested(context, found),
    )


def _suggested(context: SharedContext, found: Iterable[Finding]) -> SentenceLabel | None:
    """The sentence's label with every polarity turned that the text contradicts; None without one."""
    turned = {
        finding.aspect
        for finding in found
        if finding.proposal is not None and finding.proposal.proposal_type == "FLIP_POLARITY"
    }
    if not turned:
        return None
    polarities = {
        one.polarity.opposite if one.key in turned else one.polarity
        for one in context.stage1_aspect_sentiments
        if one.polarity is not None
    }
    sides = [one for one in (Polarity.POSITIVE, Polarity.NEGATIVE) if one in polarities]
    if len(sides) > 1:
        return "mixed"
    return "positive" if Polarity.POSITIVE in sides else "negative"


def findings(reading: TextReading, context: SharedContext) -> Iterator[Finding]:
    held = holdings(reading, context)
    for holding in held:
        if holding.place is None or holding.likelihood < JUNK:
            yield _no_target(reading, holding)
        elif _is_contradicted(holding):
            yield _contradiction(reading, holding)
        elif is_overruled(reading, holding, LEAST_GAIN):
            yield _ungrounded(reading, holding)
    for item in context.stage1_aspects:
        yield from _misplaced(reading, item)
    yield from _same_on_both_sides(reading, held)
    for cue in reading.cues:
        if cue.kind == "IRONY":
            why = say(reading.language, "risk.irony", quote=cue.words)
            yield Finding("", _risk("IRONY", cue.place, Severity.MEDIUM, why))


def _no_target(reading: TextReading, holding: Holding) -> Finding:
    why = say(reading.language, "risk.not_a_term")
    return Finding(
        holding.key,
        _risk("SPAN_MISMATCH", holding.place, Severity.MEDIUM, f"{holding.key}: {why}"),
        CorrectionProposal(target_aspect=holding.key, proposal_type="DROP_ASPECT", rationale=why),
    )


def _is_contradicted(holding: Holding) -> bool:
    """The words that speak of the aspect say the opposite of Stage 1."""
    if holding.polarity is None or holding.polarity.opposite is None:
        return False
    second = holding.second
    return (
        second.polarity is holding.polarity.opposite
        and holding.best is second.polarity
        and second.certainty >= SURE
        and second.evidence is not None
        and (second.evidence.negated or second.evidence.doubly_negated)
    )


def _contradiction(reading: TextReading, holding: Holding) -> Finding:
    evidence = holding.second.evidence
    assert evidence is not None
    turned = evidence.negated or evidence.doubly_negated
    kind = "NEGATION_SCOPE" if turned else "POLARITY_MISMATCH"
    why = _about(reading, holding, "risk.contradicted", holding.second.polarity)
    return Finding(
        holding.key,
        _risk(kind, evidence.place, Severity.HIGH if turned else Severity.MEDIUM, why),
        CorrectionProposal(target_aspect=holding.key, proposal_type="FLIP_POLARITY", rationale=why),
    )


def _ungrounded(reading: TextReading, holding: Holding) -> Finding:
    """A motion to withdraw the tuple: the debate settles whether, and as what, it comes back."""
    why = _about(reading, holding, "risk.overruled", holding.best)
    return Finding(
        holding.key,
        _risk("EVIDENCE_GAP", holding.place, Severity.LOW, why),
        CorrectionProposal(target_aspect=holding.key, proposal_type="DROP_ASPECT", rationale=why),
    )


def _misplaced(reading: TextReading, item: AspectItem) -> Iterator[Finding]:
    if item.span is None or reading.quote(Place(item.span.start, item.span.end)) == item.term:
        return
    place = reading.locate(item.term, None)
    if place is not None:
        why = f"{item.term}: {say(reading.language, 'risk.misplaced')}"
        yield Finding(
            item.term,
            _risk("SPAN_MISMATCH", place, Severity.MEDIUM, why),
            CorrectionProposal(
                target_aspect=item.term,
                proposal_type="REVISE_SPAN",
                rationale=why,
                revised_span=as_span(place),
            ),
        )


def _about(reading: TextReading, holding: Holding, key: str, polarity: Polarity) -> str:
    return f"{holding.key}: {say(reading.language, key, polarity=word(reading.language, polarity))}"


def _same_on_both_sides(reading: TextReading, held: Sequence[Holding]) -> Iterator[Finding]:
    """A contrast between two aspects that came out alike deserves a second look."""
    for cue in reading.cues:
        if cue.kind != "CONTRAST":
            continue
        before = _polar(h for h in held if h.place is not None and h.place.end <= cue.place.start)
        after = _polar(h for h in held if h.place is not None and h.place.start >= cue.place.start)
        if before and after and len(before | after) == 1:
            why = say(reading.language, "risk.same_sides")
            yield Finding("", _risk("CONTRAST_SCOPE", cue.place, Severity.LOW, why))
            return


def _polar(held: Iterable[Holding]) -> set[Polarity]:
    return {
        holding.polarity
        for holding in held
        if holding.polarity in (Polarity.POSITIVE, Polarity.NEGATIVE)
    }


def _risk(kind: str, place: Place | None, severity: Severity, why: str) -> StructuralRisk:
    scope = Span(start=place.start, end=place.end) if place else None
    return StructuralRisk(type=kind, scope=scope, severity=severity, description=why)
