"""The output record of a sample, and the trace in it."""

from collections.abc import Iterator

from pydantic import BaseModel, JsonValue

from parley.bus.contracts.absa.debate import DebateOutput
from parley.bus.contracts.absa.gate import AdoptDecision
from parley.bus.contracts.absa.moderator import ValidatorView
from parley.bus.contracts.absa.record import (
    AnalysisFlags,
    FinalOutput,
    FinalResult,
    OverrideStats,
    RecordMeta,
    TraceEntry,
)
from parley.coordinator.protocols.absa.history import debate_output
from parley.coordinator.protocols.absa.pipeline import Sample, Settlement
from parley.coordinator.protocols.absa.rules.aggregate import sentence_label, span_label
from parley.coordinator.protocols.absa.rules.final import build_final_aspects, build_tuples


def final_output(sample: Sample, settled: Settlement) -> FinalOutput:
    given, patched, moderated = settled.moderator_input, settled.patched, settled.moderated
    ran, rule = sample.stage2 is not None, sample.params.stage_label
    return FinalOutput(
        meta=_meta(sample, settled),
        stage1_ate=given.stage1_ate,
        stage1_atsa=given.stage1_atsa,
        stage1_validator=given.validator,
        stage2_ate=sentence_label(patched.sentiments, rule) if ran else None,
        stage2_atsa=span_label(patched.sentiments, patched.aspects, rule) if ran else None,
        stage2_validator=_second_view(sample),
        moderator=moderated,
        debate=_debate(sample),
        process_trace=tuple(_trace(sample, settled)),
        analysis_flags=_flags(sample, settled),
        final_result=FinalResult(
            label=moderated.final_label,
            confidence=moderated.confidence,
            rationale=moderated.rationale,
            final_aspects=build_final_aspects(given.final_aspect_sentiments),
            stage1_tuples=build_tuples(sample.stage1.sentiments),
            stage2_tuples=build_tuples(patched.sentiments) if ran else (),
            final_tuples=settled.adoption.final_tuples,
        ),
    )


def _meta(sample: Sample, settled: Settlement) -> RecordMeta:
    gate, adoption = settled.patched.gate, settled.adoption
    return RecordMeta(
        **sample.identity.model_dump(),
        input_text=sample.text,
        protocol=sample.params.debate.protocol,
        gate_decision=gate.gate_decision,
        adopt_decision=adoption.adopt_decision,
        adopt_reason=adoption.adopt_reason,
        override_skipped_reason=gate.representative_skip,
        override_evidence_gate_reason=gate.representative_skip,
        debate_override_stats=_stats(settled),
        debate_override_skip_reasons=gate.skip_reasons,
        debate_override_effective=sample.thresholds,
        ev_score=adoption.ev_score,
        ev_threshold=sample.thresholds.ev_threshold,
        debate_summary=sample.debate.summary if sample.debate is not None else None,
        debate_review_context=settled.context,
        correction_applied_log=settled.patched.log,
        stage1_aspects=sample.stage1.aspects,
        stage2_aspects=settled.patched.aspects if sample.stage2 is not None else (),
        structural_risk_count=len(sample.stage1.validator.structural_risks),
        selected_stage=settled.moderated.selected_stage,
        tuples_left_out=adoption.left_out,
        memory=sample.memory,
    )


def _stats(settled: Settlement) -> OverrideStats:
    gate, adoption = settled.patched.gate, settled.adoption
    applied = gate.stats.applied > 0
    adopted = adoption.adopt_decision is AdoptDecision.ADOPTED
    return OverrideStats(
        **gate.stats.model_dump(),
        ev_score=adoption.ev_score,
        ev_adopted=adoption.ev_adopted,
        ev_components=adoption.ev_components,
        override_candidate=adoption.override_candidate,
        override_applied=applied,
        override_effect_applied=applied and adopted,
        override_reason=adoption.adopt_reason,
    )


def _second_view(sample: Sample) -> ValidatorView | None:
    if sample.stage2 is None or sample.stage2.validation is None:
        return None
    validation = sample.stage2.validation
    return ValidatorView(
        issues=validation.remaining_risks, confidence=validation.final_consistency_score
    )


def _debate(sample: Sample) -> DebateOutput | None:
    if sample.debate is None:
        return None
    debate = sample.debate
    return debate_output(sample.text, debate.personas, debate.heard, debate.summary)


def _flags(sample: Sample, settled: Settlement) -> AnalysisFlags:
    ran = sample.stage2 is not None
    second = sentence_label(settled.patched.sentiments, sample.params.stage_label)
    corrected = ran and second.label != settled.moderator_input.stage1_ate.label
    return AnalysisFlags(
        correction_occurred=corrected,
        conflict_resolved=corrected and settled.moderated.final_label != "mixed",
        final_confidence_score=settled.moderated.confidence,
        stage2_executed=ran,
    )


def _trace(sample: Sample, settled: Settlement) -> Iterator[TraceEntry]:
    """In the order of the calls; a stage that did not run leaves no entry."""
    said = sample.stage1.said
    yield _entry(sample, "stage1", "ATE", said.ate, "stage1_ate", sample.stage1.ate_notes)
    yield _entry(sample, "stage1", "ATSA", said.atsa, "stage1_atsa", sample.stage1.issues)
    if said.validator is not None:
        notes = sample.stage1.validator_notes
        yield _entry(sample, "stage1", "Validator", said.validator, "stage1_validator", notes)
    if sample.debate is not None:
        for heard in sample.debate.heard:
            label = f"debate_round{heard.round}_{heard.key}"
            yield _entry(sample, "debate", heard.turn.author, heard.turn, label)
        yield _entry(sample, "debate_judge", "DebateJudge", sample.debate.summary, "debate_judge")
    if sample.stage2 is not None:
        second, issues = sample.stage2, settled.patched.anchor_issues
        yield _entry(sample, "stage2", "ATE", second.ate, "stage2_ate")
        yield _entry(sample, "stage2", "ATSA", second.atsa, "stage2_atsa", issues)
        if second.validation is not None:
            yield _entry(sample, "stage2", "Validator", second.validation, "stage2_validator")
    yield _entry(sample, "moderator", "Moderator", settled.moderated, "moderator")


def _entry(  # noqa: PLR0913, PLR0917 - one argument for each column of the trace
    sample: Sample,
    stage: str,
    agent: str,
    output: BaseModel,
    label: str,
    notes: tuple[str, ...] = (),
) -> TraceEntry:
    identity = sample.identity
    said: JsonValue = output.model_dump(mode="json", by_alias=True)
    return TraceEntry(
        stage=stage,
        agent=agent,
        uid=identity.uid,
        case_type=identity.case_type,
        split=identity.split,
        language_code=identity.language_code,
        domain_id=identity.domain_id,
        input_text=sample.text,
        output=said,
        notes=notes,
        call_metadata=sample.calls.get(label),
    )
