"""A budget ends a debate from the log alone, with the best verdict so far."""

from typing import Any

import pytest

from parley.agents.script import Script, recite
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Fact, RequestByReference, Status, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput, VerdictParams
from parley.bus.contracts.verdicts import TerminationReason, Verdict
from parley.bus.subjects import DebateRef
from parley.coordinator.audit import audit
from parley.coordinator.policy import decide
from parley.coordinator.reducer import apply
from parley.coordinator.state import DebateState, Step
from parley.coordinator.verdicts.result import VerdictResult, result_of
from tests.debates import DEADLOCK, STALEMATE, panel

COST = Usage(model_calls=2, input_tokens=300, output_tokens=100, cost=0.5)


def turns(script: Script, step: Step) -> list[Fact]:
    request = step.ask.request
    assert not isinstance(request, RequestByReference)
    return [
        TurnTaken(
            step=step.name,
            persona=one,
            content=recite(script, request, one),
            usage=COST,
            seconds=3.0,
        )
        for one in step.waiting_for
    ]


def play(script: Script, **params: Any) -> VerdictResult:
    facts: list[Fact] = [Submitted(panel=panel(**params), input=DebateInput(text="a photograph"))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due, step = decide(state), state.open_step
        for fact in [due] if due is not None else turns(script, step) if step else []:
            facts.append(fact)
            state = apply(state, fact)
    report = audit(facts)
    assert report.holds, report.discrepancies
    return result_of(DebateRef("forensic", "d"), state)


@pytest.mark.parametrize(
    ("params", "rounds"),
    [
        ({"budget_calls": 8}, 0),
        ({"budget_calls": 9}, 1),
        ({"budget_tokens": 1600}, 0),
        ({"budget_tokens": 1601}, 1),
        ({"budget_cost": 2.0}, 0),
        ({"budget_cost": 2.1}, 1),
        ({"budget_seconds": 3.0}, 0),
        ({"budget_seconds": 3.1}, 1),
    ],
    ids=str,
)
def test_no_round_is_opened_once_the_budget_is_used(params, rounds):
    result = play(STALEMATE, **params)
    assert result.termination_reason is TerminationReason.BUDGET_EXHAUSTED
    assert result.status is Status.COMPLETED
    assert result.total_rounds == rounds
    assert result.final_verdict is Verdict.AI_GENERATED
    assert (result.confidence, result.incomplete) == (0.55, True)
    assert result.usage.model_calls == result.actual_llm_calls == 8 * (rounds + 1)
    last = result.declarations[-1].details
    assert last.thresholds == params
    assert last.values["calls"] == 8 * (rounds + 1)
    assert last.forced_by_cap is True


def test_a_rule_that_ends_the_debate_goes_before_the_budget():
    result = play(STALEMATE, budget_calls=24)
    assert result.termination_reason is TerminationReason.STALEMATE


def test_without_a_budget_nothing_is_said_of_one():
    assert "budget" not in VerdictParams().model_dump_json()
    assert play(STALEMATE).termination_reason is TerminationReason.STALEMATE


def test_no_follow_up_is_asked_for_beyond_the_budget():
    result = play(DEADLOCK, budget_calls=16)
    assert result.termination_reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    assert result.usage.model_calls == 16
    assert [one.status for one in result.follow_ups] == ["unanswered"]
