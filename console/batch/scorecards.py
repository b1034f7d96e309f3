"""
The scorecard of a sentence, with the field names that the brief's own scripts read.

They look for the record in `runtime.parsed_output`, for the memory in `meta.memory` and `memory`,
and for the override's figures in `meta` and `debate`.
"""

from parley.bus.contracts.absa.gate import GateSkipReasons
from parley.bus.contracts.absa.memory import MemoryMeta
from parley.bus.contracts.absa.moderator import ModeratorOutput, StageLabel, ValidatorView
from parley.bus.contracts.absa.record import AnalysisFlags, FinalOutput, OverrideStats
from parley.bus.contracts.absa.review import MappingFailReasons, MappingStats
from parley.bus.contracts.base import Contract
from parley.coordinator.protocols.absa.output.integrity import S3Result
from parley.coordinator.protocols.absa.output.metrics import DebateScorecard, scorecard
from parley.coordinator.protocols.absa.result import RunSummary

# The one speaker that sees the memory slot.
_SEES_MEMORY = ("cj",)


class SentenceLine(FinalOutput):
    """`run` is None in what was written elsewhere."""

    run: RunSummary | None = None


class CardMemory(MemoryMeta):
    memory_debate_slot_present_for: tuple[str, ...] = ()
    stage2_memory_injected: bool = False


class CardMeta(Contract):
    run_id: str
    text_id: str
    mode: str = "proposed"
    input_text: str
    case_type: str
    split: str
    protocol_mode: str
    profile: str
    debate_mapping_stats: MappingStats
    debate_mapping_coverage: float | None
    debate_mapping_fail_reasons: MappingFailReasons
    debate_override_stats: OverrideStats
    debate_override_skip_reasons: GateSkipReasons
    # Hints whose polarity was misspelt: repaired where `polarity_repair` is on, invalid otherwise.
    polarity_repair_count: int
    polarity_invalid_count: int
    memory: CardMemory


class CardRuntime(Contract):
    """`error` is why a debate that left a record did not run as planned."""

    uid: str
    split: str
    parsed_output: SentenceLine
    error: str | None
    tokens_in: int
    tokens_out: int
    cost_usd: float


class Scorecard(Contract):
    run_id: str
    profile: str
    meta: CardMeta
    debate: DebateScorecard
    memory: CardMemory
    moderator: ModeratorOutput
    stage1_ate: StageLabel
    stage2_ate: StageLabel | None
    validator: tuple[ValidatorView, ...]
    flags: AnalysisFlags
    integrity: S3Result
    runtime: CardRuntime


def scorecard_of(record: SentenceLine, integrity: S3Result, text: str, run_id: str) -> Scorecard:
    debate = scorecard(record)
    memory = _memory(record.meta.memory)
    views = (record.stage1_validator, record.stage2_validator)
    profile = record.meta.debate_override_effective.profile_id
    return Scorecard(
        run_id=run_id,
        profile=profile,
        meta=_meta(record, debate, memory, text, run_id),
        debate=debate,
        memory=memory,
        moderator=record.moderator,
        stage1_ate=record.stage1_ate,
        stage2_ate=record.stage2_ate,
        validator=tuple(one for one in views if one is not None),
        flags=record.analysis_flags,
        integrity=integrity,
        runtime=_runtime(record),
    )


def _meta(
    record: SentenceLine, debate: DebateScorecard, memory: CardMemory, text: str, run_id: str
) -> CardMeta:
    meta = record.meta
    return CardMeta(
        run_id=run_id,
        text_id=meta.text_id,
        input_text=text,
        case_type=meta.case_type,
        split=meta.split,
        protocol_mode=meta.protocol,
        profile=meta.debate_override_effective.profile_id,
        debate_mapping_stats=debate.mapping_stats,
        debate_mapping_coverage=debate.mapping_coverage,
        debate_mapping_fail_reasons=debate.mapping_fail_reasons,
        debate_override_stats=meta.debate_override_stats,
        debate_override_skip_reasons=meta.debate_override_skip_reasons,
        polarity_repair_count=meta.debate_override_stats.override_hint_repair_total,
        polarity_invalid_count=meta.debate_override_stats.override_hint_invalid_total,
        memory=memory,
    )


def _runtime(record: SentenceLine) -> CardRuntime:
    run = record.run
    assert run is not None, "a batch writes how each debate went"
    return CardRuntime(
        uid=record.meta.text_id,
        split=record.meta.split,
        parsed_output=record,
        error=run.errors[0].reason if run.errors else None,
        tokens_in=run.usage.input_tokens,
        tokens_out=run.usage.output_tokens,
        cost_usd=run.usage.cost,
    )


def _memory(meta: MemoryMeta) -> CardMemory:
    return CardMemory(
        **meta.model_dump(),
        memory_debate_slot_present_for=_SEES_MEMORY if meta.exposed_to_debate else (),
        stage2_memory_injected=meta.exposed_to_stage2,
    )
