"""
The moderator: one label for the sentence, by rules alone and without a model.

Rules run in the order Z, B, M, C, A, D, E; each sees the label and confidence the one before left.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.moderator import (
    ArbiterFlags,
    ModeratorInput,
    ModeratorOutput,
    SpanLabel,
    Stage,
    ValidatorView,
)
from parley.bus.contracts.absa.sentiment import SentenceLabel, Span, ValidatorOutput
from parley.coordinator.core.tolerance import at_least, below
from parley.coordinator.protocols.absa.rules.polarity import canonical
from parley.coordinator.protocols.absa.rules.postprocess import risk_type

DROP_LIMIT = 0.2
ALIGNED_IOU = 0.8
NEAR_TIE = 0.1
NEAR_TIE_BAND = 1e-6
UNSURE = 0.55
CRITICAL_STARTS = ("negation", "irony", "contrast")
CRITICAL_MARK = "severity:high"
NO_CHANGE = "Rule default: no change."
_NO_FLAGS = ArbiterFlags()


class _Ruling(NamedTuple):
    """The decision while the rules work on it."""

    label: SentenceLabel
    confidence: float
    rules: tuple[str, ...] = ()
    rationale: tuple[str, ...] = ()
    flags: ArbiterFlags = _NO_FLAGS
    span_iou: float | None = None

    def fired(self, rule: str, why: str) -> "_Ruling":
        return self._replace(
            rules=(*self.rules, rule), rationale=(*self.rationale, f"{rule}: {why}")
        )

    def flagged(self, **flags: object) -> "_Ruling":
        return self._replace(flags=self.flags.model_copy(update=flags))


def moderate(given: ModeratorInput) -> ModeratorOutput:
    ruling = _Ruling(given.stage1_ate.label, given.stage1_ate.confidence)
    if _no_signal(given):
        ruling = ruling._replace(label="neutral", confidence=0.0)
        return _output(ruling.fired("RuleZ", "insufficient signal (both confidences 0)."), "stage1")
    for rule in _RULES:
        ruling = rule(ruling, given)
    rejected = ruling.flags.stage2_rejected_due_to_confidence
    return _output(ruling, "stage1" if given.stage2_ate is None or rejected else "stage2")


def unmoderated(given: ModeratorInput) -> ModeratorOutput:
    """The moderator is off: the last stage that ran has the word."""
    source = given.stage1_ate if given.stage2_ate is None else given.stage2_ate
    stage: Stage = "stage1" if given.stage2_ate is None else "stage2"
    return _output(_Ruling(source.label, source.confidence), stage)


def validator_view(
    validator: ValidatorOutput,
    anchor_issues: Sequence[str],
    suggested_label: SentenceLabel | None = None,
) -> ValidatorView:
    """What the moderator sees of the validator; a suggestion from outside comes before its own."""
    risks = tuple(
        f"{risk_type(risk)} severity:{risk.severity.value} {risk.description}"
        for risk in validator.structural_risks
    )
    return ValidatorView(
        issues=(*anchor_issues, *risks),
        suggested_label=suggested_label or validator.suggested_label,
        confidence=validator.consistency_score,
    )


def span_iou(a: Span | None, b: Span | None) -> float:
    """Intersection over the distance from the first start to the last end; 0 without both spans."""
    if a is None or b is None:
        return 0.0
    reach = max(a.end, b.end) - min(a.start, b.start)
    shared = min(a.end, b.end) - max(a.start, b.start)
    return max(0, shared) / reach if reach > 0 else 0.0


def _no_signal(given: ModeratorInput) -> bool:
    second = given.stage2_ate.confidence if given.stage2_ate is not None else 0.0
    return given.stage1_ate.confidence == 0.0 and second == 0.0


def _candidate(given: ModeratorInput) -> SpanLabel:
    return given.stage1_atsa if given.stage2_atsa is None else given.stage2_atsa


def _prefer_stage2(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    ruling = ruling.flagged(rule_b_applied=True)
    second = given.stage2_ate
    if second is None:
        return ruling.fired("RuleB", "Stage2 missing; keep Stage1.")
    drop = given.stage1_ate.confidence - second.confidence
    if at_least(drop, DROP_LIMIT):
        return ruling.fired("RuleB", "Stage2 drop>=0.2; keep Stage1.").flagged(
            stage2_rejected_due_to_confidence=True, confidence_margin_used=drop
        )
    taken = ruling._replace(label=second.label, confidence=second.confidence)
    return taken.fired("RuleB", "Stage2 preferred.")


def _mix_conflicting_stages(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    first, second = given.stage1_ate, given.stage2_ate
    if second is None or first.label == second.label:
        return ruling
    mixed = ruling._replace(label="mixed", confidence=max(first.confidence, second.confidence))
    return mixed.fired("RuleM", "conflicting stage1/stage2 labels -> mixed.")


def _heed_validator(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    validator = given.validator
    if validator.suggested_label is None:
        return ruling
    if not (_critical(validator) or at_least(validator.confidence, ruling.confidence)):
        return ruling
    vetoed = ruling._replace(
        label=validator.suggested_label,
        confidence=max(ruling.confidence, validator.confidence),
    )
    return vetoed.fired("RuleC", "Validator critical veto.").flagged(
        validator_override_applied=True
    )


def _critical(validator: ValidatorView) -> bool:
    issues = [issue.lower() for issue in validator.issues]
    return any(issue.startswith(CRITICAL_STARTS) or CRITICAL_MARK in issue for issue in issues)


def _average_aligned_spans(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    candidate = _candidate(given)
    iou = span_iou(candidate.span, given.stage1_atsa.span)
    ruling = ruling._replace(span_iou=iou)
    if ruling.flags.stage2_rejected_due_to_confidence:
        return ruling
    if not at_least(iou, ALIGNED_IOU) or candidate.label != ruling.label:
        return ruling
    mean = (ruling.confidence + candidate.confidence) / 2
    return ruling._replace(confidence=mean).fired("RuleA", "IoU>=0.8 span aligned.")


def _weigh_aspects_against_sentence(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    candidate = _candidate(given)
    if candidate.label == ruling.label:
        return ruling
    if abs(candidate.confidence - ruling.confidence) < NEAR_TIE - NEAR_TIE_BAND:
        return ruling.fired("RuleD", "diff<0.1 conflict -> sentence ATE.")
    if candidate.confidence > ruling.confidence:
        taken = ruling._replace(label=candidate.label, confidence=candidate.confidence)
        return taken.fired("RuleD", "diff>=0.1 ATSA wins.")
    return ruling.fired("RuleD", "diff>=0.1 ATE wins.")


def _listen_to_debate(ruling: _Ruling, given: ModeratorInput) -> _Ruling:
    if given.debate_summary is None:
        return ruling
    ruling = ruling.flagged(rule_e_attempted_after_b=True)
    inferred = inferred_label(given.debate_summary)
    if inferred is None:
        return ruling.flagged(rule_e_block_reason="inferred_empty")
    if inferred == ruling.label:
        return ruling.flagged(rule_e_block_reason="label_unchanged")
    if not below(ruling.confidence, UNSURE) and ruling.label != "mixed":
        return ruling.flagged(rule_e_block_reason="confidence_too_high")
    return (
        ruling._replace(label=inferred)
        .fired("RuleE", f"debate consensus -> {inferred}.")
        .flagged(rule_e_fired=True)
    )


_RULES: tuple[Callable[[_Ruling, ModeratorInput], _Ruling], ...] = (
    _prefer_stage2,
    _mix_conflicting_stages,
    _heed_validator,
    _average_aligned_spans,
    _weigh_aspects_against_sentence,
    _listen_to_debate,
)


def _output(ruling: _Ruling, stage: Stage) -> ModeratorOutput:
    rationale = " ".join(ruling.rationale) or NO_CHANGE
    return ModeratorOutput(
        final_label=ruling.label,
        confidence=ruling.confidence,
        rationale=rationale,
        decision_reason=rationale,
        selected_stage=stage,
        applied_rules=ruling.rules,
        arbiter_flags=ruling.flags,
        span_iou=ruling.span_iou,
    )


# Looked for in this order: the first group with a hit decides.
KEYWORDS: tuple[tuple[SentenceLabel, tuple[str, ...]], ...] = (
    ("mixed", ("혼합", "mixed", "엇갈", "양면")),
    ("positive", ("긍정", "호의", "좋다", "positive")),
    ("negative", ("부정", "비판", "나쁘", "negative")),
    ("neutral", ("중립", "neutral", "모호")),
)


def inferred_label(summary: DebateSummary) -> SentenceLabel | None:
    """The stated polarity, else the tuples' common one, else what the words give away."""
    stated = sentence_polarity(summary.sentence_polarity)
    return stated or _from_tuples(summary) or _from_words(summary)


def sentence_polarity(raw: str | None) -> SentenceLabel | None:
    """As `canonical`, but a sentence may also be mixed."""
    if raw is not None and raw.strip().lower() == "mixed":
        return "mixed"
    polarity = canonical(raw)
    return polarity.value if polarity is not None else None


def _from_tuples(summary: DebateSummary) -> SentenceLabel | None:
    read = [sentence_polarity(item.polarity) for item in summary.final_tuples]
    labels = {label for label in read if label is not None}
    if not labels:
        return None
    return labels.pop() if len(labels) == 1 else "mixed"


def _from_words(summary: DebateSummary) -> SentenceLabel | None:
    parts = (
        summary.consensus or "",
        summary.rationale,
        *summary.key_agreements,
        *summary.key_disagreements,
    )
    words = " ".join(parts).lower()
    for label, keywords in KEYWORDS:
        if any(keyword in words for keyword in keywords):
            return label
    return None
