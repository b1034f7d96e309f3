"""
The aspect-sentiment pipeline as a flow on the same mechanism: stages, ordered personas, a judge
and reviews are all steps, asked of one persona each. Statements stand in for their contents.
"""

from collections.abc import Collection
from dataclasses import replace

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.declaration import (
    DeclarationDetails,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    ControlFact,
    DeadlineFired,
    Fact,
    Status,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement, TerminationReason
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from tests.debates import panel

STAGE_1 = ("ate", "atsa", "validator")
ORDER = ("epm", "tan", "cj")
STAGE_2 = ("ate-review", "atsa-review", "validator-review")
ROSTER = (*STAGE_1, *ORDER, "judge", *STAGE_2)
ROUNDS = 2


def advance(state: DebateState) -> ControlFact:
    if state.terminated and state.terminated.reason == TerminationReason.CANCELLED:
        return Closed(decided_at=state.facts, status=Status.CANCELLED, reason="cancelled")
    return (
        _stages(state, STAGE_1)
        or _rounds(state)
        or _stages(state, ("judge", *STAGE_2))
        or Closed(decided_at=state.facts, status=Status.COMPLETED, reason="adopted")
    )


def _stages(state: DebateState, stages: tuple[str, ...]) -> ControlFact | None:
    """A missing stage is asked once more, then the debate fails with the reason."""
    for stage in stages:
        first, again = state.step(stage), state.step(f"{stage}-again")
        if first is None:
            return _ask(state, stage, stage)
        if isinstance(first.heard[0].said, TurnTaken):
            continue
        if again is None:
            return _ask(state, f"{stage}-again", stage)
        if isinstance(again.heard[0].said, Abstained):
            return Closed(decided_at=state.facts, status=Status.FAILED, reason=f"no {stage}")
    return None


def _rounds(state: DebateState) -> ControlFact | None:
    """Speakers in order, one step each; a missing one is skipped."""
    if state.terminated is not None:
        return None
    for round_ in range(1, ROUNDS + 1):
        for key in ORDER:
            if state.step(f"debate-{round_}-{key}") is None:
                return _ask(state, f"debate-{round_}-{key}", key)
    return cancel(state, TerminationReason.MAX_ROUNDS_REACHED)


def cancel(
    state: DebateState, reason: TerminationReason = TerminationReason.CANCELLED
) -> Terminated:
    declaration = TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.DECISION_SUFFICIENCY,
        termination_rationale=TerminationRationale(),
        justification=reason.value,
        details=DeclarationDetails(rule=reason.value, regime="sketch", iteration=ROUNDS),
    )
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _ask(state: DebateState, step: str, persona: str) -> Asked:
    return Asked(
        decided_at=state.facts,
        step=step,
        personas=(persona,),
        input=state.input,
        request=OpeningRequest(),
        deadline_s=30,
    )


SKETCHED = {"verdicts": replace(PROTOCOLS["verdicts"], advance=advance, cancel=cancel)}


def run(silent: Collection[str] = (), cancel_at: int | None = None) -> list[Fact]:
    facts: list[Fact] = [Submitted(panel=panel(ROSTER), input=DebateInput(text="가격은 비싸요"))]
    state = apply(DebateState(), facts[0])
    while state.closed is None:
        if len(facts) == cancel_at:
            fact: Fact | None = CancelRequested()
        else:
            fact = decide(state, SKETCHED)
        if fact is None:
            step = state.open_step
            assert step is not None
            (persona,) = step.waiting_for
            said = Statement(verdict=Verdict.UNCERTAIN, confidence=0.5)
            fact = (
                DeadlineFired(step=step.name)
                if step.name in silent
                else TurnTaken(step=step.name, persona=persona, content=said)
            )
        facts.append(fact)
        state = apply(state, fact)
    assert audit(facts, SKETCHED).holds
    return facts


def asked(facts: list[Fact]) -> list[str]:
    return [fact.step for fact in facts if isinstance(fact, Asked)]


DEBATE = [f"debate-{r}-{key}" for r in (1, 2) for key in ORDER]


def test_stages_debate_judge_and_reviews_run_in_order():
    facts = run()
    assert asked(facts) == [*STAGE_1, *DEBATE, "judge", *STAGE_2]
    assert facts[-1].status is Status.COMPLETED  # type: ignore[union-attr]


def test_a_missing_debate_persona_is_skipped():
    facts = run(silent={"debate-1-tan"})
    assert asked(facts) == [*STAGE_1, *DEBATE, "judge", *STAGE_2]


def test_a_missing_stage_is_asked_once_more():
    facts = run(silent={"atsa"})
    assert asked(facts)[:4] == ["ate", "atsa", "atsa-again", "validator"]
    assert facts[-1].status is Status.COMPLETED  # type: ignore[union-attr]


def test_a_stage_that_stays_away_fails_the_debate_with_a_reason():
    closed = run(silent={"judge", "judge-again"})[-1]
    assert isinstance(closed, Closed)
    assert (closed.status, closed.reason) == (Status.FAILED, "no judge")


def test_cancelling_works_in_any_stage():
    whole = run()
    debate_over = next(i for i, fact in enumerate(whole) if isinstance(fact, Terminated))
    for at in range(2, debate_over):
        facts = run(cancel_at=at)
        closed = facts[-1]
        assert isinstance(closed, Closed)
        assert closed.status is Status.CANCELLED
