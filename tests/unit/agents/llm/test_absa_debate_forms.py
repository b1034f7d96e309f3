"""What becomes of the fields that a model filled in when it debated a review or judged."""

import pytest

from parley.agents.llm.absa.judge_forms import (
    JudgeV1Form,
    JudgeV2Form,
    read_judge_v1,
    read_judge_v2,
)
from parley.agents.llm.absa.turn_forms import TurnV1Form, TurnV2Form, read_turn_v1, read_turn_v2
from parley.bus.contracts.absa.debate import DebateTurn
from parley.bus.contracts.absa.requests import (
    JudgeRequest,
)
from tests.model_minds import ENGLISH, FILLED
from tests.unit.agents.llm.reviewed import CONTEXT, EN, JUDGE, TURN, filled, refused


def test_a_speaker_is_whoever_was_asked():
    turn = read_turn_v1(filled(TurnV1Form, "turn_v1", speaker="Critic panel"), TURN, EN)
    assert (turn.speaker, turn.stance, turn.agent) == ("Analyst panel", "neutral", "")
    assert turn.key_points[-1] == '"was great"'
    assert turn.planning
    assert turn.reflection


def test_a_speech_without_its_quote_goes_back_and_then_stands_without_it():
    problem = refused(read_turn_v1, filled(TurnV1Form, "turn_v1", evidence="superb"), TURN, EN)
    assert '"superb" does not stand' in str(problem)
    assert problem.rest.key_points == ("food", "service")


@pytest.mark.parametrize("said", ["", "message", "The waiter is judged kindly."])
def test_a_speech_that_says_nothing_is_none(said):
    assert refused(read_turn_v1, filled(TurnV1Form, "turn_v1", message=said), TURN, EN).rest is None


def edit(op, aspect="food", **changes):
    usual = {"evidence": "was great", "polarity": "positive", "new_aspect": "", "confidence": 0.9}
    return {"op": op, "aspect": aspect} | usual | changes


def turn_of(*edits, message=""):
    form = TurnV2Form.model_validate({"proposed_edits": list(edits), "message": message})
    return read_turn_v2(form, TURN, EN)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (edit("set_polarity"), ("food", "neutral", "positive", "was great")),
        (edit("confirm_tuple"), ("food", "positive", None, "was great")),
        (
            edit("drop_tuple", "service", polarity="negative", evidence=""),
            ("service", "negative", None, None),
        ),
        (
            edit("set_aspect_ref", "", new_aspect="The food", evidence=""),
            (None, None, "The food", None),
        ),
        (
            edit("merge_tuples", new_aspect="service", evidence=""),
            ("food", "positive", "service", None),
        ),
    ],
    ids=["set", "confirm", "drop", "aspect", "merge"],
)
def test_each_op_becomes_its_edit(said, meant):
    (found,) = turn_of(said).proposed_edits
    target = found.target
    assert (target.aspect_ref, target.polarity, found.value, found.evidence) == meant
    assert found.op == said["op"]


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        (edit("explode"), "should be one of set_polarity"),
        (edit("set_polarity", "parking"), "not among the aspects"),
        (edit("set_polarity", evidence="superb"), "does not stand in the text"),
        (edit("set_polarity", evidence=""), "copy the words"),
        (edit("set_aspect_ref", new_aspect="parking"), '"parking" does not stand'),
        (edit("confirm_tuple", polarity="gold"), "positive, negative, neutral"),
    ],
)
def test_a_bad_edit_goes_back_and_is_then_left_out(said, complaint):
    good = edit("confirm_tuple", "service", evidence="was slow", polarity="negative")
    problem = refused(lambda: turn_of(said, good))
    assert complaint in str(problem)
    assert [one.target.aspect_ref for one in problem.rest.proposed_edits] == ["service"]


def test_no_edit_needs_a_reason():
    assert turn_of(message="Stage 1 quotes the right words.").message.startswith("Stage 1")
    assert refused(lambda: turn_of(message="...")).rest is None


def test_the_winner_is_one_who_spoke():
    turns = (DebateTurn(speaker="Critic panel", stance="con", message="m"),)
    asked = JudgeRequest(protocol="v1", context=CONTEXT, turns=turns)
    won = read_judge_v1(filled(JudgeV1Form, "judge_v1", winner="critic PANEL"), asked, EN)
    assert won.winner == "Critic panel"
    assert read_judge_v1(filled(JudgeV1Form, "judge_v1"), asked, EN).winner is None
    problem = refused(read_judge_v1, filled(JudgeV1Form, "judge_v1", winner="me"), asked, EN)
    assert "Critic panel, con, none" in str(problem)
    assert problem.rest.winner is None


def test_the_patch_follows_from_the_tuples():
    summary = read_judge_v2(filled(JudgeV2Form, "judge_v2"), JUDGE, EN)
    assert [
        (one.op, one.target.aspect_ref, one.target.polarity, one.value, one.evidence)
        for one in summary.final_patch
    ] == [
        ("set_polarity", "food", "neutral", "positive", "was great"),
        ("confirm_tuple", "service", "negative", None, "was slow"),
    ]
    assert [(one.aspect_ref, one.polarity) for one in summary.final_tuples] == [
        ("food", "positive"),
        ("service", "negative"),
    ]
    assert summary.sentence_evidence_spans == ("was great", "was slow")
    assert summary.aspect_evidence == {"food": "was great", "service": "was slow"}
    assert summary.unresolved_conflicts == ()


def test_an_aspect_is_dropped_only_by_name():
    tuples = FILLED["judge_v2"](ENGLISH)["final_tuples"][:1]
    form = filled(JudgeV2Form, "judge_v2", final_tuples=tuples, dropped_aspects=["service"])
    summary = read_judge_v2(form, JUDGE, EN)
    assert summary.final_patch[-1].op == "drop_tuple"
    assert [one.aspect_ref for one in summary.final_tuples] == ["food"]


@pytest.mark.parametrize(
    ("language", "conflict"),
    [
        ("en", "food: the judge said nothing usable; Stage 1 stands"),
        ("ko", "food: 심판이 쓸 수 있는 말을 하지 않아 1단계 그대로 둠"),
    ],
)
def test_an_aspect_passed_over_stands_as_it_was_and_is_a_conflict(language, conflict):
    judge = JUDGE.model_copy(update={"language_code": language})
    tuples = FILLED["judge_v2"](ENGLISH)["final_tuples"]
    ungrounded = [tuples[0] | {"evidence": "superb"}, tuples[1]]
    problem = refused(
        read_judge_v2, filled(JudgeV2Form, "judge_v2", final_tuples=ungrounded), judge, EN
    )
    assert '"superb" does not stand' in str(problem)
    rest = problem.rest
    assert [(one.aspect_ref, one.polarity) for one in rest.final_tuples] == [
        ("service", "negative"),
        ("food", "neutral"),
    ]
    assert [one.op for one in rest.final_patch] == ["confirm_tuple"]
    assert rest.unresolved_conflicts == (conflict,)


def test_two_polarities_for_one_aspect_go_back():
    tuples = FILLED["judge_v2"](ENGLISH)["final_tuples"]
    twice = [*tuples, tuples[0] | {"polarity": "negative"}]
    problem = refused(read_judge_v2, filled(JudgeV2Form, "judge_v2", final_tuples=twice), JUDGE, EN)
    assert 'two polarities for "food"' in str(problem)


@pytest.mark.parametrize(
    ("read", "form", "name"),
    [(read_judge_v1, JudgeV1Form, "judge_v1"), (read_judge_v2, JudgeV2Form, "judge_v2")],
)
def test_a_judgement_stands_without_a_rationale_that_is_copied(read, form, name):
    copied = "The waiter is judged kindly."
    problem = refused(read, filled(form, name, rationale=copied), JUDGE, EN)
    assert "rationale: is copied from the example" in str(problem)
    sober = read(filled(form, name), JUDGE, EN)
    assert problem.rest == sober.model_copy(update={"rationale": ""})
    assert refused(read, filled(form, name, rationale="string"), JUDGE, EN).rest is None
