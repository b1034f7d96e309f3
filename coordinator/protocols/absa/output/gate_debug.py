"""The gate's decisions as lines to look into (`override_gate_debug.jsonl`), and their summary."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.gate import (
    AdoptOutcome,
    Decision,
    Distribution,
    EvDebugRecord,
    GateDebugRecord,
    GateDebugSummary,
    GateDecision,
    GateOutcome,
    LowSignalBreakdown,
    SampleAdoption,
    SkipReason,
    ThresholdNearRate,
)
from parley.bus.contracts.absa.params import OverrideEffective
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import at_least, below

DECIMALS = 4
NEAR = 0.2
P90, P95, MEDIAN = 0.9, 0.95, 0.5
_ROUNDED = {"pos_score", "neg_score", "total", "margin"}
# What a line of the debug file takes over as the gate decided it.
_SHARED = (set(GateDecision.model_fields) & set(GateDebugRecord.model_fields)) - _ROUNDED


@dataclass(frozen=True, slots=True)
class SampleGate:
    """What the gate and the decision to adopt said of one sample."""

    text_id: str
    sample_idx: int
    gate: GateOutcome
    adoption: AdoptOutcome
    thresholds: OverrideEffective


def debug_records(sample: SampleGate) -> tuple[GateDebugRecord | EvDebugRecord, ...]:
    aspects = tuple(
        GateDebugRecord(
            **{name: getattr(item, name) for name in _SHARED},
            **{name: round(getattr(item, name), DECIMALS) for name in _ROUNDED},
            text_id=sample.text_id,
            sample_idx=sample.sample_idx,
            aspect_term=item.aspect,
            profile_id=sample.thresholds.profile_id,
            l3_flag=bool(sample.gate.l3_types),
            l3_types=sample.gate.l3_types,
            thresholds=sample.thresholds,
            override_action=item.action,
        )
        for item in sample.gate.decisions
    )
    closing = EvDebugRecord(
        text_id=sample.text_id,
        sample_idx=sample.sample_idx,
        ev_score=sample.adoption.ev_score,
        ev_adopted=sample.adoption.ev_adopted,
        ev_components=sample.adoption.ev_components,
        override_reason=sample.adoption.adopt_reason,
    )
    return (*aspects, closing)


def debug_summary(samples: Sequence[SampleGate]) -> GateDebugSummary:
    decisions = [(item, sample.thresholds) for sample in samples for item in sample.gate.decisions]
    skips = Counter(item.skip_reason.value for item, _ in decisions if item.skip_reason is not None)
    applied = sum(item.decision is Decision.APPLY for item, _ in decisions)
    invalid = sum(item.invalid_hint_count for item, _ in decisions)
    hints = invalid + sum(item.valid_hint_count for item, _ in decisions)
    n = len(decisions)
    return GateDebugSummary(
        n_aspects=n,
        decision_applied_n=applied,
        decision_skip_n=n - applied,
        skip_reason_count=dict(skips),
        skip_reason_rate={reason: round(count / n, DECIMALS) for reason, count in skips.items()},
        skipped_neutral_only_n=skips[SkipReason.NEUTRAL_ONLY.value],
        low_signal_breakdown=LowSignalBreakdown(
            neutral_only=skips[SkipReason.NEUTRAL_ONLY.value],
            low_signal=skips[SkipReason.LOW_SIGNAL.value],
        ),
        override_hint_invalid_total=invalid,
        override_hint_repair_total=sum(item.hint_repair_count for item, _ in decisions),
        override_hint_invalid_rate=round(invalid / hints, DECIMALS) if hints else None,
        total_dist=distribution([item.total for item, _ in decisions]),
        margin_dist=distribution([item.margin for item, _ in decisions]),
        threshold_near_rate=ThresholdNearRate(
            total_near_rate=_near_rate(
                [(item.total, limits.min_total) for item, limits in decisions]
            ),
            margin_near_rate=_near_rate(
                [(item.margin, limits.min_margin) for item, limits in decisions]
            ),
        ),
        by_sample={sample.text_id: _adoption(sample) for sample in samples},
    )


def distribution(values: Sequence[float]) -> Distribution:
    if not values:
        return Distribution()
    ordered = sorted(values)
    return Distribution(
        min=round(ordered[0], DECIMALS),
        mean=round(total_of(ordered) / len(ordered), DECIMALS),
        median=round(quantile(ordered, MEDIAN), DECIMALS),
        p90=round(quantile(ordered, P90), DECIMALS),
        p95=round(quantile(ordered, P95), DECIMALS),
        max=round(ordered[-1], DECIMALS),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two nearest of the sorted values."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _near_rate(pairs: Sequence[tuple[float, float]]) -> float | None:
    if not pairs:
        return None
    near = sum(below(value, limit) and at_least(value, limit - NEAR) for value, limit in pairs)
    return round(near / len(pairs), DECIMALS)


def _adoption(sample: SampleGate) -> SampleAdoption:
    return SampleAdoption(
        adopt_decision=sample.adoption.adopt_decision,
        adopt_reason=sample.adoption.adopt_reason,
        ev_score=sample.adoption.ev_score,
        ev_threshold=sample.thresholds.ev_threshold,
    )
