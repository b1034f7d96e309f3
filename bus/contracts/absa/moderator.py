"""What the moderator is given and what it answers."""

from typing import Literal

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.sentiment import AspectSentiment, SentenceLabel, Span
from parley.bus.contracts.base import Contract, Real, Share

Stage = Literal["stage1", "stage2"]


class StageLabel(Contract):
    """`note` says where the label is not what the stage said, e.g. `[missing polarity]`."""

    label: SentenceLabel
    confidence: Share
    note: str = ""


class SpanLabel(StageLabel):
    span: Span | None = None


class ValidatorView(Contract):
    issues: tuple[str, ...] = ()
    suggested_label: SentenceLabel | None = None
    confidence: Share = 0.0


class ModeratorInput(Contract):
    stage1_ate: StageLabel
    stage1_atsa: SpanLabel
    validator: ValidatorView = ValidatorView()
    stage2_ate: StageLabel | None = None
    stage2_atsa: SpanLabel | None = None
    # The patched sentiments of Stage 2, of which the final aspects are made.
    final_aspect_sentiments: tuple[AspectSentiment, ...] = ()
    debate_summary: DebateSummary | None = None


class ArbiterFlags(Contract):
    stage2_rejected_due_to_confidence: bool = False
    validator_override_applied: bool = False
    confidence_margin_used: Real = 0.0
    rule_b_applied: bool = False
    rule_e_fired: bool = False
    rule_e_attempted_after_b: bool = False
    rule_e_block_reason: (
        Literal["label_unchanged", "confidence_too_high", "inferred_empty"] | None
    ) = None


class ModeratorOutput(Contract):
    """`span_iou` is the number Rule A compared; None when the rules never came to it."""

    final_label: SentenceLabel
    confidence: Share
    rationale: str
    decision_reason: str
    selected_stage: Stage
    applied_rules: tuple[str, ...] = ()
    arbiter_flags: ArbiterFlags = ArbiterFlags()
    span_iou: Real | None = None
