"""The output record of one sample: the result, and everything needed to explain it."""

from pydantic import JsonValue, SkipValidation

from parley.bus.contracts.absa.debate import (
    DebateOutput,
    DebateSummary,
    Protocol,
    SentimentTuple,
)
from parley.bus.contracts.absa.gate import (
    AdoptDecision,
    Decision,
    EvComponents,
    GateSkipReasons,
    GateStats,
    SkipReason,
)
from parley.bus.contracts.absa.memory import MemoryMeta
from parley.bus.contracts.absa.moderator import (
    ModeratorOutput,
    SpanLabel,
    Stage,
    StageLabel,
    ValidatorView,
)
from parley.bus.contracts.absa.params import OverrideEffective
from parley.bus.contracts.absa.review import CorrectionLogEntry, ReviewContext
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Passage, SentenceLabel
from parley.bus.contracts.base import Contract, Share, Whole


class SampleIdentity(Contract):
    """Whose record this is; empty where the caller gave nothing."""

    text_id: str = ""
    uid: str = ""
    case_type: str = ""
    split: str = ""
    language_code: str = "ko"
    domain_id: str = ""


class OverrideStats(GateStats):
    """The gate's counters and what became of them in the decision to adopt."""

    ev_score: Share = 0.0
    ev_adopted: bool = False
    ev_components: EvComponents = EvComponents()
    override_candidate: bool = False
    override_applied: bool = False
    override_effect_applied: bool = False
    override_reason: str = ""


class RecordMeta(SampleIdentity):
    input_text: Passage = ""
    protocol: Protocol = "v2"
    gate_decision: Decision = Decision.SKIP
    adopt_decision: AdoptDecision = AdoptDecision.NOT_ADOPTED
    adopt_reason: str = ""
    override_skipped_reason: SkipReason | None = None
    override_evidence_gate_reason: SkipReason | None = None
    debate_override_stats: OverrideStats = OverrideStats()
    debate_override_skip_reasons: GateSkipReasons = GateSkipReasons()
    debate_override_effective: OverrideEffective = OverrideEffective()
    ev_score: Share = 0.0
    ev_threshold: Share = 0.5
    debate_summary: DebateSummary | None = None
    debate_review_context: ReviewContext | None = None
    correction_applied_log: tuple[CorrectionLogEntry, ...] = ()
    stage1_aspects: tuple[AspectItem, ...] = ()
    stage2_aspects: tuple[AspectItem, ...] = ()
    structural_risk_count: Whole = 0
    selected_stage: Stage = "stage1"
    # Debate tuples that were not taken though the debate's set was: their aspect is not in the text.
    tuples_left_out: tuple[SentimentTuple, ...] = ()
    memory: MemoryMeta = MemoryMeta()


class TraceEntry(Contract):
    stage: str
    agent: str
    uid: str = ""
    case_type: str = ""
    split: str = ""
    language_code: str = "ko"
    domain_id: str = ""
    input_text: Passage = ""
    # A model's dump, or read from JSON: to look at every value of it again would take longest of all.
    output: SkipValidation[JsonValue] = None
    notes: tuple[str, ...] = ()
    call_metadata: dict[str, JsonValue] | None = None


class AnalysisFlags(Contract):
    correction_occurred: bool = False
    conflict_resolved: bool = False
    final_confidence_score: Share = 0.0
    stage2_executed: bool = False


class FinalResult(Contract):
    """`final_tuples` is the single source of truth for metrics."""

    label: SentenceLabel
    confidence: Share
    rationale: str = ""
    final_aspects: tuple[AspectSentiment, ...] = ()
    stage1_tuples: tuple[SentimentTuple, ...] = ()
    stage2_tuples: tuple[SentimentTuple, ...] = ()
    final_tuples: tuple[SentimentTuple, ...] = ()


class FinalOutput(Contract):
    meta: RecordMeta
    stage1_ate: StageLabel
    stage1_atsa: SpanLabel
    stage1_validator: ValidatorView
    stage2_ate: StageLabel | None = None
    stage2_atsa: SpanLabel | None = None
    stage2_validator: ValidatorView | None = None
    moderator: ModeratorOutput
    debate: DebateOutput | None = None
    process_trace: tuple[TraceEntry, ...] = ()
    analysis_flags: AnalysisFlags
    final_result: FinalResult
