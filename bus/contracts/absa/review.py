"""What follows the debate: the context given to the reviewers, their reviews, what was applied."""

from typing import Literal

from pydantic import Field
from typing_extensions import override

from parley.bus.contracts.absa.debate import DebateSummary, ProposedEdit
from parley.bus.contracts.absa.memory import AdvisoryBundle
from parley.bus.contracts.absa.sentiment import Passage, Polarity, Span
from parley.bus.contracts.base import (
    Amount,
    ContentBase,
    Contract,
    Real,
    Text,
    Whole,
    Word,
    is_absent,
)


class Mapping(Word):
    """How a turn was tied to aspects."""

    DIRECT = "direct"
    FALLBACK = "fallback"
    NONE = "none"


class MappingFailReason(Word):
    NO_ASPECTS = "no_aspects"
    NO_MATCH = "no_match"
    NEUTRAL_STANCE = "neutral_stance"
    FALLBACK_USED = "fallback_used"


class MappingStats(Contract):
    direct: Whole = 0
    fallback: Whole = 0
    none: Whole = 0

    @property
    def total(self) -> int:
        return self.direct + self.fallback + self.none


class MappingFailReasons(Contract):
    no_aspects: Whole = 0
    no_match: Whole = 0
    neutral_stance: Whole = 0
    fallback_used: Whole = 0


class AspectHint(Contract):
    """`polarity_hint` as it was written, lower-cased; the gate canonicalises it."""

    speaker: str = ""
    stance: str | None = None
    weight: Amount = 0.0
    polarity_hint: str | None = None


class RebuttalPoint(Contract):
    speaker: str
    stance: str | None = None
    key_points: tuple[Text, ...] = ()
    message: Text = ""
    proposed_edits: tuple[ProposedEdit, ...] = ()
    aspect_refs: tuple[str, ...] = ()
    mapping_confidence: Mapping
    mapping_fail_reason: MappingFailReason | None = None
    weight: Real
    polarity_hint: str | None = None
    provenance_hint: str


class AspectMapEntry(Contract):
    rebuttal_index: Whole
    speaker: str
    stance: str | None = None
    aspect_refs: tuple[str, ...] = ()
    weight: Real
    polarity_hint: str | None = None


class ReviewContext(Contract):
    """Given to the Stage 2 reviewers and to the override gate."""

    summary: DebateSummary
    rebuttal_points: tuple[RebuttalPoint, ...] = ()
    aspect_terms: tuple[str, ...] = ()
    synonym_hints: dict[str, tuple[str, ...]] = {}
    aspect_hints: dict[str, tuple[AspectHint, ...]] = {}
    aspect_map: tuple[AspectMapEntry, ...] = ()
    mapping_stats: MappingStats = MappingStats()
    mapping_fail_reasons: MappingFailReasons = MappingFailReasons()
    review_guidance: str = ""
    fallback_mapping_policy: str = ""
    provenance_template: str = "source:{speaker}/{stance}"
    memory: AdvisoryBundle | None = Field(
        default=None, alias="STAGE2_REVIEW_CONTEXT__MEMORY", exclude_if=is_absent
    )


class AspectReviewItem(Contract):
    """`action`: keep|maintain, revise_span|revise, drop|remove, add; others change nothing."""

    term: Passage
    action: str
    revised_span: Span | None = None
    reason: Text = ""
    provenance: str = ""


class AteReview(ContentBase):
    kind: Literal["ate_review"] = "ate_review"
    aspect_review: tuple[AspectReviewItem, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(f"{one.action} {one.term} {one.reason}" for one in self.aspect_review)


class SentimentReviewItem(Contract):
    """`action`: maintain, flip_polarity, drop|remove, add; others change nothing."""

    aspect_ref: Passage
    action: str
    revised_polarity: Polarity | None = None
    reason: Text = ""
    provenance: str = ""


class AtsaReview(ContentBase):
    kind: Literal["atsa_review"] = "atsa_review"
    sentiment_review: tuple[SentimentReviewItem, ...] = ()

    @override
    def points(self) -> tuple[str, ...]:
        return tuple(f"{one.action} {one.aspect_ref} {one.reason}" for one in self.sentiment_review)


class CorrectionLogEntry(Contract):
    proposal_type: str
    target_aspect: Passage = ""
    rationale: Text = ""
    applied: bool
    reason: str = ""
    resulting_polarity: Polarity | None = None
