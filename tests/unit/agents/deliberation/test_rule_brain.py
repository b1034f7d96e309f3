"""The two shipped questions, and what the rule brain does with others."""

from pathlib import Path

import pytest

from parley.agents.brain import BrainFailure, Task
from parley.agents.deliberation.question import Question, parse_question
from parley.agents.deliberation.rule import DeliberatingBrain, answer
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    DeliberationRequest,
    ForceRequest,
    Perspective,
    RegimeReason,
    SenseRequest,
    SensitivityJudgement,
    Spoken,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import DebateInput, Persona
from parley.bus.contracts.verdicts.content import OpeningRequest
from parley.bus.errors import BadInput
from parley.configs.panels import BUILT_IN, parse_sets, resolve
from parley.coordinator.protocols.deliberation.result import DeliberationResult, result_of
from tests.deliberations import REF, play

QUESTIONS = BUILT_IN.with_name("questions")
LIBRARY = parse_question((QUESTIONS / "library.yaml").read_bytes())
LUNCH = parse_question((QUESTIONS / "lunch.yaml").read_bytes())


def deliberate(question: Question, theta: str, *sets: str) -> DeliberationResult:
    chosen = resolve("deliberation", overrides=parse_sets([f"theta={theta}", *sets])).panel
    assert isinstance(chosen, DeliberationPanel)

    def say(_step: str, persona: str, request: Request) -> Content | None:
        assert isinstance(request, DeliberationRequest)
        return answer(question, request, persona)

    return result_of(REF, play(chosen, say)[1])


def test_the_library_is_deliberated_to_an_explained_result():
    result = deliberate(LIBRARY, "L3")
    assert result.termination_reason is RegimeReason.DECISION_SUFFICIENCY
    assert result.conclusion == "open late by access card"
    assert result.total_iterations == 10
    assert [(one.name, one.iteration, one.raised_by) for one in result.axes] == [
        ("study places", 1, ("analyst", "empath")),
        ("yearly cost", 1, ("critic",)),
        ("safety after dark", 2, ("analyst", "critic", "empath")),
        ("staff workload", 3, ("analyst", "empath")),
        ("legal liability", 3, ("critic",)),
        ("street noise", 4, ("analyst", "critic", "empath")),
        ("building wear", 5, ("analyst", "critic")),
        ("image of the town", 8, ("analyst",)),
    ]
    assert list(result.orthogonality_history) == [1, 1, 1, 1, 1, 0, 0, 1, 0, 0]
    compared = [[one.name for one in each.details.checks] for each in result.declarations]
    asked = [place for place, names in enumerate(compared, 1) if "decision_sensitivity" in names]
    assert asked == [7, 10]
    found = [one.termination_rationale.decision_sensitivity for one in result.declarations]
    assert (found[6], found[9]) == (Sensitivity.MEDIUM, Sensitivity.LOW)
    for words in ("scores 0.55 by 8 criteria", "yearly cost +0.07", "Not weighed: energy use"):
        assert words in result.rationale
    assert "no model was asked" in result.rationale
    first = [one.position for one in result.turns if one.iteration == 1]
    assert first == ["open late with staff", "keep the present hours", "open late with staff"]


def test_the_lunch_is_deliberated_in_its_own_language():
    result = deliberate(LUNCH, "L3")
    assert result.termination_reason is RegimeReason.DECISION_SUFFICIENCY
    assert result.conclusion == "이웃 세 학교 공동조리"
    assert [one.name for one in result.axes] == [
        "아이들 건강", "위생 관리", "운영 비용", "조리원 노동", "알레르기 대응", "시설 투자",
    ]  # fmt: skip
    assert "기준 6개 종합: 이웃 세 학교 공동조리 0.61, 그다음 학교 직영 0.54." in result.rationale
    assert "검토하지 않은 기준: 지역 농가" in result.rationale
    assert "모델에 묻지 않았고" in result.rationale


@pytest.mark.parametrize("theta", list(Theta))
@pytest.mark.parametrize("question", [LIBRARY, LUNCH], ids=["library", "lunch"])
def test_it_says_the_same_every_time(question: Question, theta: Theta) -> None:
    one, other = deliberate(question, theta), deliberate(question, theta)
    assert one.model_dump_json() == other.model_dump_json()
    assert one.conclusion in {option.label for option in question.options}


def test_axes_that_nobody_raises_are_forced_until_the_file_has_no_more():
    result = deliberate(LUNCH, "L4")
    forced = [one.name for one in result.axes if one.forced]
    assert forced == ["지역 농가"]
    last = result.declarations[-1]
    assert last.details.rule == "truly_saturated"
    assert last.details.d_min_lowered is not None
    assert (last.details.d_min_lowered.from_, last.details.d_min_lowered.to) == (8, 7)


def test_candidates_are_the_options_and_losers_have_reasons():
    result = deliberate(LUNCH, "L2", "verification_threshold=.55", "margin_delta=.05")
    assert result.termination_reason is RegimeReason.VERIFICATION_PASS
    assert result.candidates[0].score > 0.55
    assert {one.id for one in result.rejected_candidates} == {"direct", "contract"}
    assert all(one.reason for one in result.rejected_candidates)


def test_stances_weigh_differently():
    def position(stance: str) -> tuple[str, tuple[str, ...]]:
        persona = Persona.model_validate({"name": "p", "stance": stance})
        request = DeliberateRequest(
            iteration=2,
            theta=Theta.L3,
            personas=(persona,),
            axes=("study places", "yearly cost", "safety after dark"),
        )
        said = answer(LIBRARY, request, "p")
        assert said.kind == "deliberation"
        return said.position, said.axes

    assert position("neutral") == ("open late by access card", ("staff workload",))
    assert position("con") == ("open late with staff", ("legal liability",))
    assert position("pro") == ("open late by access card", ("staff workload",))


def test_the_critic_looks_for_contrary_evidence():
    result = deliberate(LIBRARY, "L3")
    said = next(one for one in result.turns if (one.iteration, one.agent) == (3, "critic"))
    assert "The insurer wants a second alarm circuit" in said.message


SMALL = """
question: Left or right?
options: [{id: left}, {id: right}]
criteria: [{name: speed, weight: .9}, {name: price, weight: .2}]
evidence:
  - {option: left, criterion: speed, for: .1, text: a little faster}
  - {option: right, criterion: price, for: 1, text: free of charge}
"""


def test_an_unexplored_criterion_that_flips_the_lead_makes_it_sensitive():
    question = parse_question(SMALL)
    request = SenseRequest(
        iteration=3, theta=Theta.L3, axes=("speed",), conclusion="left", unexplored=("price",)
    )
    said = answer(question, request, "facilitator")
    assert isinstance(said, SensitivityJudgement)
    assert (said.sensitivity, said.axis) == ("high", "price")
    result = deliberate(question, "L3", "d_min=1")
    assert result.conclusion == "right"
    assert [one.name for one in result.axes] == ["speed", "price"]


def test_forcing_takes_the_heaviest_that_is_left_then_nothing():
    def forced(*axes: str) -> Perspective:
        request = ForceRequest(iteration=1, theta=Theta.L3, axes=axes, d_current=1, d_min=6)
        said = answer(LIBRARY, request, "facilitator")
        assert isinstance(said, Perspective)
        return said

    assert forced("study places").axis == "yearly cost"
    assert forced(*(one.name for one in LIBRARY.criteria)).truly_saturated


def test_votes_count_by_confidence_and_strangers_count_for_nothing():
    request = AxesRequest(
        iteration=1,
        theta=Theta.L3,
        turns=(
            Spoken(agent="a", position="left", confidence=0.9, axes=("speed", "colour")),
            Spoken(agent="b", position="right", confidence=0.5, axes=("speed",)),
            Spoken(agent="c", position="up", confidence=1.0),
        ),
    )
    said = answer(parse_question(SMALL), request, "facilitator")
    assert isinstance(said, AxesJudgement)
    assert said.conclusion == "left"
    assert said.confidence == pytest.approx(0.3)
    assert said.axes is not None
    assert [(one.name, one.raised_by) for one in said.axes] == [("speed", ("a", "b"))]
    assert said.unexplored == ("price",)


def task(request: Request, blobs: dict[str, BlobRef], data: bytes = b"") -> Task:
    async def fetch(_ref: BlobRef) -> bytes:
        return data

    return Task(
        ref=REF,
        persona="facilitator",
        step="s",
        request=request,
        input=DebateInput(text="why?", blobs=blobs),
        fetch=fetch,
    )


QUESTION = {"question": BlobRef(sha256="0" * 64, size=1)}
FORCE = ForceRequest(iteration=1, theta=Theta.L3, d_current=0, d_min=6)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (task(FORCE, {}), "need a question file"),
        (task(FORCE, QUESTION, b"question: ["), "not YAML"),
        (task(FORCE, QUESTION, b"question: why?"), "options: Field required"),
        (task(OpeningRequest(), QUESTION, SMALL.encode()), "no answer to 'opening'"),
    ],
    ids=["free text", "no yaml", "no question", "another panel"],
)
async def test_what_the_rules_cannot_think_about_is_a_failure(asked: Task, problem: str) -> None:
    with pytest.raises(BrainFailure, match=problem):
        await DeliberatingBrain().speak(asked)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("for: 1,", "for: 1.5,", "evidence.1.for: Input should be less than or equal to 1"),
        ("for: 1,", "for: 0,", "evidence.1.for: Input should be greater than 0"),
        ("for: 1,", "for: 1, against: 1,", "one of both"),
        ("for: 1,", "", "one of both"),
        ("for: 1,", "for: .nan,", "evidence.1.for: Input should be a finite number"),
        ("option: right", "option: up", "no option 'up'"),
        ("criterion: price", "criterion: colour", "no criterion 'colour'"),
        ("name: price", "name: speed", "criterion 'speed' stands twice"),
        ("name: price", "name: SATURATED", "is an answer, not the name of an axis"),
        ("name: price", f"name: {'x' * 201}", "at most 200 characters"),
        ("[{id: left}, {id: right}]", "[{id: left}]", "at least 2 items"),
        ("[{id: left}, {id: right}]", "[{id: left}, {id: left}]", "option 'left' stands twice"),
        ("question: Left or right?", "question: ' '", "at least 1 character"),
        ("text: free of charge", "colour: red", "evidence.1.text: Field required"),
    ],
    ids=[
        "strong", "weak", "both", "neither", "nan", "option", "criterion", "twice", "saturated",
        "long", "one option", "same option", "blank", "text",
    ],
)  # fmt: skip
def test_every_mistake_in_a_question_is_named(old: str, new: str, problem: str) -> None:
    assert old in SMALL
    with pytest.raises(BadInput, match=problem):
        parse_question(SMALL.replace(old, new, 1))


def test_the_shipped_questions_are_documented_where_they_are_needed():
    assert {path.name for path in Path(QUESTIONS).glob("*.yaml")} == {"library.yaml", "lunch.yaml"}


@pytest.mark.parametrize("question", [LIBRARY, LUNCH], ids=["library", "lunch"])
def test_whoever_quotes_evidence_names_the_option_that_it_is_about(question: Question):
    result = deliberate(question, "L3")
    raising = [turn for turn in result.turns if turn.axes]
    assert {turn.agent for turn in raising} >= {"analyst", "critic"}
    for turn in raising:
        (quoted,) = (
            one
            for one in question.evidence
            if one.criterion == turn.axes[0] and f": {one.text}" in turn.message
        )
        option = question.option(quoted.option)
        assert option is not None
        assert f"“{option.label}”: {quoted.text}" in turn.message
