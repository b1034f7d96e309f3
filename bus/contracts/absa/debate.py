"""
What is said in the debate: turns, proposed edits and the judge's summary.

Two generations share one wire form. `DebateTurnV1` and `DebateTurnV2` (and likewise the summaries)
are what a persona of that generation has to answer; `DebateTurn` and `DebateSummary` hold either,
with the fields of the other generation empty.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from typing_extensions import override

from parley.bus.contracts.absa.memory import AdvisoryBundle
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    CorrectionProposal,
    Passage,
    StructuralRisk,
    Term,
    term_text,
)
from parley.bus.contracts.base import (
    ContentBase,
    Contract,
    FiniteJson,
    Share,
    Text,
    Token,
    Whole,
    is_absent,
    with_named,
)

Protocol = Literal["v1", "v2"]


EDIT_OPS = ("set_polarity", "set_aspect_ref", "merge_tuples", "drop_tuple", "confirm_tuple")


class DebatePersona(Contract):
    name: str
    role: str
    goal: Text
    stance: str = ""
    style: str = ""


class EditTarget(Contract):
    """`aspect_ref` is null only for `set_aspect_ref`, which names the new aspect in `value`."""

    aspect_ref: Passage | None = None
    aspect_term: Term | str | None = None
    polarity: str | None = None

    @property
    def key(self) -> str:
        return self.aspect_ref or term_text(self.aspect_term)

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return with_named(write(self), "aspect_ref")


class ProposedEdit(Contract):
    """`op` is open: an op outside `EDIT_OPS` stays in the record and counts as `merge_tuples`."""

    op: str
    target: EditTarget = EditTarget()
    value: Passage | None = None
    evidence: Passage | None = None
    confidence: Share | None = None

    @property
    def names_its_aspect(self) -> bool:
        """Only who renames an aspect may leave the old one open, and then names the new one."""
        if self.op == "set_aspect_ref":
            return bool(self.target.aspect_ref or self.value)
        return bool(self.target.aspect_ref)


class DebateTurnV1(ContentBase):
    kind: Literal["debate_turn"] = "debate_turn"
    speaker: str = ""
    stance: str = ""
    planning: Text = ""
    reflection: Text = ""
    message: Text = ""
    key_points: tuple[Text, ...] = ()


class DebateTurnV2(ContentBase):
    kind: Literal["debate_turn"] = "debate_turn"
    agent: str = ""
    proposed_edits: tuple[ProposedEdit, ...] = ()


class DebateTurn(DebateTurnV1, DebateTurnV2):
    """A turn of either generation."""

    kind: Literal["debate_turn"] = "debate_turn"

    @property
    def author(self) -> str:
        return self.agent or self.speaker

    @override
    def points(self) -> tuple[str, ...]:
        edits = [
            f"{one.op} {one.target.key} {one.target.polarity or ''} {one.value or ''}"
            f" {one.evidence or ''}"
            for one in self.proposed_edits
        ]
        return (self.message, *self.key_points, *edits)


class SentimentTuple(Contract):
    """`polarity` as it was written; the rules canonicalise it."""

    aspect_ref: Passage | None = None
    aspect_term: Term | str | None = None
    polarity: str | None = None

    @property
    def key(self) -> str:
        return self.aspect_ref or term_text(self.aspect_term)


class DebateSummaryV1(ContentBase):
    kind: Literal["debate_summary"] = "debate_summary"
    winner: str | None = None
    consensus: Text | None = None
    key_agreements: tuple[Text, ...] = ()
    key_disagreements: tuple[Text, ...] = ()
    rationale: Text = ""


class DebateSummaryV2(ContentBase):
    """Spans are quotations: each has to occur in the debated text, at least one is expected."""

    kind: Literal["debate_summary"] = "debate_summary"
    final_patch: tuple[ProposedEdit, ...] = ()
    final_tuples: tuple[SentimentTuple, ...] = ()
    unresolved_conflicts: tuple[FiniteJson, ...] = ()
    sentence_polarity: str | None = None
    sentence_evidence_spans: tuple[Passage, ...] = ()
    aspect_evidence: dict[str, Passage | None] = {}
    rationale: Text = ""


class DebateSummary(DebateSummaryV1, DebateSummaryV2):
    """A judge's summary of either generation."""

    kind: Literal["debate_summary"] = "debate_summary"
    rationale: Text = ""

    @property
    def lacks_evidence(self) -> bool:
        """Who names the sentence's polarity quotes for it, unless it is neutral."""
        named = (self.sentence_polarity or "").strip().lower()
        quoted = any(span.strip() for span in self.sentence_evidence_spans)
        return named not in {"", "neutral", "neu"} and not quoted

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return with_named(write(self), "winner", "consensus", "sentence_polarity")

    @override
    def points(self) -> tuple[str, ...]:
        tuples = [f"{one.key} {one.polarity or ''}" for one in self.final_tuples]
        return (self.consensus or "", self.rationale, *tuples)


class DebateRound(Contract):
    round_index: Annotated[Whole, Field(ge=1)]
    turns: tuple[DebateTurn, ...] = ()


class DebateOutput(Contract):
    topic: Passage
    personas: dict[Token, DebatePersona] = {}
    rounds: tuple[DebateRound, ...] = ()
    summary: DebateSummary = DebateSummary()


class SharedContext(Contract):
    """What every speaker is given (`SHARED_CONTEXT_JSON`); the memory slot only for those allowed."""

    text: Passage
    stage1_aspects: tuple[AspectItem, ...] = ()
    stage1_aspect_sentiments: tuple[AspectSentiment, ...] = ()
    stage1_structural_risks: tuple[StructuralRisk, ...] = ()
    stage1_correction_proposals: tuple[CorrectionProposal, ...] = ()
    memory: AdvisoryBundle | None = Field(
        default=None, alias="DEBATE_CONTEXT__MEMORY", exclude_if=is_absent
    )
