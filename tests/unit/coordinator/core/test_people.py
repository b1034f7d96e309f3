"""People on a panel: who is waited for, for how long, and where a turn counts that comes later."""

import pytest
from pydantic import ValidationError

from parley.bus.codec import decode, encode
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    DeadlineFired,
    Fact,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import LONGEST_DEADLINE_S, DebateInput, Persona
from parley.bus.contracts.verdicts.content import Reply, ResponseType, Statement
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import Rounds
from parley.bus.subjects import tail_of
from parley.coordinator.core.accounting import errors_of
from parley.coordinator.core.audit import audit
from parley.coordinator.core.deadlines import Deadline, running_in
from parley.coordinator.core.policy import decide
from parley.coordinator.core.protocol import longest_s
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import board_of
from parley.coordinator.protocols.verdicts.turns import turns_of

DAYS = 86_400.0
BOTS = ("security", "maintainer")
STAY = Reply(response_type=ResponseType.CLARIFICATION)


def panel_with(*people: Persona, rounds: int = 3) -> VerdictPanel:
    return VerdictPanel.model_validate(
        {
            "name": "review",
            "labels": [{"name": "reject"}, {"name": "approve"}],
            "undecided": "unsure",
            "personas": [*({"name": name} for name in BOTS), *people],
            "stop": [Rounds(at=rounds)],
        }
    )


def author(**more: object) -> Persona:
    return Persona.model_validate({"name": "author", "human": True, **more})


class Played:
    """A debate played by hand: every fact that is due is written at once."""

    def __init__(self, panel: VerdictPanel) -> None:
        self.facts: list[Fact] = []
        self.state = DebateState()
        self.say(Submitted(panel=panel, input=DebateInput(text="a change")))

    def say(self, fact: Fact) -> None:
        again = decode(tail_of(fact), encode(fact))
        self.facts.append(again)
        self.state = apply(self.state, again)
        while (due := decide(self.state)) is not None:
            self.facts.append(due)
            self.state = apply(self.state, due)

    def turn(self, step: str, persona: str, verdict: str = "reject") -> None:
        content = Statement(verdict=verdict, confidence=0.8) if step == "opening" else STAY
        self.say(TurnTaken(step=step, persona=persona, content=content))

    def bots(self, step: str) -> None:
        for name in BOTS:
            self.turn(step, name)

    @property
    def asked(self) -> list[Asked]:
        return [fact for fact in self.facts if isinstance(fact, Asked)]

    def standing(self) -> dict[str, str]:
        return {one.agent: one.verdict for one in board_of(self.state).positions}

    def holds(self) -> None:
        report = audit(self.facts)
        assert report.holds, report.discrepancies
        assert not report.foreign


def test_a_step_waits_for_a_person_and_not_for_an_agent_that_is_late():
    debate = Played(panel_with(author(deadline_s=3 * DAYS)))
    debate.turn("opening", "security")
    assert list(running_in(debate.state)) == [
        Deadline("opening", None, 30.0),
        Deadline("opening", "author", 3 * DAYS),
    ]
    debate.say(DeadlineFired(step="opening"))
    missed = debate.facts[-1]
    assert isinstance(missed, Abstained)
    assert missed.persona == "maintainer"
    assert list(running_in(debate.state)) == [Deadline("opening", "author", 3 * DAYS)]
    debate.turn("opening", "author", "approve")
    assert debate.asked[-1].step == "round-1"
    assert debate.standing() == {"security": "reject", "author": "approve"}
    debate.holds()


def test_a_person_who_does_not_come_is_gone_on_without():
    debate = Played(panel_with(author()))
    debate.bots("opening")
    assert len(debate.asked) == 1
    debate.say(DeadlineFired(step="opening", persona="author"))
    assert debate.asked[-1].step == "round-1"
    assert [(one.agent, one.reason) for one in errors_of(debate.state)] == [("author", "deadline")]
    debate.turn("opening", "author", "approve")
    assert debate.standing() == {"security": "reject", "maintainer": "reject"}
    debate.holds()


def test_a_person_nobody_waits_for_counts_in_the_round_that_is_open_when_the_turn_comes():
    debate = Played(panel_with(author(waits=False)))
    debate.bots("opening")
    debate.bots("round-1")
    round_2 = debate.asked[-1]
    assert (round_2.step, round_2.personas, round_2.people) == ("round-2", BOTS, {})
    debate.turn("opening", "author", "approve")
    debate.bots("round-2")
    assert debate.standing()["author"] == "approve"
    moves = [(one.round, one.verdict_after) for one in turns_of(debate.state)]
    assert (2, "approve") in moves
    round_3 = debate.asked[-1]
    assert round_3.personas == (*BOTS, "author")
    declaration = round_3.declaration
    assert declaration is not None
    spoke = next(
        number
        for number, fact in enumerate(debate.facts)
        if isinstance(fact, TurnTaken) and fact.persona == "author"
    )
    assert spoke in declaration.details.basis
    debate.bots("round-3")
    assert debate.state.closed is not None
    debate.holds()


def test_a_turn_between_two_steps_counts_in_the_next():
    """The decision to go on was made before it came, and stands in the log behind it."""
    debate = Played(panel_with(author(waits=False)))
    debate.bots("opening")
    went_on = debate.facts.pop()
    assert isinstance(went_on, Asked)
    turn = TurnTaken(
        step="opening", persona="author", content=Statement(verdict="approve", confidence=0.9)
    )
    state = DebateState()
    for fact in (*debate.facts, turn, went_on):
        state = apply(state, fact)
    debate.facts += [turn, went_on]
    debate.state = state
    assert board_of(state).latest.keys() == set(BOTS)
    debate.bots("round-1")
    assert debate.standing()["author"] == "approve"
    debate.holds()


def test_a_person_nobody_waits_for_is_given_up_after_their_own_deadline_and_asked_again():
    debate = Played(panel_with(author(waits=False, deadline_s=60)))
    debate.bots("opening")
    debate.say(DeadlineFired(step="opening", persona="author"))
    missed = debate.facts[-1]
    assert isinstance(missed, Abstained)
    assert (missed.step, missed.persona) == ("opening", "author")
    debate.bots("round-1")
    assert debate.asked[-1].personas == (*BOTS, "author")
    assert [one.reason for one in errors_of(debate.state)] == ["deadline"]
    debate.holds()


def test_the_end_withdraws_the_ask_and_a_later_turn_changes_nothing():
    debate = Played(panel_with(author(waits=False), rounds=1))
    debate.bots("opening")
    debate.bots("round-1")
    assert isinstance(
        next(fact for fact in debate.facts if isinstance(fact, Terminated)), Terminated
    )
    assert debate.state.closed is not None
    assert list(running_in(debate.state)) == []
    before = debate.standing()
    debate.turn("opening", "author", "approve")
    assert debate.standing() == before
    debate.holds()


def test_a_step_that_asks_only_such_people_waits_for_them():
    data = panel_with(author(waits=False)).model_dump()
    alone = VerdictPanel.model_validate({**data, "personas": [author(waits=False)]})
    debate = Played(alone)
    assert debate.state.open_step is not None
    debate.turn("opening", "author", "approve")
    assert debate.asked[-1].step == "round-1"
    debate.holds()


def test_what_a_panel_may_say_of_a_person():
    with pytest.raises(ValidationError, match="add human: true"):
        Persona(name="security", deadline_s=60)
    with pytest.raises(ValidationError, match="less than or equal to 2592000"):
        author(deadline_s=LONGEST_DEADLINE_S + 1)
    with pytest.raises(ValidationError, match="waits for everybody"):
        DeliberationPanel(
            name="d",
            personas=(Persona(name="facilitator"), Persona(name="judge"), author(waits=False)),
        )
    assert longest_s(panel_with(author(deadline_s=LONGEST_DEADLINE_S))) > LONGEST_DEADLINE_S


def test_a_panel_without_people_is_written_as_ever():
    dumped = panel_with().model_dump_json()
    assert not any(word in dumped for word in ('"human"', '"waits"'))
    debate = Played(panel_with())
    assert b"people" not in encode(debate.asked[0])
