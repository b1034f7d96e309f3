"""Figures of a run about mapping and overrides, and when they deserve a warning."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from parley.bus.contracts.absa.gate import AdoptDecision
from parley.bus.contracts.absa.params import WarningThresholds
from parley.bus.contracts.absa.record import FinalOutput, OverrideStats
from parley.bus.contracts.absa.review import MappingFailReasons, MappingStats
from parley.bus.contracts.base import Contract
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import above, below
from parley.coordinator.protocols.absa.rules.adopt import EV_BELOW_THRESHOLD, validator_resolved

RARE_OVERRIDES = 0.5
Level = Literal["[WARN/LOW]", "[WARN/HIGH]", "[NOTE]"]


class DebateScorecard(Contract):
    """The `debate` block of a sample's scorecard."""

    mapping_stats: MappingStats = MappingStats()
    mapping_coverage: float | None = None
    mapping_fail_reasons: MappingFailReasons = MappingFailReasons()
    override_stats: OverrideStats = OverrideStats()


class DebateMetrics(Contract):
    """None where nothing was there to divide by."""

    debate_mapping_coverage: float | None = None
    debate_mapping_direct_rate: float | None = None
    debate_mapping_fallback_rate: float | None = None
    debate_mapping_none_rate: float | None = None
    debate_fail_no_aspects_rate: float | None = None
    debate_fail_no_match_rate: float | None = None
    debate_fail_neutral_stance_rate: float | None = None
    debate_fail_fallback_used_rate: float | None = None
    debate_override_applied: int = 0
    debate_override_skipped_low_signal: int = 0
    debate_override_skipped_conflict: int = 0
    debate_override_skipped_already_confident: int = 0
    debate_override_skipped_already_confident_rate: float | None = None


class AdoptionMetrics(Contract):
    """Of all samples, except `risk_resolution_rate`: of those with a structural risk."""

    polarity_repair_rate: float | None = None
    polarity_invalid_rate: float | None = None
    override_applied_and_adopted_rate: float | None = None
    override_applied_but_ev_rejected_rate: float | None = None
    adopt_reason_counts: dict[str, int] = Field(default_factory=dict)
    guided_change_rate: float | None = None
    risk_resolution_rate: float | None = None


class Warned(Contract):
    level: Level
    metric: str
    value: float
    tip: str


def scorecard(record: FinalOutput) -> DebateScorecard:
    context = record.meta.debate_review_context
    stats = context.mapping_stats if context is not None else MappingStats()
    reasons = context.mapping_fail_reasons if context is not None else MappingFailReasons()
    return DebateScorecard(
        mapping_stats=stats,
        mapping_coverage=_ratio(stats.direct + stats.fallback, stats.total),
        mapping_fail_reasons=reasons,
        override_stats=record.meta.debate_override_stats,
    )


def debate_metrics(cards: Sequence[DebateScorecard]) -> DebateMetrics:
    mapped = [card.mapping_stats for card in cards if card.mapping_stats.total]
    reasons = [card.mapping_fail_reasons for card in cards if card.mapping_stats.total]
    turns = sum(stats.total for stats in mapped)
    overrides = [card.override_stats for card in cards]
    applied = sum(stats.applied for stats in overrides)
    low = sum(stats.skipped_low_signal for stats in overrides)
    conflict = sum(stats.skipped_conflict for stats in overrides)
    confident = sum(stats.skipped_already_confident for stats in overrides)
    return DebateMetrics(
        debate_mapping_coverage=_mean([(s.direct + s.fallback) / s.total for s in mapped]),
        debate_mapping_direct_rate=_mean([s.direct / s.total for s in mapped]),
        debate_mapping_fallback_rate=_mean([s.fallback / s.total for s in mapped]),
        debate_mapping_none_rate=_mean([s.none / s.total for s in mapped]),
        debate_fail_no_aspects_rate=_ratio(sum(r.no_aspects for r in reasons), turns),
        debate_fail_no_match_rate=_ratio(sum(r.no_match for r in reasons), turns),
        debate_fail_neutral_stance_rate=_ratio(sum(r.neutral_stance for r in reasons), turns),
        debate_fail_fallback_used_rate=_ratio(sum(r.fallback_used for r in reasons), turns),
        debate_override_applied=applied,
        debate_override_skipped_low_signal=low,
        debate_override_skipped_conflict=conflict,
        debate_override_skipped_already_confident=confident,
        debate_override_skipped_already_confident_rate=_ratio(
            confident, applied + low + conflict + confident
        ),
    )


def adoption_metrics(records: Sequence[FinalOutput]) -> AdoptionMetrics:
    metas = [record.meta for record in records]
    repairs = sum(meta.debate_override_stats.override_hint_repair_total for meta in metas)
    invalid = sum(meta.debate_override_stats.override_hint_invalid_total for meta in metas)
    applied = [meta for meta in metas if meta.debate_override_stats.override_applied]
    adopted = sum(meta.adopt_decision is AdoptDecision.ADOPTED for meta in applied)
    rejected = sum(meta.adopt_reason == EV_BELOW_THRESHOLD for meta in applied)
    changed = sum(_changed(record) for record in records)
    risky = [record for record in records if record.meta.structural_risk_count]
    resolved = sum(validator_resolved(record.meta.correction_applied_log) for record in risky)
    return AdoptionMetrics(
        polarity_repair_rate=_ratio(repairs, repairs + invalid),
        polarity_invalid_rate=_ratio(invalid, repairs + invalid),
        override_applied_and_adopted_rate=_ratio(adopted, len(records)),
        override_applied_but_ev_rejected_rate=_ratio(rejected, len(records)),
        adopt_reason_counts=dict(Counter(meta.adopt_reason for meta in metas)),
        guided_change_rate=_ratio(changed, len(records)),
        risk_resolution_rate=_ratio(resolved, len(risky)),
    )


def warnings(metrics: DebateMetrics, limits: WarningThresholds) -> tuple[Warned, ...]:
    found = [
        _warned(
            "debate_mapping_coverage",
            metrics.debate_mapping_coverage,
            below,
            (limits.coverage_warn, limits.coverage_high),
            "Name aspects in the prompts, widen the synonyms, check the aspect token regex.",
        ),
        _warned(
            "debate_fail_no_match_rate",
            metrics.debate_fail_no_match_rate,
            above,
            (limits.no_match_warn, limits.no_match_high),
            "Add synonyms and ask the speakers to name the aspects they mean.",
        ),
        _warned(
            "debate_fail_neutral_stance_rate",
            metrics.debate_fail_neutral_stance_rate,
            above,
            (limits.neutral_warn, limits.neutral_high),
            "Give the personas sharper stances.",
        ),
    ]
    rate = metrics.debate_override_skipped_already_confident_rate
    if rate is not None and above(rate, RARE_OVERRIDES):
        found.append(
            Warned(
                level="[NOTE]",
                metric="debate_override_skipped_already_confident_rate",
                value=rate,
                tip="Overrides are rare because results were already confident.",
            )
        )
    return tuple(warned for warned in found if warned is not None)


def _warned(
    metric: str,
    value: float | None,
    beyond: Callable[[float, float], bool],
    limits: tuple[float, float],
    tip: str,
) -> Warned | None:
    warn, high = limits
    if value is None or not beyond(value, warn):
        return None
    level: Level = "[WARN/HIGH]" if beyond(value, high) else "[WARN/LOW]"
    return Warned(level=level, metric=metric, value=value, tip=tip)


def _changed(record: FinalOutput) -> bool:
    result = record.final_result
    before = {(item.key, item.polarity) for item in result.stage1_tuples}
    return before != {(item.key, item.polarity) for item in result.final_tuples}


def _mean(values: Sequence[float]) -> float | None:
    return total_of(values) / len(values) if values else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
