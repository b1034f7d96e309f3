"""What the three stages say about a sentence: aspects, their sentiments, and what is wrong with both."""

from typing import Annotated, Literal

from pydantic import StringConstraints
from typing_extensions import override

from parley.bus.contracts.base import ContentBase, Contract, Share, Text, Whole, Word

SentenceLabel = Literal["positive", "negative", "neutral", "mixed"]
# A stretch of the debated text, at most the whole of it.
Passage = Annotated[str, StringConstraints(max_length=200_000)]


class Polarity(Word):
    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"

    @property
    def opposite(self) -> "Polarity | None":
        """None for neutral: it has no opposite."""
        match self:
            case Polarity.POSITIVE:
                return Polarity.NEGATIVE
            case Polarity.NEGATIVE:
                return Polarity.POSITIVE
            case Polarity.NEUTRAL:
                return None


class Span(Contract):
    """Characters `start` to `end` (exclusive) of the debated text; an answer's span may miss it."""

    start: Whole
    end: Whole


class Term(Contract):
    term: Passage = ""
    span: Span | None = None


def term_text(term: Term | str | None) -> str:
    if isinstance(term, Term):
        return term.term
    return term or ""


class AspectItem(Contract):
    term: Passage = ""
    span: Span | None = None
    normalized: str | None = None
    syntactic_head: str | None = None
    confidence: Share = 0.0
    rationale: Passage = ""


class AteOutput(ContentBase):
    """Aspect terms found in the text."""

    kind: Literal["ate"] = "ate"
    aspects: tuple[AspectItem, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(f"{one.term} {one.rationale}" for one in self.aspects)


class AspectSentiment(Contract):
    """`polarity` None means nobody said one; it is never read as neutral."""

    aspect_ref: Passage = ""
    aspect_term: Term | str | None = None
    opinion_term: Term | None = None
    polarity: Polarity | None = None
    evidence: Passage = ""
    confidence: Share = 0.0
    polarity_distribution: dict[str, Share] = {}
    is_implicit: bool = False
    is_backfilled: bool = False
    neutral_reason: str | None = None

    @property
    def key(self) -> str:
        """The aspect this is about; two items with one key are about the same aspect."""
        return self.aspect_ref or term_text(self.aspect_term)


class AtsaOutput(ContentBase):
    """One or more sentiments per aspect."""

    kind: Literal["atsa"] = "atsa"
    aspect_sentiments: tuple[AspectSentiment, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(f"{one.key} {one.polarity or ''}" for one in self.aspect_sentiments)


class Severity(Word):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class StructuralRisk(Contract):
    type: str
    scope: Span | None = None
    severity: Severity = Severity.MEDIUM
    description: Text = ""


class CorrectionProposal(Contract):
    """`proposal_type` is open: types other than the three that are applied are recorded as such."""

    target_aspect: Passage
    proposal_type: str
    rationale: Text = ""
    revised_span: Span | None = None


class ValidatorOutput(ContentBase):
    kind: Literal["validation"] = "validation"
    structural_risks: tuple[StructuralRisk, ...] = ()
    consistency_score: Share = 0.0
    correction_proposals: tuple[CorrectionProposal, ...] = ()
    # What it holds the sentence for, where Stage 1 is wrong as a whole; the moderator weighs a veto.
    suggested_label: SentenceLabel | None = None

    @override
    def points(self) -> tuple[str, ...]:
        risks = [f"{one.type} {one.description}" for one in self.structural_risks]
        proposed = [
            f"{one.proposal_type} {one.target_aspect} {one.rationale}"
            for one in self.correction_proposals
        ]
        return (*risks, *proposed)


class FinalValidation(Contract):
    resolved_risks: tuple[str, ...] = ()
    remaining_risks: tuple[str, ...] = ()
    final_consistency_score: Share = 0.0


class FinalValidationOutput(ContentBase):
    kind: Literal["final_validation"] = "final_validation"
    final_validation: FinalValidation = FinalValidation()

    @override
    def points(self) -> tuple[str, ...]:
        return (*self.final_validation.resolved_risks, *self.final_validation.remaining_risks)
