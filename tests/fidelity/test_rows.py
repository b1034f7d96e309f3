"""
The rulings on the brief, row by row: `python -m tests.fidelity` tries each and prints the table.

A test names the row; docs/brief.md has its document, its section and its ruling.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.agents.deliberation.judge import sum_up
from parley.agents.deliberation.question import parse_question
from parley.agents.llm.deliberation.forms import AxesForm, read_axes
from parley.agents.script import parse_script
from parley.bus.codec import decode, encode
from parley.bus.contracts.absa.debate import (
    DebateSummary,
    DebateTurn,
    EditTarget,
    ProposedEdit,
    Protocol,
)
from parley.bus.contracts.absa.moderator import ModeratorInput
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import AbsaParams, DebateParams, LanguagePatterns
from parley.bus.contracts.absa.review import ReviewContext
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    ValidatorOutput,
)
from parley.bus.contracts.deliberation.content import AxesRequest, RegimeReason, SummaryRequest
from parley.bus.contracts.deliberation.regimes import Iteration, RegimeOverrides, Theta
from parley.bus.contracts.facts import Asked, Decided, Fact, TurnTaken, declarations_in
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import ManagerDecision, Reply, RoundRequest
from parley.bus.contracts.verdicts.rules import Language
from parley.bus.subjects import DebateRef, Subjects
from parley.configs.languages import language_patterns
from parley.configs.panels import BUILT_IN, parse_sets, resolve
from parley.configs.speakers import speakers
from parley.console.cli.commands.rules import RULES
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.core.tolerance import below
from parley.coordinator.protocols.absa.rules.adopt import adopt_ungated, ev_components, ev_score
from parley.coordinator.protocols.absa.rules.aggregate import span_label
from parley.coordinator.protocols.absa.rules.final import build_final_aspects, build_tuples
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import aspect_index
from parley.coordinator.protocols.absa.rules.moderator import validator_view
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import refusal
from parley.coordinator.protocols.deliberation.observation import judge_axes
from parley.coordinator.protocols.deliberation.rules_io import run_regime
from parley.coordinator.protocols.deliberation.similarity import lexical_similarity
from parley.coordinator.protocols.verdicts import rationale, rationale_korean
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.rationale import English
from parley.coordinator.protocols.verdicts.rationale_korean import Korean
from parley.files.reader import read_archive
from tests.absa_debates import panel as absa_panel
from tests.debates import FORENSIC, ROSTER, play
from tests.debates import panel as verdict_panel

REPLAY = Path(__file__).parents[1] / "replay"
KO: LanguagePatterns = language_patterns("ko")
ROWS: dict[str, Callable[[], None]] = {}


def row(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def named(check: Callable[[], None]) -> Callable[[], None]:
        ROWS[name] = check
        return check

    return named


def recorded(name: str) -> tuple[Fact, ...]:
    (debate,) = read_archive(REPLAY / f"{name}.jsonl").debates
    return tuple(debate.facts)


def sentiment(aspect: str, polarity: str, confidence: float = 0.8) -> AspectSentiment:
    return AspectSentiment(aspect_ref=aspect, polarity=Polarity(polarity), confidence=confidence)


def hints(
    turns: list[DebateTurn], *found: AspectSentiment, protocol: Protocol = "v2"
) -> ReviewContext:
    index = aspect_index([AspectItem(term=one.key) for one in found], found, KO)
    return review_context(turns, DebateSummary(), index, protocol)


def edits(*aspects: str | None, op: str = "set_polarity") -> DebateTurn:
    return DebateTurn(
        agent="EPM",
        proposed_edits=tuple(
            ProposedEdit(op=op, target=EditTarget(aspect_ref=one), value="negative")
            for one in aspects
        ),
    )


TWO_TO_TWO = (
    (
        "{frequency: [authentic, .8], noise: [authentic, .8], "
        "watermark: [manipulated, .8], spatial: [manipulated, .8]}"
    ),
)
TWO_TO_TWO_PARAMS = {"consensus_threshold": 0.4}
UNANIMOUS = (
    (
        "{frequency: [manipulated, .9], noise: [manipulated, .8], "
        "watermark: [manipulated, .7], spatial: [manipulated, .8]}"
    ),
)
MIXED = (
    (
        "{frequency: {verdict: ai_generated, confidence: .85, arguments: [격자 패턴]}, "
        "noise: {verdict: authentic, confidence: .70, arguments: [PRNU 존재]}}"
    ),
)
DEADLOCKED = (
    (
        "{frequency: {verdict: ai_generated, confidence: .92, arguments: [GAN 격자 패턴]}, "
        "noise: {verdict: authentic, confidence: .88, arguments: [카메라 PRNU]}, "
        "spatial: [ai_generated, .9]}"
    ),
)
AT_THE_CAP = (
    (
        "{frequency: [ai_generated, .8], noise: [authentic, .7], watermark: [authentic, .6], "
        "spatial: [uncertain, .5]}"
    ),
    "{watermark: [ai_generated, .6]}",
    "{noise: [manipulated, .7]}",
    "{watermark: [manipulated, .65]}",
)
SCENARIO_2 = (
    (
        "{frequency: {verdict: ai_generated, confidence: .85, arguments: [격자 패턴 0.78]}, "
        "noise: {verdict: authentic, confidence: .80, arguments: [PRNU 0.82]}, "
        "watermark: [ai_generated, .75], spatial: [ai_generated, .70]}"
    ),
    "{noise: {reasoning: PRNU 0.82. 판정 유지}}",
)


def played(params: Mapping[str, Any], *rounds: str, language: Language | None = None) -> list[Fact]:
    script = parse_script("rounds:\n" + "".join(f"  - {one}\n" for one in rounds))
    roster = [name for name in ROSTER if name in script.agents()]
    chosen = verdict_panel(roster, **params)
    return play(chosen if language is None else chosen.said_in(language), script)[0]


def decision_in(facts: Sequence[Fact]) -> ManagerDecision:
    (found,) = [one.decision for one in facts if isinstance(one, Decided)]
    assert isinstance(found, ManagerDecision)
    return found


def ending(params: Mapping[str, Any], *rounds: str) -> str:
    facts = played({**TWO_TO_TWO_PARAMS, **params}, *rounds)
    return str(decision_in(facts).termination_reason)


def korean(rounds: Sequence[str]) -> str:
    return decision_in(played({}, *rounds, language="ko")).rationale


def overridden(confidence: float) -> dict[str, Any]:
    hint = {"speaker": "EPM", "stance": "patch", "polarity_hint": "positive"}
    line = {
        "text": "피부톤은 맑아졌는데",
        "aspect_hints": {"피부톤": [{**hint, "weight": weight} for weight in (0.5, 0.5, 0.8)]},
        "summary": {"sentence_evidence_spans": ["맑아졌는데"]},
        "structural_risks": [],
        "sentiments": [{"aspect_ref": "피부톤", "polarity": "negative", "confidence": confidence}],
    }
    answer: dict[str, Any] = json.loads(RULES["override"](json.dumps(line).encode()))
    return answer


@row("row-10")
def null_fields_are_written() -> None:
    turn = TurnTaken(step="judge", persona="judge", content=DebateSummary())
    written = json.loads(encode(turn))
    assert written["content"]["winner"] is None
    assert decode("turn.judge.judge", encode(turn)) == turn


@row("row-11")
def every_synonym_reaches_every_other() -> None:
    index = aspect_index([AspectItem(term="비용")], (), KO)
    assert index.mentioned(["가격이 과하다"]) == ("비용",)


@row("row-12")
def the_fallback_reads_short_polarities() -> None:
    turn = DebateTurn(agent="EPM", proposed_edits=(
        ProposedEdit(op="set_polarity", target=EditTarget(aspect_ref="포장"), value="neg"),
    ))  # fmt: skip
    found = hints([turn], sentiment("맛", "positive", 0.9), sentiment("배송", "negative", 0.5))
    assert found.rebuttal_points[0].aspect_refs == ("배송",)


@row("row-14")
def a_validator_may_suggest_a_label() -> None:
    assert validator_view(ValidatorOutput(suggested_label="negative"), ()).suggested_label == (
        "negative"
    )


@row("row-16")
def adoption_is_decided_without_a_debate() -> None:
    assert AbsaParams(debate=DebateParams(enabled=False)).adopt_gate_is_on
    assert not AbsaParams(debate=DebateParams(protocol="v1")).adopt_gate_is_on
    alone = ev_components(
        debate_acted=False, validator_resolved=True, grounded=True, confidence_gain=1, debated=False
    )
    assert ev_score(alone) == 1.0
    assert alone.validator_resolved == pytest.approx(0.5)


@row("row-20")
def an_edit_names_its_aspect() -> None:
    chosen = DebateState(panel=absa_panel())
    unnamed = TurnTaken(step="d1-epm", persona="epm", content=edits(None))
    assert refusal(chosen, unnamed) == "set_polarity names no target.aspect_ref"
    renamed = TurnTaken(step="d1-tan", persona="tan", content=edits(None, op="set_aspect_ref"))
    assert refusal(chosen, renamed) is None


@row("row-21")
def a_judge_quotes_for_its_polarity() -> None:
    def said(**summary: object) -> TurnTaken:
        content = DebateSummary.model_validate(summary)
        return TurnTaken(step="judge", persona="judge", content=content)

    chosen = DebateState(panel=absa_panel(), input=DebateInput(text="맛있지만 느려요"))
    assert refusal(chosen, said(sentence_polarity="positive")) is not None
    assert refusal(chosen, said(sentence_polarity="neutral")) is None
    quoted = said(sentence_polarity="positive", sentence_evidence_spans=["맛있지만"])
    assert refusal(chosen, quoted) is None
    paraphrased = said(sentence_polarity="positive", sentence_evidence_spans=["맛있습니다"])
    assert "letter by letter" in (refusal(chosen, paraphrased) or "")
    one_is_exact = said(sentence_polarity="positive", sentence_evidence_spans=["좋다", "맛있지만"])
    assert refusal(chosen, one_is_exact) is None


@row("row-22")
def every_step_declares_and_one_debate_ends() -> None:
    for name in ("absa/flip", "reported", "absa/no-judge"):
        facts = recorded(name)
        own = [one for fact in facts for one in getattr(fact, "declared", ())]
        debate = [one for fact in facts if (one := getattr(fact, "declaration", None)) is not None]
        assert sum(one.terminates for one in debate) == 1
        assert {one.node for one in debate} == {"debate"}
        asked = [fact.step for fact in facts if isinstance(fact, Asked)]
        rounds = {step for step in asked if step == "opening" or step.startswith("round-")}
        assert [one.node for one in own] == [step for step in asked if step not in rounds]
        judges = {one.details.theta for one in own if one.node.startswith("judge")}
        assert judges <= {"L2"}


@row("row-23")
def all_five_fields_are_there() -> None:
    for name in ("absa/flip", "stalemate-a-02", "cancelled"):
        for fact in recorded(name):
            declared = [*getattr(fact, "declared", ()), getattr(fact, "declaration", None)]
            for one in filter(None, declared):
                assert None not in one.termination_rationale.model_dump().values()


@row("row-24")
def expansion_is_the_growth_of_coverage() -> None:
    said = [{"text": "aa bb", "conclusion": "buy"}, {"text": "aa cc", "conclusion": "buy"}]
    run = run_regime(Theta.L1, RegimeOverrides(), map(Iteration.model_validate, said))
    last = run.declarations[-1]
    assert last.termination_rationale.semantic_expansion_delta == 0.5
    assert last.details.delta_sem == 0.0


@row("row-26-mode")
def the_mode_is_declared() -> None:
    modes = [
        run_regime(theta, RegimeOverrides(), [Iteration()]).declarations[0].details.mode
        for theta in Theta
    ]
    assert modes == ["validate", "converge", "diverge", "diverge", "diverge"]


@row("row-27")
def a_cap_is_no_success() -> None:
    capped = run_regime(Theta.L2, RegimeOverrides(max_iterations=1), [Iteration()])
    assert capped.declarations[-1].termination_type == "operational"
    assert capped.declarations[-1].details.rule == "max_iterations"


@row("row-32")
def one_fallback_hint_an_aspect() -> None:
    turns = [edits("포장"), edits("색상"), edits("크기")]
    found = hints(turns, sentiment("배송", "positive"))
    assert len(found.aspect_hints["배송"]) == 1


@row("row-33")
def gate_off_reads_adopted() -> None:
    outcome = adopt_ungated((), (sentiment("맛", "positive"),))
    assert (outcome.adopt_reason, outcome.ev_adopted) == ("gate_off", True)


@row("row-34")
def an_explicit_aspect_has_its_term() -> None:
    (one,) = build_tuples([sentiment("맛", "positive")])
    assert one.aspect_term == "맛"
    assert build_final_aspects([sentiment("맛", "positive")])[0].aspect_term is not None


@row("sentence-label")
def a_sentence_can_be_mixed() -> None:
    both = [sentiment("soup", "negative", 0.9), sentiment("waiter", "positive", 0.7)]
    label = span_label(both, ())
    assert (label.label, label.confidence, label.span) == ("mixed", 0.7, None)
    assert span_label(both, (), "strongest").label == "negative"
    assert span_label([sentiment("a", "neutral", 0.9), both[1]], ()).label == "positive"


@row("row-1")
def consensus_wants_a_majority_unless_told_otherwise() -> None:
    assert ending({}, *TWO_TO_TWO) == "stalemate"
    assert ending({"consensus_needs_majority": False}, *TWO_TO_TWO) == "consensus_reached"


@row("row-2")
def disagreement_follows_the_scenarios() -> None:
    assert disagreement(["a", "a", "u", "a"]) == pytest.approx(1 / 3)
    assert disagreement(["a", "m", "u", "?"]) == 1.0


@row("row-3")
def the_manager_speaks_korean() -> None:
    assert korean(UNANIMOUS).startswith("전문가들이 만장일치로 MANIPULATED로 판정했습니다.")
    assert [rationale_korean.towards(one)[-2:] for one in ("authentic", "uncertain")] == [
        "으로"
    ] * 2
    stuck = korean(MIXED)
    assert stuck.startswith("전문가들이 교착 상태에 도달했습니다. Manager가 최종 판정을 내립니다:")
    assert "Frequency Agent: AI_GENERATED (0.85) - 격자 패턴" in stuck
    assert "판정: MANIPULATED (실제 사진에 AI 객체 추가)" in stuck
    assert "신뢰도: 0.60 (불일치로 인한 감소)" in stuck
    sure = korean(DEADLOCKED)
    assert sure.startswith("양측 전문가 모두 높은 신뢰도로 다른 판정을 내렸습니다")
    assert "이는 혼합 이미지(Mixed Content)의 가능성을 시사합니다. → 최종 판정: MANIPULATED" in sure
    assert sure.endswith("조작 의심 영역 탐지 요청")
    capped = korean(AT_THE_CAP)
    assert capped.startswith("최대 토론 라운드에 도달했습니다.")
    assert "현재 판정 분포: MANIPULATED 2표, AI_GENERATED 1표, UNCERTAIN 1표. → 다수결" in capped
    spoken = {name for name in vars(English) if not name.startswith("__")}
    assert spoken == {name for name in vars(Korean) if not name.startswith("__")}
    assert rationale.BY_RULE.keys() == rationale_korean.BY_RULE.keys()
    assert rationale.OUTSIDE.keys() == rationale_korean.OUTSIDE.keys()


@row("row-4")
def the_handlers_constants_decide() -> None:
    assert [FORENSIC.decide[name].confidence for name in ("stalemate", "deadlock", "rounds")] == [
        0.60, 0.70, 0.55,
    ]  # fmt: skip


@row("row-5")
def more_than_five_rounds_are_warned_of() -> None:
    assert resolve("forensic", overrides=parse_sets(["max_rounds=5"])).warnings == ()
    (said,) = resolve("forensic", overrides=parse_sets(["max_rounds=6"])).warnings
    assert said == "max_rounds: 6 rounds; 1 to 5 are recommended"


@row("row-6")
def consensus_takes_the_majority_verdict() -> None:
    fast = {"max_rounds": 2, "consensus_threshold": 0.4, "stalemate_threshold": 1}
    facts = played(fast, "{frequency: [authentic, .8], noise: [manipulated, .8], "
                   "watermark: [manipulated, .8], spatial: [manipulated, .8]}")  # fmt: skip
    assert decision_in(facts).final_verdict == "manipulated"


@row("row-7")
def a_challenge_has_words_and_is_answered() -> None:
    facts = played({}, *SCENARIO_2)
    asked = next(one.request for one in facts if isinstance(one, Asked) and one.step == "round-1")
    assert isinstance(asked, RoundRequest)
    (told,) = [one for one in asked.challenges if one.challenger == "frequency"]
    assert (told.challenged, told.point) == ("noise", "격자 패턴 0.78")
    replies = [one.content for one in facts if isinstance(one, TurnTaken)]
    answered = [one.answers for one in replies if isinstance(one, Reply) and one.answers]
    assert answered[0] == ("frequency",)


@row("row-8")
def the_personas_are_the_documents() -> None:
    told = {key: one.name for key, one in speakers("ko", "v1").items()}
    assert told == {"analyst": "분석가 패널", "critic": "비평가 패널", "empath": "공감가 패널"}
    roles = [one.role.split()[-1] for one in speakers("en", "v2").values()]
    assert roles == ["Mapper", "Normalizer", "Judge"]


@row("row-15")
def the_moderator_gets_the_final_aspect_sentiments() -> None:
    assert "final_aspect_sentiments" in ModeratorInput.model_fields
    facts = recorded("absa/flip")
    state = fold(facts)
    given = Reading(state).settled.moderator_input
    assert given.final_aspect_sentiments


@row("row-18")
def early_stop_has_a_key() -> None:
    chosen = resolve("absa", overrides=parse_sets(["debate.early_stop=false"])).panel
    assert isinstance(chosen, AbsaPanel)
    assert not chosen.params.debate.early_stop
    assert "early_stop" in (BUILT_IN / "absa.yaml").read_text(encoding="utf-8")


@row("row-19")
def the_log_has_the_documents_form() -> None:
    written = json.loads(encode(TurnTaken(step="d1-epm", persona="epm", content=edits("맛"))))
    (edit,) = written["content"]["proposed_edits"]
    assert (edit["op"], edit["target"]["aspect_ref"]) == ("set_polarity", "맛")


@row("row-25")
def declarations_have_a_subject_and_their_own_reading() -> None:
    ref = DebateRef("forensic", "photo-7")
    assert Subjects().declarations(ref) == "live.debate.8.forensic.photo-7.declaration"
    facts = recorded("stalemate-a-02")
    declared = [one for fact in facts for one in declarations_in(fact)]
    assert [one.terminates for one in declared if one.node == "debate"] == [False, False, True]


@row("row-26-answer")
def a_question_of_two_is_answered_by_true_or_false() -> None:
    asked = parse_question("question: 계약을 갱신할까요?\noptions: [{id: renew, text: 예}, {id: end, text: 아니오}]\n"
                           "evidence: [{option: end, criterion: cost, for: 0.9, text: 비싸다}]\n"
                           "criteria: [{name: cost, weight: 1.0}]")  # fmt: skip
    request = SummaryRequest(theta=Theta.L0, reason=RegimeReason.ANSWER_CONVERGENCE)
    assert sum_up(asked, request).answer is False


@row("row-28")
def an_old_axis_beside_a_new_one_costs_nothing() -> None:
    novelty = judge_axes(["cost", "fairness"], ["cost"], 0.15, lexical_similarity)
    assert novelty.orthogonality == 1.0


@row("row-29")
def every_axis_has_a_score_and_saturated_is_understood() -> None:
    request = AxesRequest(iteration=2, theta=Theta.L3, axes=("cost",), conclusion="rent")
    said = {"unexplored": [], "conclusion": "rent", "confidence": 0.6}
    axes = [
        {"name": "law", "difference": "who may", "orthogonality_score": 0.9},
        {"name": "price", "difference": "hardly any", "orthogonality_score": 0.1},
    ]
    judged = read_axes(AxesForm.model_validate({"axes": axes, **said}), request, "")
    assert judged.orthogonality == 0.9
    assert [one.orthogonality_score for one in judged.axes or ()] == [0.9, 0.1]
    full = read_axes(AxesForm.model_validate({"axes": "SATURATED", **said}), request, "")
    assert (full.axes, full.orthogonality) == ((), 0.0)


@row("row-30")
def the_target_confidence_is_a_floor() -> None:
    (flipped,) = overridden(0.95)["sentiments"]
    assert (flipped["polarity"], flipped["confidence"]) == ("positive", 0.95)
    (raised,) = overridden(0.3)["sentiments"]
    assert raised["confidence"] == 0.7


@row("row-31")
def an_ev_score_at_the_threshold_adopts() -> None:
    exact = ev_components(
        debate_acted=True, validator_resolved=False, grounded=False, confidence_gain=0.2
    )
    assert ev_score(exact) == 0.5
    assert not below(ev_score(exact), 0.5)


@pytest.mark.parametrize("name", ROWS)
def test_row(name: str) -> None:
    ROWS[name]()
