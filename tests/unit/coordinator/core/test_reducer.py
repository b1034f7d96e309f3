import pytest

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    CancelRequested,
    Closed,
    DeadlineFired,
    Decided,
    Fact,
    Opened,
    Status,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement, TerminationReason
from parley.bus.errors import ProtocolError
from parley.bus.subjects import DebateRef
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState, Phase
from parley.coordinator.protocols.verdicts.result import result_of
from tests.debates import DEADLOCK, ROSTER, panel, play

SUBMITTED = Submitted(panel=panel(), input=DebateInput())


def statement(verdict: Verdict = Verdict.AUTHENTIC, confidence: float = 0.9) -> Statement:
    return Statement(verdict=verdict, confidence=confidence)


def turn(persona: str, step: str = "opening") -> TurnTaken:
    return TurnTaken(step=step, persona=persona, content=statement())


def ask(step: str = "opening", personas: tuple[str, ...] = ROSTER) -> Asked:
    return Asked(
        decided_at=1,
        step=step,
        personas=personas,
        input=DebateInput(),
        request=OpeningRequest(),
        deadline_s=30,
    )


def opened() -> DebateState:
    return fold([SUBMITTED, Opened(decided_at=1), ask()])


def test_a_step_is_over_when_everybody_was_heard():
    state = opened()
    for persona in ROSTER:
        assert state.open_step is not None
        state = apply(state, turn(persona))
    assert state.open_step is None
    assert state.facts == 7


def test_a_second_turn_of_the_same_persona_counts_for_nothing():
    state = apply(opened(), turn("noise"))
    again = apply(
        state, TurnTaken(step="opening", persona="noise", content=statement(Verdict.MANIPULATED))
    )
    assert again.steps == state.steps
    assert again is state


@pytest.mark.parametrize(
    "late",
    [turn("noise", "round-7"), turn("stranger"), DeadlineFired(step="round-7")],
    ids=["other step", "not asked", "stale deadline"],
)
def test_what_does_not_concern_the_open_step_counts_for_nothing(late):
    state = opened()
    assert apply(state, late).steps == state.steps


def test_an_abstention_that_crosses_a_turn_leaves_the_turn_standing():
    state = apply(apply(opened(), DeadlineFired(step="opening")), turn("noise"))
    crossed = Abstained(
        decided_at=4, step="opening", persona="noise", reason=AbstainReason.DEADLINE
    )
    after = apply(state, crossed)
    assert after.steps == state.steps


def test_a_turn_after_its_abstention_is_late():
    fired = apply(opened(), DeadlineFired(step="opening"))
    abstention = decide(fired)
    assert isinstance(abstention, Abstained)
    assert abstention.persona == "frequency"
    state = apply(apply(fired, abstention), turn("frequency"))
    assert [one.said for one in state.steps[0].heard] == [abstention]


@pytest.mark.parametrize(
    ("before", "illegal"),
    [
        ([], Opened(decided_at=1)),
        ([SUBMITTED], ask()),
        ([SUBMITTED, Opened(decided_at=1)], Opened(decided_at=2)),
        ([SUBMITTED, Opened(decided_at=1), ask()], ask("round-1")),
        ([SUBMITTED, Opened(decided_at=1), ask(personas=("noise",)), turn("noise")], ask()),
        (
            [SUBMITTED, Opened(decided_at=1)],
            Abstained(decided_at=1, step="x", persona="noise", reason=AbstainReason.DEADLINE),
        ),
    ],
    ids=["unknown debate", "not opened", "twice", "step open", "step again", "never asked"],
)
def test_an_illegal_control_fact_is_refused(before, illegal):
    with pytest.raises(ProtocolError):
        apply(fold(before), illegal)


def test_an_illegal_control_fact_keeps_its_place_and_changes_nothing():
    before: list[Fact] = [SUBMITTED, Opened(decided_at=1), ask(), turn("noise")]
    forged = Opened(decided_at=2)
    assert fold([*before, forged]) == fold(before)._replace(facts=5)
    after = fold([*before, forged, turn("spatial")])
    assert after.open_step is not None
    assert [heard.ordinal for heard in after.open_step.heard] == [3, 5]


def test_a_debate_begins_with_its_submission():
    early: list[Fact] = [turn("noise"), CancelRequested(), ask(), DeadlineFired(step="opening")]
    assert fold(early) == DebateState()
    assert fold([*early, SUBMITTED]) == fold([SUBMITTED])


def test_a_debate_can_be_closed_before_it_was_opened():
    closed = Closed(decided_at=1, status=Status.FAILED, reason="unwanted")
    assert fold([SUBMITTED, closed]).phase is Phase.CLOSED


def test_nothing_follows_the_closing():
    facts, state = play(panel(), DEADLOCK)
    assert state.phase is Phase.CLOSED
    assert decide(state) is None
    with pytest.raises(ProtocolError):
        apply(state, Closed(decided_at=1, status=Status.COMPLETED, reason="again"))
    assert apply(state, turn("noise")).steps == state.steps
    assert apply(state, CancelRequested()).terminated == state.terminated
    assert len(facts) == state.facts


def test_a_decision_stands_once():
    facts, _ = play(panel(), DEADLOCK)
    decided = next(fact for fact in facts if isinstance(fact, Decided))
    with pytest.raises(ProtocolError):
        apply(fold(facts[:-1]), decided)


def test_cancelling_ends_an_open_step_at_once():
    state = apply(apply(opened(), turn("noise")), CancelRequested(why="enough"))
    terminated = decide(state)
    assert terminated is not None
    state = apply(state, terminated)
    assert state.terminated is not None
    assert state.terminated.reason == TerminationReason.CANCELLED
    assert state.terminated.declaration.details.basis == (4,)
    while (fact := decide(state)) is not None:
        state = apply(state, fact)
    assert state.closed is not None
    assert state.closed.status is Status.CANCELLED
    result = result_of(DebateRef("forensic", "d"), state)
    assert (result.final_verdict, result.confidence, result.incomplete) == ("uncertain", 0.0, True)


def test_cancelling_after_the_end_changes_nothing():
    facts, _ = play(panel(), DEADLOCK)
    upto = next(i for i, fact in enumerate(facts) if fact.type == "terminated") + 1
    state = apply(fold(facts[:upto]), CancelRequested())
    follow_up = decide(state)
    assert isinstance(follow_up, Asked)
    assert follow_up.step == "localize"
