"""The pipeline as a flow: who is asked when, what happens when somebody does not answer."""

import pytest

from parley.bus.codec import decode, encode
from parley.bus.contracts.absa.findings import Judged
from parley.bus.contracts.absa.requests import DebateTurnRequest, JudgeRequest, ReviewRequest
from parley.bus.contracts.declaration import TerminationType
from parley.bus.contracts.facts import Asked, CancelRequested, Fact, Status, Terminated
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.subjects import tail_of
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.results import result_of
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.coordinator.protocols.absa.result import AbsaResult, AbsaUnfinished
from tests.absa_debates import (
    FLIP,
    REF,
    TEXT,
    final,
    panel,
    play,
    record,
    script,
    with_lines,
)

STAGE_1 = ["s1-ate", "s1-atsa", "s1-validator"]
DEBATE = ["d1-epm", "d1-tan", "d1-cj"]


def asked(facts: list[Fact]) -> list[str]:
    return [fact.step for fact in facts if isinstance(fact, Asked)]


def request_of(facts: list[Fact], step: str) -> object:
    return next(fact.request for fact in facts if isinstance(fact, Asked) and fact.step == step)


def test_stages_debate_judge_and_reviews_run_in_order() -> None:
    facts, state = play(panel(), FLIP)
    assert asked(facts) == [*STAGE_1, *DEBATE, "judge", "s2"]
    after = [fact.type for fact in facts[-4:]]
    assert after == ["turn", "overridden", "moderated", "closed"]
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (Status.COMPLETED, "debate_action")
    assert state.finding(Judged) is not None
    assert state.found(Judged).outcome is TerminationType.VERIFICATION_PASS


def test_the_record_is_that_of_the_pure_rules() -> None:
    output = record(panel(), FLIP)
    assert final(output) == [("피부톤", "positive"), ("가격", "negative")]
    assert output.meta.adopt_reason == "debate_action"
    assert [entry.agent for entry in output.process_trace] == [
        "ATE", "ATSA", "Validator", "EPM", "TAN", "CJ", "DebateJudge",
        "ATE", "ATSA", "Validator", "Moderator",
    ]  # fmt: skip
    assert output.process_trace[0].call_metadata is not None


def test_a_log_that_went_over_the_wire_gives_the_same_result() -> None:
    facts, state = play(panel(), FLIP)
    travelled = [decode(tail_of(fact), encode(fact)) for fact in facts]
    assert result_of(REF, fold(travelled)) == result_of(REF, state)


def test_each_speaker_reads_those_before_it() -> None:
    facts, _ = play(panel(), FLIP)
    histories = {}
    for key in ("epm", "tan", "cj"):
        request = request_of(facts, f"d1-{key}")
        assert isinstance(request, DebateTurnRequest)
        histories[key] = [turn.agent for turn in request.history]
        assert [item.term for item in request.context.stage1_aspects] == ["피부톤", "가격"]
    assert histories == {"epm": [], "tan": ["EPM"], "cj": ["EPM", "TAN"]}
    judge = request_of(facts, "judge")
    assert isinstance(judge, JudgeRequest)
    assert [turn.agent for turn in judge.turns] == ["EPM", "TAN", "CJ"]


def test_the_reviewers_are_asked_at_once_with_the_review_context() -> None:
    facts, _ = play(panel(), FLIP)
    ask = next(fact for fact in facts if isinstance(fact, Asked) and fact.step == "s2")
    assert ask.personas == ("ate", "atsa", "validator")
    assert isinstance(ask.request, ReviewRequest)
    assert ask.request.review_context is not None
    assert list(ask.request.review_context.aspect_hints) == ["피부톤"]


@pytest.mark.parametrize("silent", ["d1-epm", "d1-tan", "d1-cj"])
def test_a_missing_speaker_is_skipped(silent: str) -> None:
    key = silent.removeprefix("d1-")
    facts, state = play(panel(), with_lines(FLIP, {silent: {key: {"silent": True}}}))
    assert asked(facts) == [*STAGE_1, *DEBATE, "judge", "s2"]
    judge = request_of(facts, "judge")
    assert isinstance(judge, JudgeRequest)
    assert key.upper() not in [turn.agent for turn in judge.turns]
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    assert [(error.step, error.reason) for error in result.run.errors] == [(silent, "deadline")]


@pytest.mark.parametrize(
    ("step", "persona"),
    [("s1-ate", "ate"), ("s1-atsa", "atsa"), ("s1-validator", "validator"), ("judge", "judge"),
     ("s2", "atsa")],
)  # fmt: skip
def test_a_stage_or_judge_is_asked_once_more(step: str, persona: str) -> None:
    again = FLIP.line(step, persona)
    lines = with_lines(FLIP, {step: {persona: {"fail": "no idea"}}})
    if again is not None:
        lines.steps[f"{step}-again"] = {persona: again}
    facts, state = play(panel(), lines)
    asks = [fact for fact in facts if isinstance(fact, Asked) and fact.step == f"{step}-again"]
    assert [(ask.personas, getattr(ask.request, "attempt", 0)) for ask in asks] == [((persona,), 2)]
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (Status.COMPLETED, "debate_action")


@pytest.mark.parametrize(
    ("step", "persona", "line", "detail"),
    [
        ("s1-ate", "ate", {"silent": True}, "s1-ate: no answer from ate (deadline)"),
        ("judge", "judge", {"fail": "x"}, "judge: judge cannot answer (brain_error: x)"),
        (
            "s2",
            "ate",
            {"kind": "ate", "aspects": [{"term": "가격"}]},
            "s2: ate: stage2_structure_error: aspects",
        ),
        ("s2", "atsa", {"kind": "atsa"}, "s2: atsa: stage2_structure_error: aspect_sentiments"),
        ("s1-atsa", "atsa", {"kind": "ate"}, "s1-atsa: atsa: answered with ate"),
    ],
)
def test_a_stage_without_a_usable_answer_fails_the_debate(
    step: str, persona: str, line: object, detail: str
) -> None:
    lines = with_lines(FLIP, {step: {persona: line}, f"{step}-again": {persona: line}})
    _, state = play(panel(), lines)
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (Status.FAILED, "no_usable_answer")
    assert state.closed.detail == detail
    assert isinstance(result_of(REF, state), AbsaUnfinished)


def test_a_final_tuple_without_a_polarity_fails_the_debate() -> None:
    lines = script(
        """
        steps:
          s1-ate: {ate: {aspects: [{term: 가격}]}}
          s1-atsa: {atsa: {aspect_sentiments: [{aspect_ref: 가격, confidence: .8}]}}
        """
    )
    _, state = play(panel(), lines)
    assert state.closed is not None
    assert state.closed.status is Status.FAILED
    assert state.closed.reason == "polarity_contract_violation"
    assert "'가격' has no polarity" in (state.closed.detail or "")


PRESETS = {
    "abl_no_debate": [*STAGE_1, "s2"],
    "abl_no_debate_override": [*STAGE_1, *DEBATE, "judge", "s2"],
    "abl_no_stage2": [*STAGE_1, *DEBATE, "judge"],
    "abl_no_validator": [*STAGE_1[:2], *DEBATE, "judge", "s2"],
    "abl_no_moderator": [*STAGE_1, *DEBATE, "judge", "s2"],
}


@pytest.mark.parametrize("preset", PRESETS)
def test_an_ablation_leaves_out_what_it_switches_off(preset: str) -> None:
    facts, state = play(panel(preset=preset), FLIP)
    assert asked(facts) == PRESETS[preset]
    assert [fact.type for fact in facts].count("overridden") == 1
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    view = RecordView.model_validate(result.model_dump(by_alias=True))
    assert check_record(view).passed
    if preset == "abl_no_debate":
        assert result.run.termination_reason is TerminationReason.DEBATE_DISABLED
        assert result.meta.adopt_reason == "low_signal"
        assert "judged" not in [fact.type for fact in facts]
    if preset == "abl_no_debate_override":
        assert result.meta.debate_override_stats.override_disabled
    if preset == "abl_no_moderator":
        assert result.moderator.applied_rules == ()


def test_the_first_generation_takes_two_rounds_and_declares_after_each() -> None:
    lines = with_lines(
        FLIP,
        {
            f"d{number}-{key}": {key: {"message": "가격은 비싸요", "key_points": ["가격"]}}
            for number in (1, 2)
            for key in ("analyst", "critic", "empath")
        },
    )
    facts, state = play(panel("debate.protocol=v1"), lines)
    turns = [f"d{number}-{key}" for number in (1, 2) for key in ("analyst", "critic", "empath")]
    assert asked(facts) == [*STAGE_1, *turns, "judge", "s2"]
    riding = [fact for fact in facts if isinstance(fact, Asked) and fact.declaration is not None]
    assert [fact.step for fact in riding] == ["d2-analyst"]
    assert state.terminated is not None
    assert state.terminated.declaration.details.iteration == 2
    debate = record(panel("debate.protocol=v1"), lines).debate
    assert debate is not None
    assert [turn.speaker for turn in debate.rounds[1].turns] == [
        "분석가 패널",
        "비평가 패널",
        "공감가 패널",
    ]


REASONS: dict[TerminationReason, tuple[list[str], dict[str, object]]] = {
    # Nobody touches anything: all imply Stage 1.
    TerminationReason.CONSENSUS_REACHED: ([], {}),
    # Opposite polarities, both very sure.
    TerminationReason.HIGH_CONFIDENCE_DEADLOCK: (
        [],
        {
            "d1-epm": {"epm": {"proposed_edits": [{"op": "set_polarity", "target": {"aspect_ref": "가격"}, "value": "positive", "confidence": 0.95}]}},
            "d1-cj": {"cj": {"proposed_edits": [{"op": "confirm_tuple", "target": {"aspect_ref": "가격", "polarity": "negative"}, "confidence": 0.95}]}},
        },
    ),
    TerminationReason.MAX_ROUNDS_REACHED: (
        [],
        {"d1-epm": {"epm": {"proposed_edits": [{"op": "set_polarity", "target": {"aspect_ref": "가격"}, "value": "positive"}]}}},
    ),
    # Disagreement from the first round on, and nobody moves after it.
    TerminationReason.STALEMATE: (
        ["debate.rounds=5", "debate.stalemate_threshold=2"],
        {"d1-epm": {"epm": {"proposed_edits": [{"op": "set_polarity", "target": {"aspect_ref": "가격"}, "value": "positive"}]}}},
    ),
}  # fmt: skip

CALM = script(
    """
    steps:
      s1-ate: {ate: {aspects: [{term: 가격, confidence: .9}]}}
      s1-atsa: {atsa: {aspect_sentiments: [{aspect_ref: 가격, polarity: negative, confidence: .6}]}}
    """
)


@pytest.mark.parametrize("reason", REASONS)
def test_why_a_debate_ends(reason: TerminationReason) -> None:
    sets, lines = REASONS[reason]
    facts, state = play(panel(*sets), with_lines(CALM, lines), text="가격은 비싸요")
    assert state.terminated is not None
    assert state.terminated.reason == reason
    result = result_of(REF, state)
    assert isinstance(result, AbsaResult)
    ends = [one.terminates for one in result.run.declarations]
    assert ends == [False] * (len(ends) - 1) + [True]
    if reason is TerminationReason.STALEMATE:
        assert "d3-cj" in asked(facts)
        assert "d4-epm" not in asked(facts)


def test_speakers_and_order_can_be_replaced() -> None:
    persona = "{skeptic: {name: Skeptic, role: doubter, goal: doubt everything}}"
    chosen = panel(f"debate.personas={persona}", "debate.order=[skeptic, nobody]")
    facts, _ = play(chosen, CALM, text="가격은 비싸요")
    assert asked(facts) == [*STAGE_1, "d1-skeptic", "judge", "s2"]
    assert chosen.roster == ("ate", "atsa", "validator", "skeptic", "judge")


def test_a_debate_without_speakers_goes_straight_to_the_judge() -> None:
    persona = "{skeptic: {name: Skeptic, role: doubter, goal: doubt everything}}"
    chosen = panel(f"debate.personas={persona}")
    facts, _ = play(chosen, CALM, text="가격은 비싸요")
    assert asked(facts) == [*STAGE_1, "judge", "s2"]


def test_cancelling_works_at_any_moment() -> None:
    whole, _ = play(panel(), FLIP)
    for at in range(2, len(whole) - 1):
        facts, state = play(panel(), FLIP, cancel_at=at)
        if not any(isinstance(fact, CancelRequested) for fact in facts):
            continue
        assert state.closed is not None
        assert state.closed.status is Status.CANCELLED, at
        assert sum(isinstance(fact, Terminated) for fact in facts) == 1


def test_an_answer_that_misses_the_text_is_cleaned_not_refused() -> None:
    lines = with_lines(
        FLIP,
        {
            "s1-ate": {"ate": {"aspects": [
                {"term": "가격", "span": {"start": 900, "end": 904}, "confidence": 0.9},
                {"term": "배터리", "confidence": 0.9},
            ]}},
            "d1-epm": {"epm": {"proposed_edits": [
                {"op": "explode", "target": {"aspect_ref": "가격"}, "value": "positive"},
                {"op": "set_polarity", "target": {"aspect_ref": "배터리"}, "value": "positive"},
            ]}},
        },
    )  # fmt: skip
    output = record(panel(), lines)
    assert "배터리" not in [item.term for item in output.meta.stage1_aspects]
    assert output.debate is not None
    assert output.debate.rounds[0].turns[0].proposed_edits[0].op == "explode"
    assert check_record(RecordView.model_validate(output.model_dump(by_alias=True))).passed


@pytest.mark.parametrize(
    "text", ["🙂🙂🙂", "가" * 100_000, "good 음식 bad 서비스", "\ufffd\ufffd", "x"]
)
def test_odd_texts_go_through(text: str) -> None:
    facts, state = play(
        panel(), script("steps: {s1-ate: {ate: {aspects: [{term: 음식}]}}}"), text=text
    )
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED
    assert max(len(encode(fact)) for fact in facts if not isinstance(fact, Asked)) < 512 * 1024


def test_the_same_debate_twice_is_the_same_log() -> None:
    once, _ = play(panel(), FLIP)
    twice, _ = play(panel(), FLIP, text=TEXT)
    assert [encode(fact) for fact in once] == [encode(fact) for fact in twice]
