"""
The pipeline as functions of what was said: no persona is asked here, nothing is awaited.

`stage1` cleans the three answers of Stage 1, `settle` does everything after the last review. Both
are recomputed from the log whenever they are needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from parley.bus.contracts.absa.debate import DebatePersona, DebateSummary, SharedContext
from parley.bus.contracts.absa.gate import AdoptDecision, AdoptOutcome
from parley.bus.contracts.absa.memory import AdvisoryBundle, MemoryMeta
from parley.bus.contracts.absa.moderator import ModeratorInput, ModeratorOutput
from parley.bus.contracts.absa.params import AbsaParams, LanguagePatterns, OverrideEffective
from parley.bus.contracts.absa.record import SampleIdentity
from parley.bus.contracts.absa.review import AteReview, AtsaReview, ReviewContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    FinalValidation,
    Polarity,
    ValidatorOutput,
)
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.rules.adopt import AdoptInput, adopt, adopt_ungated
from parley.coordinator.protocols.absa.rules.aggregate import sentence_label, span_label
from parley.coordinator.protocols.absa.rules.final import kept_sentiments
from parley.coordinator.protocols.absa.rules.gate import disabled_gate, idle_gate
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex, aspect_index
from parley.coordinator.protocols.absa.rules.moderator import moderate, unmoderated, validator_view
from parley.coordinator.protocols.absa.rules.postprocess import (
    backfill_sentiments,
    clean_aspects,
    clean_validation,
)
from parley.coordinator.protocols.absa.rules.reviews import (
    OverrideRules,
    Patched,
    ReviewInput,
    apply_reviews,
)


@dataclass(frozen=True, slots=True)
class Said:
    """The three answers of Stage 1 as they were given; no validator where it is switched off."""

    ate: AteOutput
    atsa: AtsaOutput
    validator: ValidatorOutput | None


@dataclass(frozen=True, slots=True)
class Stage1:
    """Stage 1 after post-processing. `issues` go to the moderator, `notes` to the trace."""

    said: Said
    aspects: tuple[AspectItem, ...]
    sentiments: tuple[AspectSentiment, ...]
    validator: ValidatorOutput
    issues: tuple[str, ...]
    ate_notes: tuple[str, ...]
    validator_notes: tuple[str, ...]

    def index(self, patterns: LanguagePatterns) -> AspectIndex:
        return aspect_index(self.aspects, self.sentiments, patterns)


@dataclass(frozen=True, slots=True)
class Debate:
    personas: Mapping[str, DebatePersona]
    heard: Sequence[HeardTurn]
    summary: DebateSummary


@dataclass(frozen=True, slots=True)
class Stage2:
    ate: AteReview
    atsa: AtsaReview
    # None where the validator is switched off.
    validation: FinalValidation | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sentence with everything that was said about it. None: that part did not run.

    `calls` holds metadata of calls by their label (`stage1_ate`, `debate_round1_epm`, …).
    """

    identity: SampleIdentity
    text: str
    params: AbsaParams
    patterns: LanguagePatterns
    thresholds: OverrideEffective
    stage1: Stage1
    debate: Debate | None
    stage2: Stage2 | None
    stage2_memory: AdvisoryBundle | None = None
    blocked: frozenset[tuple[str, Polarity]] = frozenset()
    memory: MemoryMeta = field(default_factory=MemoryMeta)
    calls: Mapping[str, dict[str, JsonValue]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settlement:
    context: ReviewContext | None
    patched: Patched
    adoption: AdoptOutcome
    moderated: ModeratorOutput
    moderator_input: ModeratorInput


def stage1(
    text: str, said: Said, patterns: LanguagePatterns, *, contrast_guess: bool = False
) -> Stage1:
    aspects = clean_aspects(text, said.ate.aspects, patterns, contrast_guess=contrast_guess)
    sentiments = backfill_sentiments(text, aspects.aspects, said.atsa.aspect_sentiments)
    validation = (
        clean_validation(text, said.validator, aspects.aspects, patterns)
        if said.validator is not None
        else None
    )
    return Stage1(
        said=said,
        aspects=aspects.aspects,
        sentiments=sentiments.sentiments,
        validator=validation.validator if validation is not None else ValidatorOutput(),
        issues=sentiments.issues,
        ate_notes=aspects.notes,
        validator_notes=validation.notes if validation is not None else (),
    )


def shared_context(text: str, first: Stage1, memory: AdvisoryBundle | None = None) -> SharedContext:
    """What the speakers are given; `memory` only for one who may see it."""
    return SharedContext(
        text=text,
        stage1_aspects=first.aspects,
        stage1_aspect_sentiments=first.sentiments,
        stage1_structural_risks=first.validator.structural_risks,
        stage1_correction_proposals=first.validator.correction_proposals,
        memory=memory,
    )


def context_of(sample: Sample) -> ReviewContext | None:
    """The review context; None when no debate ran."""
    if sample.debate is None:
        return None
    return review_context(
        [heard.turn for heard in sample.debate.heard],
        sample.debate.summary,
        sample.stage1.index(sample.patterns),
        sample.params.debate.protocol,
        drop_mode=sample.params.drop_tuple_hint_mode,
        memory=sample.stage2_memory,
    )


def settle(sample: Sample) -> Settlement:
    return settle_with(sample, context_of(sample))


def settle_with(sample: Sample, context: ReviewContext | None) -> Settlement:
    """For a caller that has the review context already."""
    patched = _patch(sample, context)
    adoption = _adopt(sample, patched)
    given = _moderator_input(sample, patched, adoption)
    moderated = moderate(given) if sample.params.enable_moderator else unmoderated(given)
    return Settlement(context, patched, adoption, moderated, given)


def _patch(sample: Sample, context: ReviewContext | None) -> Patched:
    first, second, params = sample.stage1, sample.stage2, sample.params
    if second is None:
        closed = idle_gate if params.enable_debate_override else disabled_gate
        gate = closed(first.aspects, first.sentiments)
        return Patched(first.aspects, first.sentiments, (), (), gate)
    return apply_reviews(
        ReviewInput(
            text=sample.text,
            aspects=first.aspects,
            sentiments=first.sentiments,
            validator=first.validator,
            ate_review=second.ate,
            atsa_review=second.atsa,
            context=context,
            override=OverrideRules(
                enabled=params.enable_debate_override,
                protocol=params.debate.protocol,
                thresholds=sample.thresholds,
                polarity_repair=params.polarity_repair,
                blocked=sample.blocked if params.memory_contradiction_gate else frozenset(),
            ),
        )
    )


def _adopt(sample: Sample, patched: Patched) -> AdoptOutcome:
    first = sample.stage1.sentiments
    second = (
        kept_sentiments(patched.aspects, patched.sentiments) if sample.stage2 is not None else None
    )
    if not sample.params.adopt_gate_is_on:
        return adopt_ungated(first, second)
    return adopt(
        AdoptInput(
            text=sample.text,
            stage1=first,
            structural_risks=sample.stage1.validator.structural_risks,
            stage2=second,
            summary=sample.debate.summary if sample.debate is not None else None,
            log=patched.log,
            decisions=patched.gate.decisions,
            ev_threshold=sample.thresholds.ev_threshold,
            debated=sample.debate is not None,
        )
    )


def _moderator_input(sample: Sample, patched: Patched, adoption: AdoptOutcome) -> ModeratorInput:
    first = sample.stage1
    refused = adoption.adopt_decision is AdoptDecision.NOT_ADOPTED
    hidden = sample.params.moderator_respects_adoption and refused
    heard = sample.stage2 is not None and not hidden
    rule = sample.params.stage_label
    return ModeratorInput(
        stage1_ate=sentence_label(first.sentiments, rule),
        stage1_atsa=span_label(first.sentiments, first.aspects, rule),
        validator=validator_view(first.validator, first.issues, sample.params.suggested_label),
        stage2_ate=sentence_label(patched.sentiments, rule) if heard else None,
        stage2_atsa=span_label(patched.sentiments, patched.aspects, rule) if heard else None,
        final_aspect_sentiments=adoption.final_sentiments,
        debate_summary=sample.debate.summary if sample.debate is not None else None,
    )
