"""The manager puts the decision into words: once, after the debate, and without a say in it."""

from typing import Any

import pytest
from pydantic import ValidationError

from parley.agents.forensic.labels import Verdict
from parley.agents.script import parse_script, recite
from parley.bus.codec import decode, encode
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import (
    Asked,
    CancelRequested,
    Content,
    DeadlineFired,
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
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    ManagerDecision,
    Report,
    ReportRequest,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef, tail_of
from parley.coordinator.core.audit import audit
from parley.coordinator.core.backtest import Unknown, record, redecide
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import board_of
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from tests.debates import DEADLOCK, ROSTER, STALEMATE, panel, play, play_on

WORDS = Report(summary="The image was altered.", key_evidence=("a hard edge",))
FAILED = Failure(reason=FailureReason.UNUSABLE_ANSWER, detail="no form")
UNANIMOUS = parse_script(
    f"rounds: [{{{', '.join(f'{name}: [authentic, .8]' for name in ROSTER)}}}]"
)


def managed(**params: Any) -> VerdictPanel:
    return panel(**params).model_copy(update={"manager": "manager"})


def until_report() -> list[Fact]:
    """The facts of a debate up to the ask for a report."""
    facts, _ = play(managed(), STALEMATE)
    at = next(
        n for n, fact in enumerate(facts) if isinstance(fact, Asked) and fact.step == "report"
    )
    return facts[: at + 1]


def finished(facts: list[Fact], *more: Fact) -> tuple[list[Fact], DebateState]:
    """What the coordinator alone makes of these."""
    facts = [*facts, *more]
    state = fold(facts)
    while (fact := decide(state)) is not None:
        facts.append(fact)
        state = apply(state, fact)
    assert audit(facts).holds
    return facts, state


def answered(content: Content) -> DebateState:
    turn = TurnTaken(step="report", persona="manager", content=content)
    return finished(until_report(), turn)[1]


def result(state: DebateState) -> VerdictResult:
    return result_of(DebateRef("forensic", "d"), state)


def decision_of(state: DebateState) -> ManagerDecision:
    decision = state.found(Decided).decision
    assert isinstance(decision, ManagerDecision)
    return decision


def asked_steps(facts: list[Fact]) -> list[str]:
    return [fact.step for fact in facts if isinstance(fact, Asked)]


def test_the_manager_is_asked_alone_and_once_when_the_debate_is_over():
    facts, state = play(managed(), STALEMATE)
    assert asked_steps(facts) == ["opening", "round-1", "round-2", "report"]
    step = state.step("report")
    assert step is not None
    assert step.ask.personas == ("manager",)
    assert step.ask.input == DebateInput(text="a photograph")
    assert any(isinstance(fact, Terminated) for fact in facts[: step.ordinal])
    request = step.ask.request
    assert isinstance(request, ReportRequest)
    assert request.decision.report is None
    assert [one.agent for one in request.standing] == list(ROSTER)
    assert audit(facts).holds


def test_the_words_are_attached_and_nothing_else_changes():
    _, plain = play(panel(), STALEMATE)
    said = decision_of(answered(WORDS))
    assert said.report == WORDS
    assert said.model_copy(update={"report": None}) == decision_of(plain)


def test_the_report_is_no_round():
    _, plain = play(panel(), STALEMATE)
    state = answered(WORDS)
    ours, theirs = result(state), result(plain)
    assert ours.manager_report == WORDS
    assert board_of(state).round == 2
    kept = {"manager_report"}
    assert ours.model_dump(exclude=kept) == theirs.model_dump(exclude=kept)


def test_the_suspect_region_is_asked_for_first():
    facts, state = play(managed(), DEADLOCK)
    assert asked_steps(facts) == ["opening", "round-1", "localize", "report"]
    step = state.step("report")
    assert step is not None
    assert isinstance(step.ask.request, ReportRequest)
    (follow_up,) = step.ask.request.decision.follow_ups
    assert follow_up.status == "answered"
    assert decision_of(state).report is not None
    assert audit(facts).holds


def test_agreement_at_once_is_worth_a_report_too():
    facts, state = play(managed(), UNANIMOUS)
    assert asked_steps(facts) == ["opening", "report"]
    assert result(state).total_rounds == 0


@pytest.mark.parametrize(
    "content", [FAILED, Statement(verdict=Verdict.AUTHENTIC, confidence=1.0)], ids=["failed", "odd"]
)
def test_without_an_answer_the_decision_stands_without_words(content: Content):
    _, plain = play(panel(), STALEMATE)
    state = answered(content)
    assert decision_of(state) == decision_of(plain)
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED
    assert result(state).final_verdicts == result(plain).final_verdicts


def test_the_log_says_why_there_are_no_words():
    (error,) = result(answered(FAILED)).errors
    assert (error.step, error.agent, error.detail) == ("report", "manager", "no form")
    _, missed = finished(until_report(), DeadlineFired(step="report"))
    assert decision_of(missed).report is None
    (error,) = result(missed).errors
    assert (error.agent, error.reason) == ("manager", "deadline")


def test_what_anybody_else_says_there_counts_for_nothing():
    stranger = TurnTaken(step="report", persona="noise", content=WORDS)
    _, state = finished(until_report(), stranger, DeadlineFired(step="report"))
    assert decision_of(state).report is None


@pytest.mark.parametrize(
    ("calls", "reason"),
    [(8, TerminationReason.BUDGET_EXHAUSTED), (12, TerminationReason.STALEMATE)],
)
def test_a_budget_that_is_used_up_leaves_nothing_for_words(calls, reason):
    facts: list[Fact] = [Submitted(panel=managed(budget_calls=calls), input=DebateInput())]
    state = fold(facts)
    while state.closed is None:
        fact: Fact | None = decide(state)
        if fact is None:
            assert state.open_step is not None
            persona = state.open_step.waiting_for[0]
            request = state.open_step.ask.request
            assert not isinstance(request, RequestByReference)
            fact = TurnTaken(
                step=state.open_step.name,
                persona=persona,
                content=recite(STALEMATE, request, persona),
                usage=Usage(model_calls=1),
            )
        facts.append(fact)
        state = apply(state, fact)
    assert result(state).termination_reason is reason
    assert "report" not in asked_steps(facts)
    assert audit(facts).holds


def test_what_the_manager_used_is_accounted_for():
    turn = TurnTaken(
        step="report", persona="manager", content=WORDS, usage=Usage(model_calls=2, cost=0.5)
    )
    found = result(finished(until_report(), turn)[1])
    assert found.actual_llm_calls == 2
    assert found.nominal_llm_calls == 8
    assert found.usage_by_persona == {"manager": Usage(model_calls=2, cost=0.5)}


def test_nobody_reports_on_a_debate_that_nobody_held():
    facts, _ = finished([Submitted(panel=managed(), input=DebateInput())])
    facts, state = finished(facts, DeadlineFired(step="opening"))
    assert result(state).termination_reason is TerminationReason.QUORUM_LOST
    assert "report" not in asked_steps(facts)


def test_nobody_reports_on_a_debate_that_was_cancelled():
    facts = until_report()
    ended = next(n for n, fact in enumerate(facts) if isinstance(fact, Terminated))
    for before in (facts[:ended], facts[: ended + 1]):
        after, state = finished([*before, CancelRequested()])
        assert "report" not in asked_steps(after)
        assert decision_of(state).report is None


def test_a_cancellation_while_the_report_is_written_waits_for_it():
    """The debate is decided already, and nothing is decided while somebody is asked."""
    facts, _ = finished(until_report(), CancelRequested())
    assert isinstance(facts[-1], CancelRequested)
    for end in (DeadlineFired(step="report"), spoken_report()):
        _, state = finished(facts, end)
        assert state.closed is not None
        assert state.closed.status is Status.COMPLETED


def spoken_report() -> TurnTaken:
    return TurnTaken(step="report", persona="manager", content=Report(summary="It is so."))


def test_a_recording_is_decided_anew_to_the_same_words():
    facts, state = play(managed(), parse_script(f"{_rounds()}\nreport: {{summary: It is so.}}"))
    again = redecide(record(facts), lambda same: same)
    assert again.unknown is None
    assert again.state == state


def test_words_about_another_decision_are_unknown_but_its_outcome_is_not():
    facts, _ = play(managed(), STALEMATE)
    other = panel(consensus_threshold=0.9).params
    found = redecide(record(facts), lambda one: one.model_copy(update={"params": other}))
    assert found.unknown is Unknown.FOLLOW_UP
    assert found.missing == "manager in report: never asked this"
    assert decision_of(found.state).termination_reason is TerminationReason.CONSENSUS_REACHED


def test_a_script_says_the_words_or_the_rationale_does():
    _, state = play(managed(), parse_script(f"{_rounds()}\nreport: {{summary: It is so.}}"))
    assert decision_of(state).report == Report(summary="It is so.")
    _, state = play(managed(), STALEMATE)
    said = decision_of(state)
    assert said.report == Report(summary=said.rationale)


def test_a_report_travels():
    for fact in play_on(until_report(), STALEMATE)[0]:
        assert decode(tail_of(fact), encode(fact)) == fact
    state = answered(WORDS)
    assert state.finding(Decided) is not None
    sent = encode(state.found(Decided))
    assert b'"report":{"kind":"report","summary":"The image was altered."' in sent
    assert decode(tail_of(state.found(Decided)), sent) == state.finding(Decided)


def test_without_a_report_nothing_is_written():
    facts, state = play(panel(), STALEMATE)
    assert not any(b"report" in encode(fact) or b'"manager"' in encode(fact) for fact in facts)
    assert "report" not in decision_of(state).model_dump_json()
    assert "manager_report" not in result(state).model_dump_json()


@pytest.mark.parametrize("name", ["noise", "all", "two words"])
def test_a_manager_has_a_name_of_its_own(name: str):
    with pytest.raises(ValidationError):
        VerdictPanel.model_validate({**panel().model_dump(), "manager": name})


def test_a_manager_takes_no_seat():
    seated = VerdictPanel.model_validate({**panel().model_dump(), "manager": "manager"})
    assert seated.everybody == (*seated.roster, "manager")
    assert seated.roster == ROSTER
    assert seated.quorum_size == panel().quorum_size


def _rounds() -> str:
    return (
        "rounds: [{frequency: [ai_generated, .85], noise: [authentic, .80],"
        " watermark: [ai_generated, .75], spatial: [ai_generated, .70]}]"
    )
