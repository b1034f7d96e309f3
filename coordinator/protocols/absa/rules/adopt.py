"""
Is the patched Stage 2 taken, or does Stage 1 stand?

First a reason has to be found, then the evidence behind it has to be strong enough (EV). An
adopted sample ends with the debate's own set of tuples, one that is not ends with Stage 1's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.gate import (
    AdoptDecision,
    AdoptOutcome,
    Decision,
    EvComponents,
    GateDecision,
    SkipReason,
)
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity, StructuralRisk
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.tolerance import below
from parley.coordinator.protocols.absa.rules.corrections import RESOLVING
from parley.coordinator.protocols.absa.rules.final import (
    Alignment,
    align_to_debate,
    build_final_tuples,
    tuple_key,
)
from parley.coordinator.protocols.absa.rules.gate import representative_skip
from parley.coordinator.protocols.absa.rules.polarity import canonical

LOW_SIGNAL = "low_signal"
RISK_RESOLVED = "risk_resolved"
CONFLICT_BLOCKED = "conflict_blocked"
DEBATE_ACTION = "debate_action"
GROUNDING_IMPROVED = "grounding_improved"
EV_BELOW_THRESHOLD = "ev_below_threshold"
GATE_OFF = "gate_off"


@dataclass(frozen=True, slots=True)
class AdoptInput:
    """`stage2` holds the patched sentiments of kept aspects; None when Stage 2 did not run."""

    text: str
    stage1: Sequence[AspectSentiment]
    structural_risks: Sequence[StructuralRisk]
    stage2: Sequence[AspectSentiment] | None
    summary: DebateSummary | None
    log: Sequence[CorrectionLogEntry]
    decisions: Sequence[GateDecision]
    ev_threshold: float
    # False where no debate ran.
    debated: bool = True


@dataclass(frozen=True, slots=True)
class _Verdict:
    adopt: bool
    reason: str
    candidate: bool


_NOTHING_HAPPENED = _Verdict(adopt=False, reason=LOW_SIGNAL, candidate=False)
_BLOCKED = _Verdict(adopt=False, reason=CONFLICT_BLOCKED, candidate=True)
_ACTED = _Verdict(adopt=True, reason=DEBATE_ACTION, candidate=True)


def adopt(given: AdoptInput) -> AdoptOutcome:
    verdict = _find_reason(given)
    components = ev_components(
        debate_acted=debate_acted(given),
        validator_resolved=validator_resolved(given.log),
        grounded=_grounding_improved(given),
        confidence_gain=mean_confidence(given.stage2 or ()) - mean_confidence(given.stage1),
        debated=given.debated,
    )
    score = ev_score(components)
    enough = not below(score, given.ev_threshold)
    reason = verdict.reason
    if verdict.adopt and not enough:
        reason = EV_BELOW_THRESHOLD
    elif reason == LOW_SIGNAL:
        reason = _refined(given.decisions)
    adopted = verdict.adopt and enough
    final = _final(given, adopted=adopted)
    return AdoptOutcome(
        adopt_decision=AdoptDecision.ADOPTED if adopted else AdoptDecision.NOT_ADOPTED,
        adopt_reason=reason,
        override_candidate=verdict.candidate,
        ev_score=score,
        ev_adopted=adopted,
        ev_components=components,
        final_sentiments=final.sentiments,
        final_tuples=build_final_tuples(final.sentiments),
        left_out=final.left_out,
    )


def adopt_ungated(
    stage1: Sequence[AspectSentiment], stage2: Sequence[AspectSentiment] | None
) -> AdoptOutcome:
    """The gate is off: Stage 2 is taken as it is, if it ran."""
    final = tuple(stage1 if stage2 is None else stage2)
    return AdoptOutcome(
        adopt_decision=AdoptDecision.ADOPTED,
        adopt_reason=GATE_OFF,
        ev_adopted=True,
        final_sentiments=final,
        final_tuples=build_final_tuples(final),
    )


def debate_acted(given: AdoptInput) -> bool:
    """The debate changed something: by its patch, or by an override that went through."""
    patch = given.summary.final_patch if given.summary is not None else ()
    return any(edit.op != "confirm_tuple" for edit in patch) or bool(_overrides(given.decisions))


def validator_resolved(log: Sequence[CorrectionLogEntry]) -> bool:
    return any(entry.applied and entry.proposal_type in RESOLVING for entry in log)


def _find_reason(given: AdoptInput) -> _Verdict:
    if not given.stage2:
        return _NOTHING_HAPPENED
    if _override_contradicts_debate(given):
        return _BLOCKED
    if given.structural_risks and validator_resolved(given.log):
        return _Verdict(adopt=True, reason=RISK_RESOLVED, candidate=True)
    if debate_acted(given):
        return _BLOCKED if _conflict_remains(given, given.stage2) else _ACTED
    if _grounding_improved(given):
        return _Verdict(adopt=True, reason=GROUNDING_IMPROVED, candidate=True)
    return _NOTHING_HAPPENED


def _refined(decisions: Sequence[GateDecision]) -> str:
    """Where the gate let nothing through, the reason it gives is more telling than low signal."""
    if _overrides(decisions):
        return LOW_SIGNAL
    skipped = representative_skip(decisions)
    if skipped is None or skipped is SkipReason.ALREADY_CONFIDENT:
        return LOW_SIGNAL
    return skipped.value


def _grounding_improved(given: AdoptInput) -> bool:
    return all(item.is_implicit for item in given.stage1) and any(
        not item.is_implicit for item in given.stage2 or ()
    )


def _overrides(decisions: Sequence[GateDecision]) -> dict[str, Polarity | None]:
    return {
        tuple_key(item.aspect): item.target_pol
        for item in decisions
        if item.decision is Decision.APPLY
    }


def _debate_polarities(summary: DebateSummary | None) -> dict[str, set[Polarity]]:
    found: dict[str, set[Polarity]] = {}
    for item in summary.final_tuples if summary is not None else ():
        polarity = canonical(item.polarity)
        if polarity is not None:
            found.setdefault(tuple_key(item.key), set()).add(polarity)
    return found


def _polarities(sentiments: Sequence[AspectSentiment]) -> dict[str, set[Polarity]]:
    found: dict[str, set[Polarity]] = {}
    for item in sentiments:
        if item.polarity is not None:
            found.setdefault(tuple_key(item.key), set()).add(item.polarity)
    return found


def _override_contradicts_debate(given: AdoptInput) -> bool:
    debate = _debate_polarities(given.summary)
    return any(
        polarity is not None and bool(debate.get(aspect, set()) - {polarity})
        for aspect, polarity in _overrides(given.decisions).items()
    )


def _conflict_remains(given: AdoptInput, stage2: Sequence[AspectSentiment]) -> bool:
    """An aspect keeps two polarities that neither an override nor the debate reduces to one."""
    before = _polarities(given.stage1)
    overridden = _overrides(given.decisions)
    held = {**_polarities(stage2), **_debate_polarities(given.summary)}
    return any(
        len(polarities) > 1 and aspect not in overridden and len(before.get(aspect, set())) <= 1
        for aspect, polarities in held.items()
    )


def _final(given: AdoptInput, *, adopted: bool) -> Alignment:
    if not adopted:
        return Alignment(tuple(given.stage1), ())
    stage2 = tuple(given.stage2 or ())
    if given.summary is None or not given.summary.final_tuples:
        return Alignment(stage2, ())
    return align_to_debate(given.text, given.summary.final_tuples, stage2)


DEBATE_SUPPORT = 0.4
VALIDATOR_RESOLVED = 0.3
GROUNDING_IMPROVEMENT = 0.2
ALIGNMENT_CAP = 0.1
ALIGNMENT_SLOPE = 0.5
DECIMALS = 4


def ev_components(
    *,
    debate_acted: bool,
    validator_resolved: bool,
    grounded: bool,
    confidence_gain: float,
    debated: bool = True,
) -> EvComponents:
    """
    `confidence_gain` is the mean confidence of Stage 2 less that of Stage 1. Where no debate ran,
    its share is left out and the others weigh 1 together.
    """
    scale = 1.0 if debated else 1.0 / (1.0 - DEBATE_SUPPORT)
    alignment = min(ALIGNMENT_CAP, max(0.0, ALIGNMENT_SLOPE * confidence_gain))
    return EvComponents(
        debate_support=DEBATE_SUPPORT if debate_acted and debated else 0.0,
        validator_resolved=scale * VALIDATOR_RESOLVED if validator_resolved else 0.0,
        grounding_improvement=scale * GROUNDING_IMPROVEMENT if grounded else 0.0,
        alignment_improvement=scale * alignment,
    )


def ev_score(components: EvComponents) -> float:
    total = (
        components.debate_support
        + components.validator_resolved
        + components.grounding_improvement
        + components.alignment_improvement
    )
    return round(min(1.0, total), DECIMALS)


def mean_confidence(sentiments: Sequence[AspectSentiment]) -> float:
    if not sentiments:
        return 0.0
    return total_of(sentiment.confidence for sentiment in sentiments) / len(sentiments)
