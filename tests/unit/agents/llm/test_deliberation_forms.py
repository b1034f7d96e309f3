"""What becomes of the fields that a model filled in on an open question."""

from typing import Any

import pytest

from parley.agents.llm.deliberation.forms import (
    AxesForm,
    DebaterForm,
    ForceForm,
    ProposerForm,
    ScoreForm,
    SenseForm,
    SummaryForm,
    read_axes,
    read_perspective,
    read_scores,
    read_sensitivity,
    read_summary,
    read_turn,
)
from parley.agents.llm.question import Unusable
from parley.agents.llm.text_fields import is_adapted
from parley.bus.contracts.deliberation.content import (
    AxesRequest,
    DeliberateRequest,
    Proposal,
    RegimeReason,
    ScoreRequest,
    Spoken,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.panel import Persona
from tests.model_minds import FILLED

TOLD = "Example: the ferry should stay."
CRITIC = Persona(name="critic", stance="con")
THINK = DeliberateRequest(iteration=1, theta=Theta.L3, personas=(CRITIC,), axes=("yearly cost",))
SPOKEN = (
    Spoken(agent="critic", position="keep closed", axes=("Staff Rota",)),
    Spoken(agent="empath", position="open"),
)
AXES = AxesRequest(iteration=1, theta=Theta.L3, turns=SPOKEN)
SUMMARY = SummaryRequest(
    theta=Theta.L3, reason=RegimeReason.DECISION_SUFFICIENCY, turns=SPOKEN, conclusion="open"
)


def filled(form, name, **changes):
    return form.model_validate(FILLED[name]("") | changes)


def refused(read, *arguments) -> Any:
    with pytest.raises(Unusable) as caught:
        read(*arguments)
    return caught.value


def test_a_turn_has_the_stance_of_its_seat():
    form = filled(DebaterForm, "debater", stance="pro", confidence=0.4)
    turn = read_turn(form, THINK, CRITIC, TOLD)
    assert (turn.stance, turn.confidence, turn.position) == ("con", 0.4, "open at night")
    assert turn.arguments == ("Late readers have no other place.",)


def test_known_axes_and_no_axes_are_not_raised():
    named = ["Yearly  Cost", "none", "TRULY_SATURATED", "—", "noise", "noise", " "]
    turn = read_turn(filled(DebaterForm, "debater", axes=named), THINK, CRITIC, TOLD)
    assert turn.axes == ("noise",)


@pytest.mark.parametrize("said", ["", "string", "…", "The ferry should stay.", "내용"])
def test_a_message_that_says_nothing_is_none(said):
    told = "the ferry should stay."
    form = filled(DebaterForm, "debater", message=said)
    assert refused(read_turn, form, THINK, CRITIC, told).rest is None


def test_no_position_is_no_position():
    form = filled(DebaterForm, "debater", position="none")
    assert read_turn(form, THINK, CRITIC, TOLD).position == ""


def test_candidates_are_named_once():
    asked = THINK.model_copy(update={"theta": Theta.L2, "candidates": (Proposal(id="daily"),)})
    turn = read_turn(filled(ProposerForm, "proposer"), asked, CRITIC, TOLD)
    assert [one.id for one in turn.candidates] == ["weekly", "never"]


def test_somebody_has_to_propose_something():
    asked = THINK.model_copy(update={"theta": Theta.L2})
    problem = refused(
        read_turn, filled(ProposerForm, "proposer", candidates=[]), asked, CRITIC, TOLD
    )
    assert "propose at least one" in str(problem)
    assert problem.rest.candidates == ()


def test_scores_are_of_the_candidates_there_are():
    ids = tuple(Proposal(id=one) for one in ("Daily", "weekly", "monthly"))
    asked = ScoreRequest(iteration=1, theta=Theta.L2, personas=(CRITIC,), candidates=ids)
    problem = refused(read_scores, filled(ScoreForm, "score"), asked)
    assert '"never" is none of Daily, weekly, monthly' in str(problem)
    assert 'no score for "monthly"' in str(problem)
    assert [(one.id, one.score) for one in problem.rest.scores] == [("Daily", 0.9), ("weekly", 0.5)]


def test_who_raised_an_axis_is_looked_up():
    named = [
        {"name": "staff rota", "difference": "who works", "orthogonality_score": 0.3},
        {"name": "SATURATED", "difference": ""},
    ]
    found = read_axes(filled(AxesForm, "axes", axes=named), AXES, TOLD)
    assert found.axes is not None
    (axis,) = found.axes
    assert (axis.name, axis.raised_by) == ("staff rota", ("critic",))
    assert (found.orthogonality, found.unexplored) == (0.3, ("winter heating",))


def test_no_axis_means_saturated_and_not_that_nobody_looked():
    assert read_axes(filled(AxesForm, "axes"), AXES, TOLD).axes == ()


@pytest.mark.parametrize("word", ["STABLE", "stable.", "Stable"])
def test_a_conclusion_can_only_be_stable_if_there_is_one(word):
    form = filled(AxesForm, "axes", conclusion=word)
    assert refused(read_axes, form, AXES, TOLD).rest is None
    before = AXES.model_copy(update={"conclusion": "open"})
    assert read_axes(form, before, TOLD).conclusion == "STABLE"


@pytest.mark.parametrize(
    ("axis", "saturated", "meant"),
    [
        ("noise", False, "noise"),
        ("", True, None),
        ("none", True, None),
        ("TRULY_SATURATED", True, None),
        ("noise", True, "both"),
        ("", False, "neither"),
    ],
)
def test_a_forced_perspective_says_one_thing(axis, saturated, meant):
    form = ForceForm(reason="The long term counts.", axis=axis, truly_saturated=saturated)
    if meant in {"both", "neither"}:
        assert refused(read_perspective, form, TOLD).rest is None
    else:
        found = read_perspective(form, TOLD)
        assert (found.axis, found.truly_saturated) == (meant, meant is None)


def test_sensitivity_is_one_of_three_words():
    assert (
        read_sensitivity(filled(SenseForm, "sense", sensitivity="HIGH "), TOLD).sensitivity
        == "high"
    )
    assert refused(read_sensitivity, filled(SenseForm, "sense", sensitivity="some"), TOLD)


def test_nobody_is_made_to_dissent_from_a_position_it_did_not_take():
    dissent = [
        {"agent": "Critic", "reason": "It costs too much."},
        {"agent": "mayor", "reason": "Against it."},
    ]
    problem = refused(read_summary, filled(SummaryForm, "summary", dissent=dissent), SUMMARY, TOLD)
    assert '"mayor" did not debate' in str(problem)
    (found,) = problem.rest.dissent
    assert (found.agent, found.position) == ("critic", "keep closed")


EXAMPLE = 'Example: {"conclusion":"Keep the ferry with a smaller timetable."}'


@pytest.mark.parametrize(
    ("conclusion", "adapted"),
    [
        ("Keep the meeting with a smaller timetable.", True),
        ("Keep, the night library; with a smaller timetable!", True),
        ("Open the library at night with a smaller staff.", False),
        ("Keep the meeting.", False),
    ],
)
def test_an_example_with_words_exchanged_is_known_again(conclusion, adapted):
    assert is_adapted(conclusion, EXAMPLE) is adapted


def test_an_adapted_example_goes_back_and_stands_if_the_model_insists():
    conclusion = "Keep the meeting with a smaller timetable."
    for problem in (
        refused(read_axes, filled(AxesForm, "axes", conclusion=conclusion), AXES, EXAMPLE),
        refused(
            read_summary, filled(SummaryForm, "summary", conclusion=conclusion), SUMMARY, EXAMPLE
        ),
    ):
        assert "conclusion: is copied from the example" in str(problem)
        assert problem.rest.conclusion == conclusion


def test_a_decision_stands_without_grounds_that_are_copied():
    copied = "The ferry should stay."
    told = f"Example: {copied}"
    for problem in (
        refused(
            read_perspective, ForceForm(reason=copied, axis="noise", truly_saturated=False), told
        ),
        refused(read_sensitivity, filled(SenseForm, "sense", reason=copied), told),
        refused(read_summary, filled(SummaryForm, "summary", rationale=copied), SUMMARY, told),
    ):
        assert "is copied from the example" in str(problem)
        assert problem.rest is not None
    assert refused(read_axes, filled(AxesForm, "axes", conclusion=copied), AXES, told).rest is None
