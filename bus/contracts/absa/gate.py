"""Outcomes of the override gate and of the decision to adopt Stage 2."""

from typing import Literal

from pydantic import Field

from parley.bus.contracts.absa.debate import SentimentTuple
from parley.bus.contracts.absa.params import OverrideEffective
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity
from parley.bus.contracts.base import Contract, Real, Share, Whole, Word


class Decision(Word):
    APPLY = "APPLY"
    SKIP = "SKIP"


class SkipReason(Word):
    """In the order of the gate's steps: a later reason means the aspect got further."""

    MAX_ONE_OVERRIDE = "max_one_override_per_sample"
    NEUTRAL_ONLY = "neutral_only"
    NO_EVIDENCE_SPAN = "no_evidence_span"
    EVIDENCE_NOT_IN_TEXT = "evidence_span_not_in_text"
    EVIDENCE_MISSING_TRIGGER = "evidence_span_missing_trigger"
    LOW_SIGNAL = "low_signal"
    ACTION_AMBIGUITY = "action_ambiguity"
    L3_CONSERVATIVE = "l3_conservative"
    CONTRADICTORY_MEMORY = "contradictory_memory"
    IMPLICIT_SOFT_ONLY = "implicit_soft_only"
    ALREADY_CONFIDENT = "already_confident"


class OverrideAction(Word):
    ADD = "debate_override_add"
    FLIP = "debate_override_flip"


class HintSample(Contract):
    """`canon` is None where the raw text names no polarity."""

    raw: str | None = None
    canon: Polarity | None = None


class GateDecision(Contract):
    """What the gate decided on one aspect, and every number the decision rests on."""

    aspect: str
    decision: Decision
    skip_reason: SkipReason | None = None
    action: OverrideAction | None = None
    target_pol: Polarity | None = None
    pos_score: Real = 0.0
    neg_score: Real = 0.0
    total: Real = 0.0
    margin: Real = 0.0
    valid_hint_count: Whole = 0
    invalid_hint_count: Whole = 0
    hint_repair_count: Whole = 0
    hint_polarity_sample: tuple[HintSample, ...] = ()
    current_pol: Polarity | None = None
    current_conf: Share | None = None
    is_implicit: bool = False
    evidence_ok: bool | None = None
    evidence_reason: str | None = None


class GateStats(Contract):
    """Counts aspects. `skipped_neutral_only` is counted inside `skipped_low_signal` too."""

    applied: Whole = 0
    skipped_low_signal: Whole = 0
    skipped_neutral_only: Whole = 0
    skipped_conflict: Whole = 0
    skipped_already_confident: Whole = 0
    skipped_max_one_override_per_sample: Whole = 0
    skipped_no_evidence_span: Whole = 0
    skipped_evidence_span_not_in_text: Whole = 0
    skipped_evidence_span_missing_trigger: Whole = 0
    override_hint_invalid_total: Whole = 0
    override_hint_repair_total: Whole = 0
    override_disabled: bool = False


class GateSkipReasons(Contract):
    """Why aspects are counted as conflicts; `low_confidence` is reserved and stays 0."""

    action_ambiguity: Whole = 0
    l3_conservative: Whole = Field(default=0, alias="L3_conservative")
    implicit_soft_only: Whole = 0
    low_confidence: Whole = 0
    contradictory_memory: Whole = 0


class GateOutcome(Contract):
    decisions: tuple[GateDecision, ...] = ()
    aspects: tuple[AspectItem, ...] = ()
    sentiments: tuple[AspectSentiment, ...] = ()
    stats: GateStats = GateStats()
    skip_reasons: GateSkipReasons = GateSkipReasons()
    gate_decision: Decision = Decision.SKIP
    # The reason of the skipped aspect that got furthest; None when one was applied or none was seen.
    representative_skip: SkipReason | None = None
    l3_types: tuple[str, ...] = ()
    log: tuple[CorrectionLogEntry, ...] = ()


class AdoptDecision(Word):
    ADOPTED = "adopted"
    NOT_ADOPTED = "not_adopted"


class EvComponents(Contract):
    debate_support: Real = 0.0
    validator_resolved: Real = 0.0
    grounding_improvement: Real = 0.0
    alignment_improvement: Real = 0.0


class AdoptOutcome(Contract):
    """`left_out` names debate tuples that could not be taken: their aspect is not in the text."""

    adopt_decision: AdoptDecision
    adopt_reason: str
    override_candidate: bool = False
    ev_score: Share = 0.0
    ev_adopted: bool = False
    ev_components: EvComponents = EvComponents()
    final_sentiments: tuple[AspectSentiment, ...] = ()
    final_tuples: tuple[SentimentTuple, ...] = ()
    left_out: tuple[SentimentTuple, ...] = ()


class OverrideOutcome(Contract):
    """Everything that was corrected after the debate, and what became of it."""

    decisions: tuple[GateDecision, ...] = ()
    stats: GateStats = GateStats()
    skip_reasons: GateSkipReasons = GateSkipReasons()
    gate_decision: Decision = Decision.SKIP
    representative_skip: SkipReason | None = None
    l3_types: tuple[str, ...] = ()
    log: tuple[CorrectionLogEntry, ...] = ()
    anchor_issues: tuple[str, ...] = ()
    adoption: AdoptOutcome


class GateDebugRecord(Contract):
    """One line of `override_gate_debug.jsonl` about an aspect; scores have four decimals."""

    text_id: str
    sample_idx: Whole
    aspect_term: str
    valid_hint_count: Whole
    invalid_hint_count: Whole
    hint_repair_count: Whole
    hint_polarity_sample: tuple[HintSample, ...]
    profile_id: str
    pos_score: Real
    neg_score: Real
    total: Real
    margin: Real
    target_pol: Polarity | None
    current_pol: Polarity | None
    current_conf: Real | None
    is_implicit: bool
    l3_flag: bool
    l3_types: tuple[str, ...]
    thresholds: OverrideEffective
    decision: Decision
    skip_reason: SkipReason | None
    override_action: OverrideAction | None
    evidence_ok: bool | None
    evidence_reason: str | None


class EvDebugRecord(Contract):
    """The line of `override_gate_debug.jsonl` that closes a sample."""

    type: Literal["ev_decision"] = "ev_decision"
    text_id: str
    sample_idx: Whole
    ev_score: Real
    ev_adopted: bool
    ev_components: EvComponents
    override_reason: str


class Distribution(Contract):
    """None throughout when there was nothing to measure."""

    min: Real | None = None
    mean: Real | None = None
    median: Real | None = None
    p90: Real | None = None
    p95: Real | None = None
    max: Real | None = None


class SampleAdoption(Contract):
    adopt_decision: AdoptDecision
    adopt_reason: str
    ev_score: Real
    ev_threshold: Real


class LowSignalBreakdown(Contract):
    neutral_only: Whole = 0
    low_signal: Whole = 0


class ThresholdNearRate(Contract):
    """The share of aspects that missed `min_total` and `min_margin` by at most 0.2."""

    total_near_rate: Real | None = None
    margin_near_rate: Real | None = None


class GateDebugSummary(Contract):
    """`override_gate_debug_summary.json`."""

    n_aspects: Whole
    decision_applied_n: Whole
    decision_skip_n: Whole
    skip_reason_count: dict[str, Whole]
    skip_reason_rate: dict[str, Real]
    skipped_neutral_only_n: Whole = 0
    low_signal_breakdown: LowSignalBreakdown
    override_hint_invalid_total: Whole
    override_hint_repair_total: Whole
    override_hint_invalid_rate: Real | None
    total_dist: Distribution
    margin_dist: Distribution
    threshold_near_rate: ThresholdNearRate
    by_sample: dict[str, SampleAdoption]
