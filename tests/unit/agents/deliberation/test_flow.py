"""What the flow asks, in which order, and what it does when answers stay away."""

import itertools

import pytest
from pydantic import ValidationError

from parley.agents.script import parse_script
from parley.bus.codec import encode
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    DeliberateRequest,
    Deliberation,
    Perspective,
    RegimeReason,
    Scores,
    SensitivityJudgement,
)
from parley.bus.contracts.facts import (
    Asked,
    CancelRequested,
    Closed,
    Content,
    Fact,
    Request,
    Status,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.result import result_of
from tests.deliberations import REF, Voice, answers, panel, play, scripted

SCRIPT = parse_script(
    """
    theta: L3
    params: {d_min: 3}
    iterations:
      - says:
          analyst: {message: "leasing is cheaper at first", position: lease, confidence: .6,
                    axes: [cost]}
          critic: {message: "who pays for the damage", position: buy, confidence: .7,
                   axes: [liability]}
          empath: {message: "people want the same car", position: buy, confidence: .5,
                   axes: [cost]}
        conclusion: buy
        confidence: .6
      - {axes: [], forcing: {axis: ethics}, conclusion: buy}
      - {axes: [], sensitivity: low, conclusion: buy, delta_coverage: 0}
      - {axes: [cost], sensitivity: low, conclusion: STABLE, delta_coverage: 0}
    """
)
CHOSEN = panel("L3", d_min=3)
WHOLE = scripted(SCRIPT)


def asked(facts: list[Fact]) -> list[str]:
    return [fact.step for fact in facts if isinstance(fact, Asked)]


def without(*silent: str) -> Voice:
    """As the script has it, but nobody answers in these steps (or `step/persona`)."""

    def say(step: str, persona: str, request: Request) -> Content | None:
        if step in silent or f"{step}/{persona}" in silent:
            return None
        return WHOLE(step, persona, request)

    return say


def test_the_steps_of_a_deliberation():
    facts, state = play(CHOSEN, WHOLE)
    assert asked(facts) == [
        "think-1", "axes-1", "think-2", "axes-2", "force-2",
        "think-3", "axes-3", "think-4", "axes-4", "sense-4", "judge",
    ]  # fmt: skip
    result = result_of(REF, state)
    assert result.termination_reason is RegimeReason.DECISION_SUFFICIENCY
    assert [(one.name, one.iteration, one.raised_by, one.forced) for one in result.axes] == [
        ("cost", 1, ("analyst", "empath"), False),
        ("liability", 1, ("critic",), False),
        ("ethics", 2, ("facilitator",), True),
    ]
    assert result.conclusion == "buy"
    assert result.orthogonality_history == (1.0, 0.0, 0.0, 0.0)
    assert not result.incomplete


def test_declarations_ride_in_the_next_iteration_and_in_the_end():
    facts, _ = play(CHOSEN, WHOLE)
    riding = [fact.step for fact in facts if isinstance(fact, Asked) and fact.declaration]
    assert riding == ["think-2", "think-3", "think-4"]
    ended = next(fact for fact in facts if isinstance(fact, Terminated))
    assert ended.declaration.terminates
    for fact in facts:
        declaration = getattr(fact, "declaration", None)
        if declaration is not None:
            turns = [facts[ordinal] for ordinal in declaration.details.basis]
            assert turns
            assert all(isinstance(turn, TurnTaken) for turn in turns)


def test_the_next_iteration_is_told_what_was_forced_and_said():
    facts, _ = play(CHOSEN, WHOLE)
    think = next(fact for fact in facts if isinstance(fact, Asked) and fact.step == "think-3")
    request = think.request
    assert isinstance(request, DeliberateRequest)
    assert request.forced_perspective == "ethics"
    assert request.axes == ("cost", "liability", "ethics")
    assert request.conclusion == "buy"
    assert [one.agent for one in request.last_turns] == ["analyst", "critic", "empath"]


def test_a_missing_facilitator_is_asked_once_more_then_nothing_is_known():
    facts, state = play(CHOSEN, without("axes-1", "axes-1-again"))
    assert asked(facts)[:4] == ["think-1", "axes-1", "axes-1-again", "think-2"]
    first = result_of(REF, state).declarations[0]
    assert first.details.values["orthogonality"] is None
    assert first.details.unmet == ("dimension", "orthogonality")


def test_a_facilitator_that_answers_the_second_time_counts():
    facts, state = play(CHOSEN, without("axes-1"))
    assert asked(facts)[:4] == ["think-1", "axes-1", "axes-1-again", "think-2"]
    assert result_of(REF, state).declarations[0].details.d_current == 2


def test_no_forced_perspective_means_going_on():
    _, state = play(CHOSEN, without("force-2"))
    second = result_of(REF, state).declarations[1]
    assert second.details.rule == "perspective_forcing"
    assert second.details.unmet == ("dimension",)
    assert not second.terminates


def test_no_sensitivity_counts_as_high():
    _, state = play(CHOSEN, without("sense-4"))
    fourth = result_of(REF, state).declarations[3]
    assert fourth.termination_rationale.decision_sensitivity == "high"
    assert not fourth.terminates


def test_a_missing_judge_leaves_the_last_conclusion_and_the_dissent():
    facts, state = play(CHOSEN, without("judge", "judge-again"))
    assert asked(facts)[-2:] == ["judge", "judge-again"]
    result = result_of(REF, state)
    assert result.status is Status.COMPLETED
    assert result.incomplete
    assert result.conclusion == "buy"


def test_a_debater_who_stays_away_is_recorded_and_the_rest_go_on():
    _, state = play(CHOSEN, without("think-1/critic"))
    result = result_of(REF, state)
    assert [(one.step, one.agent, one.reason) for one in result.errors] == [
        ("think-1", "critic", "deadline")
    ]
    assert {one.agent for one in result.turns if one.iteration == 1} == {"analyst", "empath"}
    assert result.status is Status.COMPLETED


def test_silence_of_most_debaters_is_no_saturation():
    facts, state = play(CHOSEN, without("think-2/critic", "think-2/empath"))
    result = result_of(REF, state)
    assert result.termination_reason is TerminationReason.QUORUM_LOST
    assert result.status is Status.FAILED
    assert result.conclusion == "buy"
    assert result.incomplete
    last = result.declarations[-1]
    assert last.details.forced_by_cap
    assert last.details.unmet == ("dimension", "orthogonality")
    assert "judge" not in asked(facts)


def test_nobody_at_all():
    _, state = play(CHOSEN, lambda _step, _persona, _request: None)
    result = result_of(REF, state)
    assert result.termination_reason is TerminationReason.QUORUM_LOST
    assert result.total_iterations == 0
    assert result.conclusion == ""


def test_it_can_be_cancelled_at_any_point():
    whole, _ = play(CHOSEN, WHOLE)
    over = next(place for place, fact in enumerate(whole) if isinstance(fact, Terminated))
    for place in range(2, over + 1):
        facts = [*whole[:place], CancelRequested(why="enough")]
        state = fold(facts)
        while (fact := decide(state)) is not None:
            facts.append(fact)
            state = apply(state, fact)
        assert audit(facts).holds
        assert isinstance(facts[-1], Closed)
        assert facts[-1].status is Status.CANCELLED
        result = result_of(REF, state)
        assert sum(one.terminates for one in result.declarations) == 1
        assert result.incomplete


def test_who_is_quicker_makes_no_difference():
    def run(order: tuple[int, ...]) -> bytes:
        facts, _ = play(CHOSEN, WHOLE)
        state = apply(DebateState(), facts[0])
        while state.closed is None:
            due = decide(state)
            said = answers(state, WHOLE) if due is None else [due]
            moved = [said[place] for place in order] if len(said) == len(order) else said
            for fact in moved:
                state = apply(state, fact)
        return result_of(REF, state).model_dump_json().encode()

    assert len({run(order) for order in itertools.permutations(range(3))}) == 1


def test_a_coordinator_that_starts_anew_after_any_fact_decides_the_same():
    facts, _ = play(CHOSEN, WHOLE)
    for place, fact in enumerate(facts):
        if isinstance(fact, Submitted | TurnTaken):
            continue
        due = decide(fold(facts[:place]))
        assert due is not None
        assert encode(due) == encode(fact)


def test_asks_do_not_grow_with_the_debate():
    def say(_step: str, _persona: str, request: Request) -> Content | None:
        if request.kind == "deliberate":
            return Deliberation(message="word " * 400, position="lease", confidence=0.5)
        return AxesJudgement(axes=(), d_current=6, orthogonality=1.0, conclusion="lease")

    facts, _ = play(panel("L3", max_iterations=40), say)
    sizes = [
        len(encode(fact))
        for fact in facts
        if isinstance(fact, Asked) and fact.step.startswith("think-")
    ]
    assert len(sizes) == 40
    assert max(sizes[2:]) - min(sizes[2:]) < 100


SCORED = parse_script(
    """
    theta: L2
    iterations:
      - candidates: [{id: a, score: .9}, {id: b, score: .5, reason: too slow}, {id: c, score: .2}]
        says: {critic: {fail: out of memory}}
    """
)


def test_candidates_are_proposed_scored_and_selected():
    def say(step: str, persona: str, request: Request) -> Content | None:
        content = scripted(SCORED)(step, persona, request)
        if isinstance(content, Scores) and persona == "empath":
            return Scores.model_validate({"scores": [{"id": "b", "score": 0.7}]})
        return content

    facts, state = play(panel("L2"), say)
    assert asked(facts) == ["think-1", "score-1", "axes-1", "judge"]
    result = result_of(REF, state)
    assert result.termination_reason is RegimeReason.VERIFICATION_PASS
    assert [(one.id, one.score) for one in result.candidates] == [
        ("a", 0.9),
        ("b", 0.6),
        ("c", 0.2),
    ]
    assert [(one.id, one.reason) for one in result.rejected_candidates] == [
        ("b", "too slow"),
        ("c", "score 0.2 is 0.7 below a"),
    ]


def test_nothing_to_score_is_not_asked():
    facts, _ = play(panel("L2", max_iterations=1), scripted(parse_script("iterations: [{}]")))
    assert asked(facts) == ["think-1", "axes-1", "judge"]


ODD_AXES = [
    ("x" * 10_000, ("x" * 200,)),
    ("   ", ()),
    ("!?", ()),
    ("SATURATED", ()),
    ("TRULY_SATURATED", ()),
    (" cost ", ("cost",)),
]


@pytest.mark.parametrize(("name", "explored"), ODD_AXES, ids=[name[:16] for name, _ in ODD_AXES])
def test_odd_axes_of_a_brain_are_bounded_or_left_out(name: str, explored: tuple[str, ...]) -> None:
    def say(_step: str, persona: str, request: Request) -> Content | None:
        if request.kind == "deliberate":
            return Deliberation(message="so", axes=(name,))
        if request.kind == "axes":
            return AxesJudgement.model_validate({"axes": [{"name": name}, {"name": name}]})
        return WHOLE("", persona, request) if request.kind == "summarise" else None

    _, state = play(panel("L3", max_iterations=1), say)
    result = result_of(REF, state)
    assert tuple(one.name for one in result.axes) == explored
    assert result.orthogonality_history == ((1.0,) if explored else (0.0,))


def test_a_forcing_answer_in_place_of_an_axis_is_taken_for_what_it_means():
    def say(step: str, persona: str, request: Request) -> Content | None:
        if request.kind == "force":
            return Perspective(axis=" TRULY_SATURATED ")
        return WHOLE(step, persona, request)

    _, state = play(CHOSEN, say)
    last = result_of(REF, state).declarations[-1]
    assert (last.details.rule, last.details.iteration) == ("truly_saturated", 2)
    assert last.details.d_min_lowered is not None


def test_a_forcing_answer_that_names_nothing_is_no_answer():
    def say(step: str, persona: str, request: Request) -> Content | None:
        return Perspective(axis="?") if request.kind == "force" else WHOLE(step, persona, request)

    _, state = play(CHOSEN, say)
    assert result_of(REF, state).declarations[1].details.rule == "perspective_forcing"


@pytest.mark.parametrize(
    "answer", [{"axis": "ethics", "truly_saturated": True}, {}], ids=["both", "neither"]
)
def test_contradictory_forcing_answers_are_refused(answer: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="names an axis or says TRULY_SATURATED"):
        Perspective.model_validate(answer)


def test_numbers_of_a_brain_are_clamped_and_nonsense_is_refused():
    judged = AxesJudgement(confidence=1.7, orthogonality=-0.2, d_current=-3)
    assert (judged.confidence, judged.orthogonality, judged.d_current) == (1.0, 0.0, 0)
    for nonsense in (float("nan"), float("inf")):
        with pytest.raises(ValidationError):
            AxesJudgement(confidence=nonsense)
    with pytest.raises(ValidationError):
        SensitivityJudgement.model_validate({"sensitivity": "enormous"})
    with pytest.raises(ValidationError):
        Scores.model_validate({"scores": [{"id": "a"}]})


def test_a_failing_brain_is_recorded_with_its_reason():
    _, state = play(panel("L2"), scripted(SCORED))
    assert [(one.step, one.agent, one.detail) for one in result_of(REF, state).errors] == [
        ("think-1", "critic", "out of memory"),
        ("score-1", "critic", "out of memory"),
    ]
