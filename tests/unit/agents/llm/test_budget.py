"""A budget ends a debate from the log alone, with the best verdict so far, on every panel."""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import pytest

from parley.agents.forensic.labels import Verdict
from parley.agents.script import Script, recite
from parley.bus.codec import encode
from parley.bus.contracts.base import MOST, NOTHING_USED, Usage
from parley.bus.contracts.budget import (
    USUAL_ASK_CALLS,
    USUAL_ASK_TOKENS,
    Allowance,
    BatchBudget,
    Budget,
    Most,
)
from parley.bus.contracts.facts import (
    Asked,
    Content,
    Decided,
    Fact,
    Failure,
    FailureReason,
    RequestByReference,
    Status,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Panel, PanelBase
from parley.bus.contracts.verdicts.content import ManagerDecision, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictParams
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.absa.result import record_of
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from tests import absa_debates, deliberations
from tests.absa_debates import TEXT
from tests.debates import DEADLOCK, STALEMATE, panel
from tests.vectors_c import VECTORS as VECTORS_C

COST = Usage(model_calls=2, input_tokens=300, output_tokens=100, cost=0.5)


def turns(script: Script, step: Step, seconds: float) -> list[Fact]:
    request = step.ask.request
    assert not isinstance(request, RequestByReference)
    return [
        TurnTaken(
            step=step.name,
            persona=one,
            content=recite(script, request, one),
            usage=COST,
            seconds=seconds,
        )
        for one in step.waiting_for
    ]


def play(script: Script, seconds: float = 3.0, **params: Any) -> VerdictResult:
    facts: list[Fact] = [Submitted(panel=panel(**params), input=DebateInput(text="a photograph"))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due, step = decide(state), state.open_step
        for fact in [due] if due is not None else turns(script, step, seconds) if step else []:
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
    assert result.termination_reason == TerminationReason.BUDGET_EXHAUSTED
    assert result.status is Status.COMPLETED
    assert result.total_rounds == rounds
    assert result.final_verdict == Verdict.AI_GENERATED
    assert (result.confidence, result.incomplete) == (0.55, True)
    assert result.usage.model_calls == result.actual_llm_calls == 8 * (rounds + 1)
    last = result.declarations[-1].details
    assert last.thresholds == params
    assert last.values["calls"] == 8 * (rounds + 1)
    assert last.forced_by_cap is True


def test_a_rule_that_ends_the_debate_goes_before_the_budget():
    result = play(STALEMATE, budget_calls=24)
    assert result.termination_reason == TerminationReason.STALEMATE


def test_without_a_budget_nothing_is_said_of_one():
    assert "budget" not in VerdictParams().model_dump_json()
    assert play(STALEMATE).termination_reason == TerminationReason.STALEMATE


def test_no_follow_up_is_asked_for_beyond_the_budget():
    result = play(DEADLOCK, budget_calls=16)
    assert result.termination_reason == TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    assert result.usage.model_calls == 16
    assert [one.status for one in result.follow_ups] == ["unanswered"]


REFUSED = Failure(reason=FailureReason.BUDGET_EXHAUSTED, detail="the budget is used up")
BOUND = Budget(calls=3)
PanelT = TypeVar("PanelT", bound=PanelBase)


def limited(chosen: PanelT) -> PanelT:
    """By what it shares with others: only there can anybody be refused at any moment."""
    return chosen.model_copy(update={"batch": BatchBudget(name="month", budget=BOUND)})


def cut_short(chosen: Panel, say: Callable[[Step, str], Content], turns: int) -> DebateState:
    """After so many turns everybody else is refused; the audit must hold."""
    facts: list[Fact] = [Submitted(panel=chosen, input=DebateInput(text=TEXT))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due, step = decide(state), state.open_step
        for fact in [due] if due is not None else _spoken(step, say, turns, facts):
            facts.append(fact)
            state = apply(state, fact)
    report = audit(facts)
    assert report.holds, report.discrepancies
    return state


def _spoken(
    step: Step | None, say: Callable[[Step, str], Content], turns: int, facts: list[Fact]
) -> list[Fact]:
    assert step is not None
    before = sum(isinstance(fact, TurnTaken) for fact in facts)
    return [
        TurnTaken(
            step=step.name,
            persona=persona,
            content=say(step, persona) if before + at < turns else REFUSED,
        )
        for at, persona in enumerate(step.waiting_for)
    ]


def reciting(lines: Script) -> Callable[[Step, str], Content]:
    def say(step: Step, persona: str) -> Content:
        request = step.ask.request
        assert not isinstance(request, RequestByReference)
        return lines.recite(step.name, request, persona)

    return say


@pytest.mark.parametrize(
    ("turns", "status", "reason", "verdict"),
    [
        (0, Status.FAILED, "budget_exhausted", Verdict.UNCERTAIN),
        (2, Status.FAILED, "budget_exhausted", Verdict.AI_GENERATED),
        (3, Status.COMPLETED, "budget_exhausted", Verdict.AI_GENERATED),
        (6, Status.COMPLETED, "budget_exhausted", Verdict.AI_GENERATED),
        (12, Status.COMPLETED, "stalemate", Verdict.MANIPULATED),
    ],
)
def test_verdicts_end_where_somebody_is_refused(turns, status, reason, verdict):
    state = cut_short(limited(panel()), reciting(STALEMATE), turns)
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (status, reason)
    assert state.finding(Decided) is not None
    assert isinstance(state.found(Decided).decision, ManagerDecision)
    assert cast("ManagerDecision", state.found(Decided).decision).final_verdict == verdict


@pytest.mark.parametrize(
    ("turns", "status", "reason", "asked"),
    [
        (0, Status.FAILED, "budget_exhausted", 1),
        (2, Status.FAILED, "budget_exhausted", 3),
        (3, Status.COMPLETED, "budget_exhausted", 4),
        (5, Status.COMPLETED, "budget_exhausted", 6),
        (6, Status.COMPLETED, "budget_exhausted", 7),
        (7, Status.COMPLETED, "budget_exhausted", 8),
        (9, Status.COMPLETED, "budget_exhausted", 8),
        (10, Status.COMPLETED, "debate_action", 8),
    ],
)
def test_the_pipeline_settles_what_stage_1_found(turns, status, reason, asked):
    state = cut_short(limited(absa_debates.panel()), reciting(absa_debates.FLIP), turns)
    assert state.closed is not None
    assert (state.closed.status, state.closed.reason) == (status, reason)
    assert len(state.steps) == asked
    record = record_of(absa_debates.REF, state)
    assert (record is None) == (status is Status.FAILED)
    if record is not None and turns < 10:
        assert absa_debates.final(record) == [("피부톤", "neutral"), ("가격", "negative")]
    if status is Status.COMPLETED and turns < 6:
        assert state.terminated is not None
        assert state.terminated.reason == TerminationReason.BUDGET_EXHAUSTED


@pytest.mark.parametrize("turns", range(30))
def test_a_deliberation_keeps_its_last_conclusion(turns):
    vector = VECTORS_C[0]
    chosen = limited(deliberations.panel(vector.theta, **vector.params))
    say = reciting(deliberations.script_of(vector))
    whole = cut_short(chosen, say, 10_000)
    spoken = sum(len(step.heard) for step in whole.steps)
    state = cut_short(chosen, say, turns)
    assert state.closed is not None
    if turns >= spoken:
        assert state.closed == whole.closed
        return
    assert state.closed.status is Status.COMPLETED
    in_time = turns >= spoken - 1
    assert (state.closed.reason == "budget_exhausted") is not in_time
    assert state.finding(Decided) is not None
    assert cast("ManagerDecision", state.found(Decided).decision).incomplete


@pytest.mark.parametrize(
    ("chosen", "lines"),
    [
        (panel().model_copy(update={"budget": BOUND}), STALEMATE),
        (absa_debates.panel().model_copy(update={"budget": BOUND}), absa_debates.FLIP),
    ],
    ids=["verdicts", "absa"],
)
def test_every_ask_says_what_it_is_charged_to(chosen, lines):
    batch = BatchBudget(name="b1", budget=Budget(cost=1.0))
    state = cut_short(chosen.model_copy(update={"batch": batch}), reciting(lines), 100)
    told = [step.ask.budget for step in state.steps]
    everybody = state.running_panel.everybody
    for step, said in zip(state.steps, told, strict=True):
        assert said is not None
        assert (said.debate, said.batch, said.personas) == (BOUND, batch, everybody)
        # No turn claims anything here, so that only what is open counts: one call of three.
        now = [int(name in step.ask.personas) for name in everybody]
        assert [one.model_calls for one in said.claims] == now
    free = cut_short(chosen.model_copy(update={"budget": None}), reciting(lines), 100)
    assert {step.ask.budget for step in free.steps} == {None}
    assert b"budget" not in encode(free.steps[0].ask)


def test_nobody_ends_a_debate_by_a_budget_that_it_does_not_have():
    """Three speak, and the fourth says each time that the budget is used up."""
    whole = cut_short(panel(), reciting(STALEMATE), 10_000)
    roster = whole.running_panel.roster

    def say(step: Step, persona: str) -> Content:
        return REFUSED if persona == roster[-1] else reciting(STALEMATE)(step, persona)

    state = cut_short(panel(), say, 10_000)
    assert state.terminated is not None
    assert state.terminated.reason != TerminationReason.BUDGET_EXHAUSTED
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED


LIMITS: dict[str, dict[str, Any]] = {
    "calls": {"budget_calls": 50},
    "tokens": {"budget_tokens": 10_000},
    "cost": {"budget_cost": 13.0},
    "seconds": {"budget_seconds": 90.0},
}
EVERYTHING = Usage(model_calls=MOST, input_tokens=MOST, output_tokens=MOST, cost=MOST)


LIE = ("opening", "noise")


def lied_to(claim: dict[str, Any], **params: Any) -> DebateState:
    """Noise claims so much in its opening; everybody else tells what they used."""
    facts: list[Fact] = [Submitted(panel=panel(**params), input=DebateInput(text="a photograph"))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due, step = decide(state), state.open_step
        said = [due] if due is not None else turns(STALEMATE, step, 3.0) if step else []
        for fact in said:
            lies = isinstance(fact, TurnTaken) and (fact.step, fact.persona) == LIE
            facts.append(fact.model_copy(update=claim) if lies else fact)
            state = apply(state, facts[-1])
    assert audit(facts).holds
    return state


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize(
    "claim",
    [{"usage": EVERYTHING}, {"content": REFUSED}, {"seconds": 1e9}],
    ids=["usage", "refusal", "seconds"],
)
def test_no_single_claim_ends_a_debate(claim, limit):
    """The limits are above what everybody uses in truth, and half of them is."""
    state = lied_to(claim, **limit)
    assert state.terminated is not None
    assert state.terminated.reason != TerminationReason.BUDGET_EXHAUSTED
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED


@pytest.mark.parametrize("claim", [{"usage": EVERYTHING}, {"content": REFUSED}])
def test_not_even_everybodys_claims_use_up_a_budget_of_many_calls(claim):
    """All of them were stolen, and lie whenever they are asked."""
    wide = Budget(calls=1000, tokens=10**7, cost=1000.0).with_cost_of_an_ask()
    facts: list[Fact] = [
        Submitted(panel=panel().model_copy(update={"budget": wide}), input=DebateInput(text=TEXT))
    ]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        due, step = decide(state), state.open_step
        said = [due] if due is not None else turns(STALEMATE, step, 3.0) if step else []
        for fact in said:
            facts.append(fact.model_copy(update=claim) if isinstance(fact, TurnTaken) else fact)
            state = apply(state, facts[-1])
    assert audit(facts).holds
    assert len(state.steps) > 1 or claim != {"usage": EVERYTHING}
    assert state.terminated is not None
    assert state.terminated.reason != TerminationReason.BUDGET_EXHAUSTED


@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        (Budget(cost=1.0), None),
        (Budget(calls=40, cost=1.0), 0.5),
        (Budget(calls=240, cost=1.0), 0.1),
        (Budget(calls=240, tokens=10**6, cost=1.0), 0.4),
        (Budget(calls=240, cost=1.0, ask_cost=0.3), 0.3),
        (Budget(calls=240, ask_calls=24, cost=1.0), 0.2),
        (Budget(calls=240), None),
    ],
)
def test_what_one_ask_may_cost_where_calls_or_tokens_are_limited_as_well(budget, cost):
    assert budget.with_cost_of_an_ask().ask_cost == pytest.approx(cost)


def test_what_is_counted_of_a_claim_is_recorded():
    state = lied_to({"usage": EVERYTHING}, budget_calls=400, budget_tokens=10**6, budget_cost=100)
    told = state.steps[1].ask.budget
    assert told is not None
    counted = dict(zip(told.personas, told.claims, strict=True))
    assert counted["frequency"].model_calls == COST.model_calls + USUAL_ASK_CALLS
    assert counted["noise"].model_calls == 2 * USUAL_ASK_CALLS
    assert counted["noise"].tokens == 2 * USUAL_ASK_TOKENS
    assert counted["noise"].cost == 100
    assert told.waited_s == 3.0


def test_a_refusal_that_the_log_allows_for_ends_the_debate():
    """Three used two calls each, and the last one had none left."""
    facts: list[Fact] = [Submitted(panel=panel(budget_calls=6), input=DebateInput(text=TEXT))]
    state = apply(DebateState(), facts[0])
    while state.open_step is None:
        due = decide(state)
        assert due is not None
        facts.append(due)
        state = apply(state, due)
    *spoken, last = turns(STALEMATE, state.open_step, 3.0)
    assert isinstance(last, TurnTaken)
    refused_one = last.model_copy(update={"content": REFUSED, "usage": NOTHING_USED})
    for fact in (*spoken, refused_one):
        state = apply(state, fact)
    due = decide(state)
    assert isinstance(due, Terminated)
    assert due.reason == TerminationReason.BUDGET_EXHAUSTED


@pytest.mark.parametrize(
    ("budget", "calls", "tokens", "cost"),
    [
        (Budget(calls=1, tokens=1, cost=1.0), 1, 1, 0.5),
        (Budget(calls=20, tokens=3000, cost=1.0), 10, 1500, 0.5),
        (Budget(calls=10**6, tokens=10**9, cost=1.0), USUAL_ASK_CALLS, USUAL_ASK_TOKENS, 0.5),
        (Budget(calls=20, tokens=3000, cost=1.0, ask_calls=3, ask_tokens=9, ask_cost=2), 3, 9, 2),
        (Budget(seconds=3), math.inf, math.inf, math.inf),
    ],
)
def test_what_one_ask_may_use(budget, calls, tokens, cost):
    assert budget.of_an_ask == Most(calls, tokens, cost)


def test_no_turn_takes_longer_than_its_step_waits():
    limit = panel().deadline_s * 3
    result = play(STALEMATE, seconds=1e9, budget_seconds=limit)
    seconds = result.declarations[0].details.values.get("seconds", 0.0)
    assert isinstance(seconds, float)
    assert seconds <= limit
    assert result.total_rounds >= 1


def test_a_log_that_does_not_say_who_draws_on_a_budget_still_holds():
    bound = panel().model_copy(update={"budget": BOUND})
    facts: list[Fact] = [Submitted(panel=bound, input=DebateInput(text=TEXT))]
    state = apply(DebateState(), facts[0])
    while state.open_step is None:
        due = decide(state)
        assert due is not None
        if isinstance(due, Asked):
            due = due.model_copy(update={"budget": Allowance(debate=BOUND)})
        facts.append(due)
        state = apply(state, due)
    assert b"personas" not in encode(facts[-1]).partition(b'"budget"')[2]
    assert audit(facts).holds


def test_of_two_limits_the_smaller_holds():
    chosen = panel(budget_calls=5, budget_cost=1.0)
    both = chosen.model_copy(update={"budget": Budget(calls=3, tokens=900)})
    assert both.limits == Budget(calls=3, tokens=900, cost=1.0)
