"""Quorum, absences and failures: what the debate does when personas stay away."""

from collections.abc import Mapping

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import (
    Abstained,
    DeadlineFired,
    Fact,
    Failure,
    FailureReason,
    Status,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import (
    Localization,
    Reply,
    ResponseType,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of
from tests.debates import panel

Said = Statement | Reply | Failure | Localization | None
A, U, M = Verdict.AI_GENERATED, Verdict.AUTHENTIC, Verdict.MANIPULATED


def opening(verdict: Verdict, confidence: float = 0.7) -> Statement:
    return Statement(verdict=verdict, confidence=confidence)


KEEP = Reply(response_type=ResponseType.DEFENSE)


def run(panel: VerdictPanel, said: Mapping[tuple[str, str], Said], default: Said) -> VerdictResult:
    """Play `said[step, persona]`; None stays silent until the deadline fires."""
    facts: list[Fact] = [Submitted(panel=panel, input=DebateInput())]
    state = apply(DebateState(), facts[0])

    def add(fact: Fact) -> None:
        nonlocal state
        facts.append(fact)
        state = apply(state, fact)

    while state.closed is None:
        decision = decide(state)
        if decision is not None:
            add(decision)
            continue
        step = state.open_step
        assert step is not None
        for persona in step.waiting_for:
            content = said.get((step.name, persona), default)
            if content is not None:
                add(TurnTaken(step=step.name, persona=persona, content=content))
        if state.open_step is not None:
            add(DeadlineFired(step=step.name))
    assert audit(facts).holds
    return result_of(DebateRef("forensic", "d"), state)


def test_nobody_opens_and_the_quorum_is_lost():
    result = run(panel(), {}, None)
    assert result.termination_reason is TerminationReason.QUORUM_LOST
    assert result.status is Status.FAILED
    assert result.final_verdict == Verdict.UNCERTAIN
    assert result.incomplete
    assert {error.agent for error in result.errors} == {
        "frequency",
        "noise",
        "watermark",
        "spatial",
    }
    assert {error.reason for error in result.errors} == {"deadline"}


def test_two_of_four_are_no_majority():
    said = {("opening", "frequency"): opening(A), ("opening", "noise"): opening(A)}
    assert run(panel(), said, None).termination_reason is TerminationReason.QUORUM_LOST


def test_an_absent_agent_is_left_out_of_the_count():
    said = {
        ("opening", "frequency"): opening(A),
        ("opening", "noise"): opening(A),
        ("opening", "watermark"): opening(A),
    }
    result = run(panel(), said, None)
    assert result.termination_reason is TerminationReason.CONSENSUS_REACHED
    assert result.total_rounds == 0
    assert set(result.final_verdicts) == {"frequency", "noise", "watermark"}


def test_an_absent_agent_joins_when_it_speaks():
    said = {
        ("opening", "frequency"): opening(A),
        ("opening", "noise"): opening(U),
        ("opening", "watermark"): opening(A),
        ("round-1", "spatial"): opening(M),
    }
    result = run(panel(), said, KEEP)
    assert result.final_verdicts["spatial"] == M
    assert result.disagreement_history[0] == 0.5
    assert result.disagreement_history[1] == 2 / 3
    joined = next(turn for turn in result.turns if turn.agent == "spatial")
    assert not joined.verdict_changed


def test_a_missed_later_turn_leaves_the_statement_standing():
    openings = {
        ("opening", name): opening(verdict)
        for name, verdict in zip(
            ("frequency", "noise", "watermark", "spatial"), (A, U, A, A), strict=True
        )
    }
    result = run(panel(), openings, None)
    assert result.termination_reason is TerminationReason.STALEMATE
    assert result.final_verdicts["noise"] == U
    assert len(result.errors) == 8


def test_a_failed_turn_keeps_the_verdict_and_says_why():
    openings = {
        ("opening", name): opening(verdict)
        for name, verdict in zip(
            ("frequency", "noise", "watermark", "spatial"), (A, U, A, A), strict=True
        )
    }
    broken = Failure(reason=FailureReason.BRAIN_ERROR, detail="no GPU", attempts=3)
    result = run(panel(), {**openings, ("round-1", "noise"): broken}, KEEP)
    assert result.final_verdicts["noise"] == U
    assert [(error.step, error.reason, error.detail) for error in result.errors] == [
        ("round-1", "brain_error", "no GPU")
    ]


def test_an_unanswered_follow_up_is_said_to_be_unanswered():
    openings = {
        ("opening", "frequency"): opening(A, 0.92),
        ("opening", "noise"): opening(U, 0.9),
        ("opening", "watermark"): opening(A, 0.92),
        ("opening", "spatial"): opening(A, 0.92),
        ("localize", "spatial"): None,
    }
    result = run(panel(), openings, KEEP)
    assert result.termination_reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    assert result.follow_ups[0].status == "unanswered"
    assert (result.final_verdict, result.confidence) == (M, 0.70)


def test_only_the_challenged_are_asked_when_the_panel_says_so():
    openings = {
        ("opening", "frequency"): opening(A, 0.8),
        ("opening", "noise"): opening(U, 0.7),
        ("opening", "watermark"): opening(A, 0.75),
        ("opening", "spatial"): opening(A, 0.9),
    }
    result = run(panel(skip_unchallenged=True), openings, KEEP)
    assert {turn.agent for turn in result.turns} == {"noise"}
    assert result.termination_reason is TerminationReason.STALEMATE


def test_the_deadline_writes_one_abstention_for_each_missing_persona():
    state = apply(DebateState(), Submitted(panel=panel(), input=DebateInput()))
    for _ in range(2):
        fact = decide(state)
        assert fact is not None
        state = apply(state, fact)
    state = apply(state, DeadlineFired(step="opening"))
    abstained = []
    while isinstance(fact := decide(state), Abstained):
        abstained.append(fact.persona)
        state = apply(state, fact)
    assert abstained == ["frequency", "noise", "watermark", "spatial"]
