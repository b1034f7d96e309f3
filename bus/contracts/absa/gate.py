"""Outcomes of the override gate and of the decision to adopt Stage 2."""

from typing import Literal

from pydantic import Field

from parley.bus.contracts.absa.debate import SentimentTuple
from parley.bus.contracts.absa.params import OverrideEffective
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity
from parley.bus.contracts.base import Contract, Share, Word


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
    pos_score: float = 0.0
    neg_score: float = 0.0
    total: float = 0.0
    margin: float = 0.0
    valid_hint_count: int = 0
    invalid_hint_count: int = 0
    hint_repair_count: int = 0
    hint_polarity_sample: tuple[HintSample, ...] = ()
    current_pol: Polarity | None = None
    current_conf: Share | None = None
    is_implicit: bool = False
    evidence_ok: bool | None = None
    evidence_reason: str | None = None


class GateStats(Contract):
    """Counts aspects. `skipped_neutral_only` is counted inside `skipped_low_signal` too."""

    applied: int = 0
    skipped_low_signal: int = 0
    skipped_neutral_only: int = 0
    skipped_conflict: int = 0
    skipped_already_confident: int = 0
    skipped_max_one_override_per_sample: int = 0
    skipped_no_evidence_span: int = 0
    skipped_evidence_span_not_in_text: int = 0
    skipped_evidence_span_missing_trigger: int = 0
    override_hint_invalid_total: int = 0
    override_hint_repair_total: int = 0
    override_disabled: bool = False


class GateSkipReasons(Contract):
    """Why aspects are counted as conflicts; `low_confidence` is reserved and stays 0."""

    action_ambiguity: int = 0
    l3_conservative: int = Field(default=0, alias="L3_conservative")
    implicit_soft_only: int = 0
    low_confidence: int = 0
    contradictory_memory: int = 0


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
    debate_support: float = 0.0
    validator_resolved: float = 0.0
    grounding_improvement: float = 0.0
    alignment_improvement: float = 0.0


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
    sample_idx: int
    aspect_term: str
    valid_hint_count: int
    invalid_hint_count: int
    hint_repair_count: int
    hint_polarity_sample: tuple[HintSample, ...]
    profile_id: str
    pos_score: float
    neg_score: float
    total: float
    margin: float
    target_pol: Polarity | None
    current_pol: Polarity | None
    current_conf: float | None
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
    sample_idx: int
    ev_score: float
    ev_adopted: bool
    ev_components: EvComponents
    override_reason: str


class Distribution(Contract):
    """None throughout when there was nothing to measure."""

    min: float | None = None
    mean: float | None = None
    median: float | None = None
    p90: float | None = None
    p95: float | None = None
    max: float | None = None


class SampleAdoption(Contract):
    adopt_decision: AdoptDecision
    adopt_reason: str
    ev_score: float
    ev_threshold: float


class LowSignalBreakdown(Contract):
    neutral_only: int = 0
    low_signal: int = 0


class ThresholdNearRate(Contract):
    """The share of aspects that missed the threshold by at most 0.2."""

    min_total: float | None = None
    min_margin: float | None = None


class GateDebugSummary(Contract):
    """`override_gate_debug_summary.json`."""

    n_aspects: int
    decision_applied_n: int
    decision_skip_n: int
    skip_reason_count: dict[str, int]
    skip_reason_rate: dict[str, float]
    low_signal_breakdown: LowSignalBreakdown
    override_hint_invalid_total: int
    override_hint_repair_total: int
    override_hint_invalid_rate: float | None
    total_dist: Distribution
    margin_dist: Distribution
    threshold_near_rate: ThresholdNearRate
    by_sample: dict[str, SampleAdoption]
