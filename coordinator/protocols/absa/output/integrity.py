"""
S3: does a record's result follow from what it says it decided?

A result that differs from the debate's set of tuples needs a decision against adopting it, with a
reason of one of four kinds. What else looks odd (S1, S2, aspects outside the text) is only noted.
"""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import ConfigDict

from parley.bus.contracts.absa.debate import DebateSummary, SentimentTuple
from parley.bus.contracts.absa.memory import MemoryMeta
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import AspectItem
from parley.bus.contracts.base import Contract
from parley.coordinator.protocols.absa.rules.adopt import GATE_OFF
from parley.coordinator.protocols.absa.rules.final import tuple_key
from parley.coordinator.protocols.absa.rules.polarity import canonical

EV_VIOLATION: Final = "ev_decision_or_reason_violation"
UNKNOWN_ASPECT: Final = "tuple_aspect_ref_not_in_final_aspects"

CANONICAL_REASONS: dict[str, str] = {
    "ev_below_threshold": "low_ev",
    "low_signal": "low_ev",
    "max_one_override_per_sample": "low_ev",
    "neutral_only": "low_ev",
    "l3_conservative": "conflict",
    "conflict_blocked": "conflict",
    "action_ambiguity": "conflict",
    "implicit_soft_only": "conflict",
    "no_evidence_span": "no_evidence",
    "evidence_span_not_in_text": "no_evidence",
    "evidence_span_missing_trigger": "no_evidence",
    "contradictory_memory": "memory_contradiction",
}
ALLOWED_REASONS = frozenset(CANONICAL_REASONS.values())


class _View(Contract):
    """The part of a record the check looks at; a record of another version may hold more."""

    model_config = ConfigDict(extra="ignore")


class MetaView(_View):
    text_id: str = ""
    adopt_decision: str = ""
    adopt_reason: str = ""
    debate_summary: DebateSummary | None = None
    tuples_left_out: tuple[SentimentTuple, ...] = ()
    stage1_aspects: tuple[AspectItem, ...] = ()
    debate_review_context: ReviewContext | None = None
    memory: MemoryMeta | None = None


class AspectView(SentimentTuple):
    model_config = ConfigDict(extra="ignore")


class ResultView(_View):
    """Without `final_aspects` (a record cut down to its tuples) there is nothing to compare with."""

    final_tuples: tuple[SentimentTuple, ...] = ()
    final_aspects: tuple[AspectView, ...] | None = None


class TraceView(_View):
    input_text: str = ""


class RecordView(_View):
    meta: MetaView = MetaView()
    final_result: ResultView = ResultView()
    process_trace: tuple[TraceView, ...] = ()


Violated = Literal["ev_decision_or_reason_violation", "tuple_aspect_ref_not_in_final_aspects"]


class S3Violation(Contract):
    text_id: str
    reason: Violated
    ev_decision_reject: bool
    ev_reason_raw: str
    ev_reason_canon: str | None
    aspects: tuple[str, ...] = ()


class S3Result(Contract):
    """`ev_reason` is the kind of reason that excuses a difference; None when none was needed."""

    text_id: str
    passed: bool
    evaluated: bool
    ev_reason: str | None = None
    violations: tuple[S3Violation, ...] = ()
    notes: tuple[str, ...] = ()


def canonical_reason(raw: str) -> str | None:
    folded = raw.strip().lower().replace("-", "_")
    return folded if folded in ALLOWED_REASONS else CANONICAL_REASONS.get(folded)


def check_record(record: RecordView) -> S3Result:
    meta = record.meta
    if meta.adopt_reason == GATE_OFF:
        return S3Result(text_id=meta.text_id, passed=True, evaluated=False, notes=_notes(record))
    reason = canonical_reason(meta.adopt_reason)
    rejected = meta.adopt_decision == "not_adopted"
    differs = _differs_from_debate(record)
    excused = rejected and reason is not None
    strangers = _strangers(record.final_result)
    violations = []
    if differs and not excused:
        violations.append(_violation(meta, EV_VIOLATION, reason))
    if strangers:
        violations.append(_violation(meta, UNKNOWN_ASPECT, reason, strangers))
    return S3Result(
        text_id=meta.text_id,
        passed=not violations,
        evaluated=True,
        ev_reason=reason if differs and excused else None,
        violations=tuple(violations),
        notes=_notes(record),
    )


def check_run(records: Sequence[RecordView], *, scorecards: int, traces: int) -> tuple[str, ...]:
    """What is odd about a run as a whole; none of it is a violation."""
    notes = []
    if not len(records) == scorecards == traces:
        notes.append(f"record counts differ: {len(records)}/{scorecards}/{traces}")
    writing = [
        record.meta.memory
        for record in records
        if record.meta.memory is not None and record.meta.memory.condition.writes
    ]
    if writing and len({memory.stored for memory in writing}) == 1:
        notes.append("a writing run should both store and skip episodes")
    return tuple(notes)


def _violation(
    meta: MetaView, reason: Violated, canon: str | None, aspects: tuple[str, ...] = ()
) -> S3Violation:
    return S3Violation(
        text_id=meta.text_id,
        reason=reason,
        ev_decision_reject=meta.adopt_decision == "not_adopted",
        ev_reason_raw=meta.adopt_reason,
        ev_reason_canon=canon,
        aspects=aspects,
    )


def _pairs(tuples: Sequence[SentimentTuple]) -> set[tuple[str, str | None]]:
    """A polarity outside the contract stands for itself, so that it never equals one inside."""
    return {(tuple_key(item.key), canonical(item.polarity) or item.polarity) for item in tuples}


def _differs_from_debate(record: RecordView) -> bool:
    summary = record.meta.debate_summary
    if summary is None or not summary.final_tuples:
        return False
    debate = _pairs(summary.final_tuples) - _pairs(record.meta.tuples_left_out)
    return debate != _pairs(record.final_result.final_tuples)


def _strangers(result: ResultView) -> tuple[str, ...]:
    if result.final_aspects is None:
        return ()
    known = {tuple_key(item.key) for item in result.final_aspects}
    return tuple(item.key for item in result.final_tuples if tuple_key(item.key) not in known)


def _notes(record: RecordView) -> tuple[str, ...]:
    notes = []
    if _differs_from_debate(record):
        notes.append("S1: the debate's tuples differ from the result")
    aspects = record.final_result.final_aspects
    if aspects is not None and _pairs(record.final_result.final_tuples) != _pairs(aspects):
        notes.append("S2: final_tuples differ from final_aspects")
    if record.process_trace:
        text = record.process_trace[0].input_text
        outside = [item.term for item in record.meta.stage1_aspects if item.term not in text]
        notes += [f"stage1 aspect not in the text: {term}" for term in outside]
    memory, context = record.meta.memory, record.meta.debate_review_context
    if memory is not None and memory.exposed_to_stage2 and (context is None or not context.memory):
        notes.append("the Stage 2 memory slot is claimed but absent")
    return tuple(notes)
