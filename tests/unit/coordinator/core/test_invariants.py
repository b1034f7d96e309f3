"""
For any sequence of turns, losses, duplicates and reorderings the invariants hold.

A debate is driven by drawn events: turns of any persona for any step, twice or never, deadlines
that fire late or for steps long over, cancellations, and coordinators that decide on a stale view
and write only if no other control fact came in between.
"""

from collections import Counter
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from parley.agents.forensic.labels import Verdict
from parley.bus.codec import decode, encode
from parley.bus.contracts.facts import (
    Asked,
    CancelRequested,
    DeadlineFired,
    Fact,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Reply, Report, ResponseType, Statement
from parley.bus.subjects import DebateRef, tail_of
from parley.coordinator.core.accounting import declarations_of
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import result_of
from tests.debates import ROSTER, panel

CONTROL = ("opened", "asked", "abstained", "terminated", "decided", "closed")

verdicts = st.sampled_from(Verdict)
shares = st.floats(0, 1)
contents = st.one_of(
    st.builds(Statement, verdict=verdicts, confidence=shares),
    st.just(Report(summary="so it is")),
    st.builds(
        Reply,
        response_type=st.sampled_from(ResponseType),
        verdict_changed=st.booleans(),
        new_verdict=st.none() | verdicts,
        new_confidence=st.none() | shares,
    ),
)
steps = st.sampled_from(["opening", "round-1", "round-2", "round-3", "localize", "report"])
turns = st.builds(
    TurnTaken,
    step=steps,
    persona=st.sampled_from([*ROSTER, "manager", "stranger"]),
    content=contents,
)
noise = st.one_of(turns, st.builds(DeadlineFired, step=steps), st.just(CancelRequested()))
# How many facts the deciding coordinator lags behind, and what lands before its write.
writes = st.lists(noise, max_size=3)
params = st.fixed_dictionaries(
    {
        "max_rounds": st.integers(1, 4),
        "consensus_threshold": st.sampled_from([0.0, 0.2, 0.3, 0.4, 1.0]),
        "stalemate_threshold": st.integers(1, 4),
        "high_confidence_threshold": st.sampled_from([0.0, 0.5, 0.85, 1.0]),
        "skip_unchallenged": st.booleans(),
    }
)
managers = st.sampled_from([None, "manager"])


class Log:
    def __init__(self, chosen: dict[str, Any], manager: str | None) -> None:
        seated = panel(**chosen).model_copy(update={"manager": manager})
        self.facts: list[Fact] = [Submitted(panel=seated, input=DebateInput())]
        self.state = apply(DebateState(), self.facts[0])

    def add(self, fact: Fact) -> None:
        self.facts.append(decode(tail_of(fact), encode(fact)))
        self.state = apply(self.state, self.facts[-1])

    def coordinate(self, before_the_write: list[Fact]) -> bool:
        """Decide on what is known now; other facts land before the write does."""
        decision = decide(self.state)
        for fact in before_the_write:
            self.add(fact)
        if decision is not None:
            self.add(decision)
        return decision is not None


@settings(max_examples=150, deadline=None)
@given(chosen=params, manager=managers, events=st.lists(st.one_of(noise, writes), max_size=60))
def test_the_invariants_hold_whatever_happens(chosen, manager, events):
    log = Log(chosen, manager)
    for event in events:
        if isinstance(event, list):
            log.coordinate(event)
        else:
            log.add(event)
    while log.state.closed is None:
        if not log.coordinate([]):
            assert log.state.open_step is not None
            log.add(DeadlineFired(step=log.state.open_step.name))

    kinds = Counter(fact.type for fact in log.facts)
    assert kinds["terminated"] == 1
    assert kinds["closed"] == 1
    stops = [one for one in declarations_of(log.state) if one.terminates]
    assert len(stops) == 1
    counted = Counter(
        (step.name, heard.said.persona) for step in log.state.steps for heard in step.heard
    )
    assert all(count == 1 for count in counted.values())
    rounds = [fact for fact in log.facts if isinstance(fact, Asked) and "round" in fact.step]
    assert len(rounds) <= int(str(chosen["max_rounds"]))

    report = audit(log.facts)
    assert report.holds, report.discrepancies
    again = fold(log.facts)
    ref = DebateRef("forensic", "d")
    assert result_of(ref, again).model_dump_json() == result_of(ref, log.state).model_dump_json()


@settings(max_examples=50, deadline=None)
@given(chosen=params, manager=managers, events=st.lists(noise, max_size=30))
def test_every_declaration_rests_on_facts_that_stand_before_it(chosen, manager, events):
    log = Log(chosen, manager)
    for event in events:
        log.coordinate([event])
    while log.state.closed is None:
        if not log.coordinate([]):
            assert log.state.open_step is not None
            log.add(DeadlineFired(step=log.state.open_step.name))
    for ordinal, fact in enumerate(log.facts):
        if isinstance(fact, Asked | Terminated) and fact.declaration is not None:
            assert fact.declaration.justification
            assert all(
                0 <= basis < fact.decided_at <= ordinal for basis in fact.declaration.details.basis
            )
