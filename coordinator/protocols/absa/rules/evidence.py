"""Is there a quotation behind an override? Without one the debate's hints are only opinion."""

from typing import NamedTuple

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.gate import SkipReason

MIN_SPAN_LENGTH = 2


class Actionable(NamedTuple):
    """`reason` says what is wrong with the evidence; None when it holds."""

    ok: bool
    reason: SkipReason | None


def evidence_span(summary: DebateSummary, aspect: str) -> str:
    """What the judge quoted for the aspect, else its first quotation for the sentence."""
    own = (summary.aspect_evidence.get(aspect) or "").strip()
    if own or not summary.sentence_evidence_spans:
        return own
    return summary.sentence_evidence_spans[0].strip()


def has_actionable_evidence(text: str, span: str) -> Actionable:
    if not span:
        return Actionable(ok=False, reason=SkipReason.NO_EVIDENCE_SPAN)
    if span not in text:
        return Actionable(ok=False, reason=SkipReason.EVIDENCE_NOT_IN_TEXT)
    if len(span) < MIN_SPAN_LENGTH:
        return Actionable(ok=False, reason=SkipReason.EVIDENCE_MISSING_TRIGGER)
    return Actionable(ok=True, reason=None)
