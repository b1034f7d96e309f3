"""
The rules as filters: one typed line in, one typed line out (`parley rules NAME`).

Patterns and profiles are looked up by name, so this module, unlike the rules, reads files.
"""

from typing import Annotated, Literal

from pydantic import Field

from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    Protocol,
    SentimentTuple,
)
from parley.bus.contracts.absa.gate import (
    AdoptDecision,
    Decision,
    EvComponents,
    GateDecision,
    GateSkipReasons,
    GateStats,
    OverrideAction,
    SkipReason,
)
from parley.bus.contracts.absa.moderator import ModeratorInput, ModeratorOutput
from parley.bus.contracts.absa.params import AbsaParams, OverrideThresholds
from parley.bus.contracts.absa.review import AspectHint, CorrectionLogEntry, ReviewContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    StructuralRisk,
)
from parley.bus.contracts.base import Contract, Share
from parley.configs.absa_thresholds import override_thresholds
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.rules.adopt import AdoptInput, adopt, adopt_ungated
from parley.coordinator.protocols.absa.rules.final import build_final_aspects
from parley.coordinator.protocols.absa.rules.gate import GateInput, disabled_gate, run_gate
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import aspect_index
from parley.coordinator.protocols.absa.rules.moderator import moderate


class ModeratorAnswer(ModeratorOutput):
    final_aspects: tuple[AspectSentiment, ...] = ()


class OverrideConfig(Contract):
    """Keys that are given win over the profile."""

    min_total: Annotated[float, Field(ge=0)] | None = None
    min_margin: Annotated[float, Field(ge=0)] | None = None
    min_target_conf: Share | None = None
    ev_threshold: Share | None = None
    l3_conservative: bool | None = None
    polarity_repair: bool = False

    def over(self, profile: str | None) -> OverrideThresholds:
        base = override_thresholds(AbsaParams(override_profile=profile)).model_dump()
        given = self.model_dump(exclude_none=True)
        names = OverrideThresholds.model_fields
        return OverrideThresholds(**{name: given.get(name, base[name]) for name in names})


class OverrideLine(Contract):
    text: str
    aspect_hints: dict[str, tuple[AspectHint, ...]]
    summary: DebateSummary = DebateSummary()
    structural_risks: tuple[StructuralRisk, ...] = ()
    sentiments: tuple[AspectSentiment, ...] = ()
    aspects: tuple[AspectItem, ...] = ()
    protocol: Protocol = "v2"
    profile: str = "t0"
    config: OverrideConfig = OverrideConfig()
    enabled: bool = True


class DecisionAnswer(Contract):
    aspect: str
    decision: Decision
    skip_reason: SkipReason | None = None
    action: OverrideAction | None = None
    target_pol: Polarity | None = None
    pos_score: float = 0.0
    neg_score: float = 0.0
    total: float = 0.0
    margin: float = 0.0
    valid_hint_count: int = 0
    invalid_hint_count: int = 0
    hint_repair_count: int = 0


class OverrideAnswer(Contract):
    decisions: tuple[DecisionAnswer, ...] = ()
    sentiments: tuple[AspectSentiment, ...] = ()
    stats: GateStats = GateStats()
    skip_reasons: GateSkipReasons = GateSkipReasons()
    gate_decision: Decision = Decision.SKIP


class StageLine(Contract):
    aspects: tuple[AspectItem, ...] = ()
    sentiments: tuple[AspectSentiment, ...] = ()
    structural_risks: tuple[StructuralRisk, ...] = ()


class AdoptLine(Contract):
    """Without a text, what either stage speaks of is taken to stand in it."""

    stage1: StageLine
    stage2: StageLine | None
    summary: DebateSummary | None = None
    correction_applied_log: tuple[CorrectionLogEntry, ...] = ()
    gate: OverrideAnswer | None = None
    gate_on: bool = True
    config: OverrideConfig = OverrideConfig()
    text: str | None = None


class AdoptAnswer(Contract):
    adopt_decision: AdoptDecision
    adopt_reason: str
    override_candidate: bool
    ev_score: Share
    ev_components: EvComponents
    final_tuples: tuple[SentimentTuple, ...]


class HintsLine(Contract):
    turns: tuple[DebateTurn, ...] = ()
    summary: DebateSummary | None = None
    stage1: StageLine = StageLine()
    protocol: Protocol = "v2"
    language_code: str = "ko"
    drop_tuple_hint_mode: Literal["opposite", "negative"] = "opposite"


def answer_moderator(line: ModeratorInput) -> ModeratorAnswer:
    return ModeratorAnswer(
        **dict(moderate(line)), final_aspects=build_final_aspects(line.final_aspect_sentiments)
    )


def answer_override(line: OverrideLine) -> OverrideAnswer:
    if not line.enabled:
        outcome = disabled_gate(line.aspects, line.sentiments)
    else:
        given = GateInput(
            text=line.text,
            aspect_hints=line.aspect_hints,
            summary=line.summary,
            structural_risks=line.structural_risks,
            aspects=line.aspects,
            sentiments=line.sentiments,
            thresholds=line.config.over(line.profile),
            polarity_repair=line.config.polarity_repair,
        )
        outcome = run_gate(given, line.protocol)
    return OverrideAnswer(
        decisions=tuple(
            DecisionAnswer(**item.model_dump(include=set(DecisionAnswer.model_fields)))
            for item in outcome.decisions
        ),
        sentiments=outcome.sentiments,
        stats=outcome.stats,
        skip_reasons=outcome.skip_reasons,
        gate_decision=outcome.gate_decision,
    )


def answer_adopt(line: AdoptLine) -> AdoptAnswer:
    second = line.stage2.sentiments if line.stage2 is not None else None
    known = (*line.stage1.sentiments, *(second or ()))
    if line.gate_on:
        outcome = adopt(
            AdoptInput(
                text="\n".join(item.key for item in known) if line.text is None else line.text,
                stage1=line.stage1.sentiments,
                structural_risks=line.stage1.structural_risks,
                stage2=second,
                summary=line.summary,
                log=line.correction_applied_log,
                decisions=tuple(
                    GateDecision(**item.model_dump())
                    for item in (line.gate.decisions if line.gate is not None else ())
                ),
                ev_threshold=line.config.over(None).ev_threshold,
            )
        )
    else:
        outcome = adopt_ungated(line.stage1.sentiments, second)
    return AdoptAnswer(
        adopt_decision=outcome.adopt_decision,
        adopt_reason=outcome.adopt_reason,
        override_candidate=outcome.override_candidate,
        ev_score=outcome.ev_score,
        ev_components=outcome.ev_components,
        final_tuples=outcome.final_tuples,
    )


def answer_hints(line: HintsLine) -> ReviewContext:
    patterns = language_patterns(line.language_code)
    return review_context(
        line.turns,
        line.summary if line.summary is not None else DebateSummary(),
        aspect_index(line.stage1.aspects, line.stage1.sentiments, patterns),
        line.protocol,
        drop_mode=line.drop_tuple_hint_mode,
    )
