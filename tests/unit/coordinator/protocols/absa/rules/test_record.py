"""One Korean sentence through every rule, to the record and the debug lines."""

import pytest

from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.gate import (
    AdoptDecision,
    Decision,
    EvDebugRecord,
    GateDebugRecord,
    SkipReason,
)
from parley.bus.contracts.absa.memory import EpisodeTuple
from parley.bus.contracts.absa.params import AbsaParams, DebateParams
from parley.bus.contracts.absa.record import FinalOutput, SampleIdentity
from parley.bus.contracts.absa.review import AteReview, AtsaReview
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    AteOutput,
    AtsaOutput,
    FinalValidation,
    Polarity,
    Severity,
    StructuralRisk,
    ValidatorOutput,
)
from parley.configs.absa_thresholds import override_thresholds
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.history import HeardTurn, completed
from parley.coordinator.protocols.absa.memory.episodes import (
    episode_of,
    refuse_forbidden,
    store_reason,
)
from parley.coordinator.protocols.absa.memory.recollection import signature
from parley.coordinator.protocols.absa.output.gate_debug import (
    SampleGate,
    debug_records,
    debug_summary,
    quantile,
)
from parley.coordinator.protocols.absa.output.metrics import adoption_metrics, scorecard
from parley.coordinator.protocols.absa.output.record import final_output
from parley.coordinator.protocols.absa.pipeline import (
    Debate,
    Said,
    Sample,
    Stage2,
    settle,
    shared_context,
    stage1,
)

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
KO = language_patterns("ko")


def edit(op: str, polarity: str, value: str | None = None) -> ProposedEdit:
    return ProposedEdit(
        op=op, target=EditTarget(aspect_ref="피부톤", polarity=polarity), value=value
    )


def sample(params: AbsaParams, *, risks: tuple[StructuralRisk, ...] = ()) -> Sample:
    said = Said(
        ate=AteOutput(aspects=(AspectItem(term="피부톤은"), AspectItem(term="가격은"))),
        atsa=AtsaOutput(
            aspect_sentiments=(
                AspectSentiment(aspect_ref="피부톤", polarity=Polarity.NEUTRAL, confidence=0.3),
                AspectSentiment(aspect_ref="가격", polarity=Polarity.NEGATIVE, confidence=0.8),
            )
        ),
        validator=ValidatorOutput(structural_risks=risks) if params.enable_validator else None,
    )
    debate = Debate(
        personas={"epm": DebatePersona(name="EPM", role="r", goal="g")},
        heard=[
            HeardTurn(
                1,
                "epm",
                DebateTurn(
                    agent="EPM", proposed_edits=(edit("set_polarity", "neutral", "positive"),)
                ),
            ),
            HeardTurn(
                1,
                "cj",
                DebateTurn(agent="CJ", proposed_edits=(edit("confirm_tuple", "positive"),)),
            ),
        ],
        summary=DebateSummary(
            final_patch=(edit("confirm_tuple", "positive"),),
            final_tuples=(
                SentimentTuple(aspect_ref="피부톤", polarity="positive"),
                SentimentTuple(aspect_ref="가격", polarity="neg"),
            ),
            sentence_polarity="mixed",
            sentence_evidence_spans=("맑아졌는데",),
        ),
    )
    return Sample(
        identity=SampleIdentity(text_id="s1", uid="u1"),
        text=TEXT,
        params=params,
        patterns=KO,
        thresholds=override_thresholds(params),
        stage1=stage1(TEXT, said, KO),
        debate=debate if params.debates else None,
        stage2=(
            Stage2(ate=AteReview(), atsa=AtsaReview(), validation=FinalValidation())
            if params.enable_stage2
            else None
        ),
        calls={"debate_round1_epm": {"tokens": 7}},
    )


def record(params: AbsaParams, *, risks: tuple[StructuralRisk, ...] = ()) -> FinalOutput:
    given = sample(params, risks=risks)
    return final_output(given, settle(given))


def final(output: FinalOutput) -> list[tuple[str, str | None]]:
    return [(item.key, item.polarity) for item in output.final_result.final_tuples]


def test_the_debate_is_adopted() -> None:
    output = record(AbsaParams())
    meta = output.meta
    assert meta.gate_decision is Decision.APPLY
    assert (meta.adopt_decision, meta.adopt_reason) == (AdoptDecision.ADOPTED, "debate_action")
    assert meta.ev_score == 0.5
    assert final(output) == [("피부톤", "positive"), ("가격", "negative")]
    assert output.final_result.stage1_tuples[0].polarity == "neutral"
    stats = meta.debate_override_stats
    assert (stats.applied, stats.override_applied, stats.override_effect_applied) == (1, True, True)
    assert meta.override_skipped_reason is None
    assert meta.debate_override_effective.source == "json_default"
    assert output.debate is not None
    assert [turn.agent for turn in output.debate.rounds[0].turns] == ["EPM", "CJ"]
    assert output.analysis_flags.stage2_executed
    assert FinalOutput.model_validate_json(output.model_dump_json()) == output


def test_the_trace_is_in_call_order() -> None:
    trace = record(AbsaParams()).process_trace
    assert [(entry.stage, entry.agent) for entry in trace] == [
        ("stage1", "ATE"),
        ("stage1", "ATSA"),
        ("stage1", "Validator"),
        ("debate", "EPM"),
        ("debate", "CJ"),
        ("debate_judge", "DebateJudge"),
        ("stage2", "ATE"),
        ("stage2", "ATSA"),
        ("stage2", "Validator"),
        ("moderator", "Moderator"),
    ]
    assert trace[3].call_metadata == {"tokens": 7}
    assert {entry.uid for entry in trace} == {"u1"}


def test_a_skipped_override_explains_itself() -> None:
    meta = record(AbsaParams(), risks=(StructuralRisk(type="CONTRAST"),)).meta
    assert meta.gate_decision is Decision.SKIP
    assert meta.override_skipped_reason is SkipReason.L3_CONSERVATIVE
    assert meta.override_evidence_gate_reason is SkipReason.L3_CONSERVATIVE
    assert meta.adopt_reason == "l3_conservative"
    assert meta.debate_override_skip_reasons.l3_conservative == 1


@pytest.mark.parametrize(
    ("params", "tuples", "reason"),
    [
        pytest.param(
            AbsaParams(enable_debate=False, enable_debate_override=False),
            [("피부톤", "neutral"), ("가격", "negative")],
            "low_signal",
            id="abl_no_debate",
        ),
        pytest.param(
            AbsaParams(enable_debate_override=False),
            [("피부톤", "neutral"), ("가격", "negative")],
            "low_signal",
            id="abl_no_debate_override",
        ),
        pytest.param(
            AbsaParams(enable_stage2=False),
            [("피부톤", "neutral"), ("가격", "negative")],
            "low_signal",
            id="abl_no_stage2",
        ),
        pytest.param(
            AbsaParams(enable_validator=False),
            [("피부톤", "positive"), ("가격", "negative")],
            "debate_action",
            id="abl_no_validator",
        ),
        pytest.param(
            AbsaParams(enable_moderator=False),
            [("피부톤", "positive"), ("가격", "negative")],
            "debate_action",
            id="abl_no_moderator",
        ),
    ],
)
def test_ablations(params: AbsaParams, tuples: list[tuple[str, str]], reason: str) -> None:
    output = record(params)
    assert final(output) == tuples
    assert output.meta.adopt_reason == reason
    assert output.meta.debate_override_stats.override_disabled is not params.enable_debate_override
    assert (output.stage2_ate is not None) is params.enable_stage2
    assert bool(output.moderator.applied_rules) is params.enable_moderator


def test_the_moderator_may_respect_adoption() -> None:
    risks = (StructuralRisk(type="CONTRAST"),)
    heard = record(AbsaParams(), risks=risks)
    assert heard.moderator.selected_stage == "stage2"
    obedient = record(AbsaParams(moderator_respects_adoption=True), risks=risks)
    assert obedient.moderator.selected_stage == "stage1"
    assert obedient.stage2_ate is not None


def test_debug_lines_and_summary() -> None:
    given = sample(AbsaParams())
    settled = settle(given)
    gated = SampleGate("s1", 0, settled.patched.gate, settled.adoption, given.thresholds)
    aspect, closing = debug_records(gated)
    assert isinstance(aspect, GateDebugRecord)
    assert (aspect.aspect_term, aspect.total, aspect.margin) == ("피부톤", 1.8, 1.8)
    assert (aspect.current_pol, aspect.current_conf) == (Polarity.NEUTRAL, 0.3)
    assert (aspect.evidence_ok, aspect.profile_id) == (True, "t0")
    assert isinstance(closing, EvDebugRecord)
    assert (closing.type, closing.ev_score, closing.ev_adopted) == ("ev_decision", 0.5, True)
    refused = sample(AbsaParams(), risks=(StructuralRisk(type="IRONY"),))
    second = settle(refused)
    summary = debug_summary(
        [gated, SampleGate("s2", 1, second.patched.gate, second.adoption, refused.thresholds)]
    )
    assert (summary.n_aspects, summary.decision_applied_n, summary.decision_skip_n) == (2, 1, 1)
    assert summary.skip_reason_count == {"l3_conservative": 1}
    assert summary.skip_reason_rate == {"l3_conservative": 0.5}
    assert summary.total_dist.median == 1.8
    assert summary.threshold_near_rate.total_near_rate == 0.0
    assert summary.by_sample["s2"].adopt_reason == "l3_conservative"
    assert debug_summary([]).total_dist.mean is None


def test_quantiles_are_linear() -> None:
    assert quantile([0.0, 1.0, 2.0, 3.0], 0.5) == 1.5
    assert quantile([0.0, 10.0], 0.9) == pytest.approx(9.0)


def test_metrics_of_records() -> None:
    adopted = record(AbsaParams())
    refused = record(AbsaParams(), risks=(StructuralRisk(type="IRONY"),))
    figures = adoption_metrics([adopted, refused])
    assert figures.override_applied_and_adopted_rate == 0.5
    assert figures.adopt_reason_counts == {"debate_action": 1, "l3_conservative": 1}
    assert figures.guided_change_rate == 0.5
    assert figures.risk_resolution_rate == 0.0
    assert scorecard(adopted).mapping_coverage == 1.0


def test_a_turn_without_a_name_has_the_personas() -> None:
    persona = DebatePersona(name="비평가 패널", role="비평가", goal="g", stance="con")
    assert completed(DebateTurn(), persona, "v1").speaker == "비평가 패널"
    assert completed(DebateTurn(), persona, "v1").stance == "con"
    assert completed(DebateTurn(stance="pro", speaker="x"), persona, "v1").speaker == "x"
    assert completed(DebateTurn(), persona, "v2").agent == "비평가 패널"
    assert completed(DebateTurn(), persona, "v2").stance == ""


def test_the_shared_context_has_no_slot_unless_filled() -> None:
    given = sample(AbsaParams(debate=DebateParams(protocol="v2")))
    shown = shared_context(TEXT, given.stage1).model_dump_json()
    assert "DEBATE_CONTEXT__MEMORY" not in shown
    assert "피부톤" in shown


def test_what_is_remembered_of_a_record() -> None:
    risks = (StructuralRisk(type="evidence gap", severity=Severity.MEDIUM),)
    found = episode_of(
        record(AbsaParams(), risks=risks),
        episode_id="e1",
        sign=signature(TEXT, 2, KO),
        risks=risks,
    )
    assert found.final_tuples == (
        EpisodeTuple(aspect="피부톤", polarity=Polarity.POSITIVE),
        EpisodeTuple(aspect="가격", polarity=Polarity.NEGATIVE),
    )
    assert found.override_tuple == found.final_tuples[0]
    assert (found.risk_tags, found.severity_sum) == (("EVIDENCE_GAP",), 2)
    assert (found.override_applied, found.outcome) == (True, "improved")
    assert store_reason(found, [found]) == "utility"
    refuse_forbidden(found.model_dump(mode="json"))
    assert TEXT not in found.model_dump_json()
