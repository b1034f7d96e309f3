"""
The override gate: may the debate change what Stage 2 says of an aspect?

Aspects are taken in the order of their hints, steps in the order of the table; the first step that
applies decides. The strict gate (protocol v2) asks for quoted evidence and lets one override
through per sample. The plain gate (protocol v1, whose judge quotes nothing) weighs hints only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from parley.bus.contracts.absa.debate import DebateSummary, Protocol
from parley.bus.contracts.absa.gate import (
    Decision,
    GateDecision,
    GateOutcome,
    GateSkipReasons,
    GateStats,
    OverrideAction,
    SkipReason,
)
from parley.bus.contracts.absa.params import OverrideThresholds
from parley.bus.contracts.absa.review import AspectHint, CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    StructuralRisk,
)
from parley.coordinator.core.tolerance import below
from parley.coordinator.protocols.absa.output.scores import Scores, score_hints
from parley.coordinator.protocols.absa.rules.evidence import (
    Actionable,
    evidence_span,
    has_actionable_evidence,
)
from parley.coordinator.protocols.absa.rules.override import (
    Draft,
    add_sentiment,
    already_confident,
    flip_sentiments,
)
from parley.coordinator.protocols.absa.rules.postprocess import risk_type

L3_TYPES = frozenset(
    {"NEGATION_SCOPE", "CONTRAST_SCOPE", "POLARITY_MISMATCH", "NEGATION", "CONTRAST", "IRONY"}
)
CONFLICTS = (
    SkipReason.ACTION_AMBIGUITY,
    SkipReason.L3_CONSERVATIVE,
    SkipReason.CONTRADICTORY_MEMORY,
    SkipReason.IMPLICIT_SOFT_ONLY,
)


@dataclass(frozen=True, slots=True)
class GateInput:
    """`dropped` names aspects removed earlier in this run; `blocked` what the memory warns against."""

    text: str
    aspect_hints: Mapping[str, Sequence[AspectHint]]
    summary: DebateSummary
    structural_risks: Sequence[StructuralRisk]
    aspects: Sequence[AspectItem]
    sentiments: Sequence[AspectSentiment]
    thresholds: OverrideThresholds
    polarity_repair: bool = False
    dropped: frozenset[str] = frozenset()
    blocked: frozenset[tuple[str, Polarity]] = frozenset()


@dataclass(frozen=True, slots=True)
class _Case:
    """One aspect before the gate."""

    aspect: str
    scores: Scores
    evidence: Actionable
    matching: Sequence[AspectSentiment]
    given: GateInput
    l3: bool
    spent: bool


@dataclass(slots=True)
class _Ledger:
    decisions: list[GateDecision] = field(default_factory=list)
    log: list[CorrectionLogEntry] = field(default_factory=list)


_Step = tuple[Callable[[_Case], bool], SkipReason]


def run_gate(given: GateInput, protocol: Protocol) -> GateOutcome:
    """The strict gate for v2, the plain one for v1."""
    strict = protocol == "v2"
    steps = STRICT_STEPS if strict else PLAIN_STEPS
    l3_types = l3_risks(given.structural_risks)
    draft = Draft(
        text=given.text,
        aspects=list(given.aspects),
        sentiments=list(given.sentiments),
        dropped=set(given.dropped),
    )
    ledger = _Ledger()
    spent = False
    for aspect, hints in given.aspect_hints.items():
        case = _Case(
            aspect=aspect,
            scores=score_hints(hints, repair=given.polarity_repair),
            evidence=has_actionable_evidence(given.text, evidence_span(given.summary, aspect)),
            matching=[item for item in draft.sentiments if item.key == aspect],
            given=given,
            l3=bool(l3_types),
            spent=spent,
        )
        skipped = next((reason for applies, reason in steps if applies(case)), None)
        action = _act(case, draft, ledger, only_explicit=strict) if skipped is None else None
        if skipped is None and action is None:
            skipped = SkipReason.ALREADY_CONFIDENT
        spent = spent or (strict and action is not None)
        ledger.decisions.append(_decision(case, skipped, action, strict=strict))
    return _outcome(draft, ledger, l3_types)


def disabled_gate(
    aspects: Sequence[AspectItem], sentiments: Sequence[AspectSentiment]
) -> GateOutcome:
    return GateOutcome(
        aspects=tuple(aspects),
        sentiments=tuple(sentiments),
        stats=GateStats(override_disabled=True),
    )


def idle_gate(aspects: Sequence[AspectItem], sentiments: Sequence[AspectSentiment]) -> GateOutcome:
    """No debate ran: the gate was open, but nobody came."""
    return GateOutcome(aspects=tuple(aspects), sentiments=tuple(sentiments))


def l3_risks(risks: Sequence[StructuralRisk]) -> tuple[str, ...]:
    """Types of the risks that make a change of polarity dangerous, wherever they stand."""
    return tuple(dict.fromkeys(kind for kind in map(risk_type, risks) if kind in L3_TYPES))


def _low_signal(case: _Case) -> bool:
    return below(case.scores.total, case.given.thresholds.min_total)


def _ambiguous(case: _Case) -> bool:
    return below(case.scores.margin, case.given.thresholds.min_margin)


def _evidence_fails(reason: SkipReason) -> Callable[[_Case], bool]:
    return lambda case: case.evidence.reason is reason


def _all_implicit(case: _Case) -> bool:
    return bool(case.matching) and all(item.is_implicit for item in case.matching)


STRICT_STEPS: tuple[_Step, ...] = (
    (lambda case: case.spent, SkipReason.MAX_ONE_OVERRIDE),
    (lambda case: case.scores.valid == 0, SkipReason.NEUTRAL_ONLY),
    *(
        (_evidence_fails(reason), reason)
        for reason in (
            SkipReason.NO_EVIDENCE_SPAN,
            SkipReason.EVIDENCE_NOT_IN_TEXT,
            SkipReason.EVIDENCE_MISSING_TRIGGER,
        )
    ),
    (_low_signal, SkipReason.LOW_SIGNAL),
    (_ambiguous, SkipReason.ACTION_AMBIGUITY),
    (lambda case: case.l3 and case.given.thresholds.l3_conservative, SkipReason.L3_CONSERVATIVE),
    (
        lambda case: (case.aspect, case.scores.target) in case.given.blocked,
        SkipReason.CONTRADICTORY_MEMORY,
    ),
    (_all_implicit, SkipReason.IMPLICIT_SOFT_ONLY),
)
PLAIN_STEPS: tuple[_Step, ...] = (
    (_low_signal, SkipReason.LOW_SIGNAL),
    (_ambiguous, SkipReason.ACTION_AMBIGUITY),
)


def _act(
    case: _Case, draft: Draft, ledger: _Ledger, *, only_explicit: bool
) -> OverrideAction | None:
    """Change the draft; None when every sentiment already says so confidently."""
    target, floor = case.scores.target, case.given.thresholds.min_target_conf
    if not case.matching:
        ledger.log.append(add_sentiment(draft, case.aspect, target, floor))
        return OverrideAction.ADD
    candidates = [item for item in case.matching if not (only_explicit and item.is_implicit)]
    if all(already_confident(item, target, floor) for item in candidates):
        return None
    ledger.log.extend(flip_sentiments(draft, candidates, target, floor))
    return OverrideAction.FLIP


def _decision(
    case: _Case, skipped: SkipReason | None, action: OverrideAction | None, *, strict: bool
) -> GateDecision:
    scores, current = case.scores, case.matching[0] if case.matching else None
    return GateDecision(
        aspect=case.aspect,
        decision=Decision.APPLY if action is not None else Decision.SKIP,
        skip_reason=skipped,
        action=action,
        target_pol=scores.target if scores.valid else None,
        pos_score=scores.pos,
        neg_score=scores.neg,
        total=scores.total,
        margin=scores.margin,
        valid_hint_count=scores.valid,
        invalid_hint_count=scores.invalid,
        hint_repair_count=scores.repaired,
        hint_polarity_sample=scores.sample,
        current_pol=current.polarity if current is not None else None,
        current_conf=current.confidence if current is not None else None,
        is_implicit=_all_implicit(case),
        evidence_ok=case.evidence.ok if strict else None,
        evidence_reason=case.evidence.reason if strict else None,
    )


def _outcome(draft: Draft, ledger: _Ledger, l3_types: tuple[str, ...]) -> GateOutcome:
    applied = any(item.decision is Decision.APPLY for item in ledger.decisions)
    return GateOutcome(
        decisions=tuple(ledger.decisions),
        aspects=tuple(draft.aspects),
        sentiments=tuple(draft.sentiments),
        stats=_stats(ledger.decisions),
        skip_reasons=_skip_reasons(ledger.decisions),
        gate_decision=Decision.APPLY if applied else Decision.SKIP,
        representative_skip=None if applied else representative_skip(ledger.decisions),
        l3_types=l3_types,
        log=tuple(ledger.log),
    )


def representative_skip(decisions: Sequence[GateDecision]) -> SkipReason | None:
    """The reason of the aspect that got furthest through the steps; the first of equals."""
    order = list(SkipReason)
    reasons = [item.skip_reason for item in decisions if item.skip_reason is not None]
    return max(reasons, key=order.index, default=None)


def _stats(decisions: Sequence[GateDecision]) -> GateStats:
    seen = [item.skip_reason for item in decisions].count
    return GateStats(
        applied=seen(None),
        skipped_low_signal=seen(SkipReason.LOW_SIGNAL) + seen(SkipReason.NEUTRAL_ONLY),
        skipped_neutral_only=seen(SkipReason.NEUTRAL_ONLY),
        skipped_conflict=sum(seen(reason) for reason in CONFLICTS),
        skipped_already_confident=seen(SkipReason.ALREADY_CONFIDENT),
        skipped_max_one_override_per_sample=seen(SkipReason.MAX_ONE_OVERRIDE),
        skipped_no_evidence_span=seen(SkipReason.NO_EVIDENCE_SPAN),
        skipped_evidence_span_not_in_text=seen(SkipReason.EVIDENCE_NOT_IN_TEXT),
        skipped_evidence_span_missing_trigger=seen(SkipReason.EVIDENCE_MISSING_TRIGGER),
        override_hint_invalid_total=sum(item.invalid_hint_count for item in decisions),
        override_hint_repair_total=sum(item.hint_repair_count for item in decisions),
    )


def _skip_reasons(decisions: Sequence[GateDecision]) -> GateSkipReasons:
    seen = [item.skip_reason for item in decisions].count
    return GateSkipReasons(
        action_ambiguity=seen(SkipReason.ACTION_AMBIGUITY),
        l3_conservative=seen(SkipReason.L3_CONSERVATIVE),
        implicit_soft_only=seen(SkipReason.IMPLICIT_SOFT_ONLY),
        contradictory_memory=seen(SkipReason.CONTRADICTORY_MEMORY),
    )
