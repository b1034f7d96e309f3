"""
Recompute a debate from its log alone and compare.

Every control fact says how many facts its decision had seen. Folding exactly those and deciding
again must give the same fact, byte for byte; anything else means that the log was altered, or
that the coordinator and this code do not agree. A control fact must also rest on everything up
to the control fact before it: two that rest on the same one would be a fork.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parley.bus.codec import encode
from parley.bus.contracts.budget import Allowance
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    ControlFact,
    Fact,
    Finding,
    Opened,
    RequestByReference,
    Submitted,
)
from parley.bus.journal import externalise
from parley.coordinator.core.due import due_in
from parley.coordinator.core.misplaced import Heard, stray_reason
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.core.reducer import fold, take
from parley.coordinator.core.state import DebateState


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """Where recorded and recomputed part; `ordinal` is the fact's position in the debate."""

    ordinal: int
    fact: str
    problem: str


@dataclass(frozen=True, slots=True)
class Audit:
    """
    `foreign` are facts that have no place in the debate and change nothing in it.

    `unverified` says why this program cannot recompute the decisions: it has other rules. The facts
    are folded all the same, so that the debate can be shown.
    """

    state: DebateState
    checked: int
    discrepancies: tuple[Discrepancy, ...]
    foreign: tuple[Discrepancy, ...] = ()
    unverified: str | None = None

    @property
    def holds(self) -> bool:
        return self.unverified is None and not self.discrepancies


def audit(facts: Sequence[Fact], protocols: Mapping[str, Protocol] = PROTOCOLS) -> Audit:
    foreign_rules = _why_unverified(facts, protocols)
    if foreign_rules is not None:
        return Audit(fold(facts), 0, (), unverified=foreign_rules)
    # The n-th state is what the first n facts of the debate amount to.
    states = [DebateState()]
    found: list[Discrepancy] = []
    foreign: list[Discrepancy] = []
    checked, last_control = 0, 0
    for ordinal, fact in enumerate(facts):
        problem, state = None, states[-1]
        if not isinstance(fact, Heard):
            checked += 1
            problem = _problem(fact, states, last_control, protocols)
            last_control = state.facts
        walked = take(state, fact)
        state, problem = walked.after, walked.refused or problem
        if problem:
            found.append(Discrepancy(ordinal, fact.type, problem))
        elif (stray := stray_reason(states[-1], state, fact)) is not None:
            foreign.append(Discrepancy(ordinal, fact.type, stray))
        if state.facts == len(states):
            states.append(state)
    return Audit(states[-1], checked, tuple(found), tuple(foreign))


def _why_unverified(facts: Sequence[Fact], protocols: Mapping[str, Protocol]) -> str | None:
    """Read off the submission and the opening alone; None where the rules are this program's."""
    rest = iter(facts)
    submitted = next((fact for fact in rest if isinstance(fact, Submitted)), None)
    opened = next((fact for fact in rest if isinstance(fact, Opened)), None)
    if submitted is None or opened is None:
        return None
    protocol = protocols[submitted.panel.protocol]
    if opened.rules != protocol.rules:
        return (
            f"decided by version {opened.rules} of the rules of {protocol.name};"
            f" this program verifies version {protocol.rules}"
        )
    return "; ".join(protocol.lacks(submitted.panel)) or None


def _problem(
    fact: ControlFact,
    states: Sequence[DebateState],
    last_control: int,
    protocols: Mapping[str, Protocol],
) -> str | None:
    if fact.decided_at >= len(states):
        return f"rests on {fact.decided_at} facts, but only {len(states) - 1} stand before it"
    if fact.decided_at <= last_control:
        return f"rests on {fact.decided_at} facts, but fact {last_control} was decided since"
    if isinstance(fact, Abstained) and fact.reason is AbstainReason.UNDELIVERABLE:
        return _problem_of_absence(fact, states[fact.decided_at])
    due = due_in(states[fact.decided_at], protocols)
    if due is None:
        return f"the {fact.decided_at} facts it rests on call for no decision"
    expected = due.fact
    if isinstance(expected, Asked) and isinstance(fact, Asked):
        expected = carried_alike(expected, fact)
    expected = with_what_was_found(expected, fact)
    if encode(expected) == encode(fact):
        return None
    return _difference(fact, expected)


def _problem_of_absence(fact: Abstained, state: DebateState) -> str | None:
    """That a queue gave up stands beside the log; that the debate still waited stands in it."""
    step = state.open_step
    if step is not None and step.name == fact.step and step.awaits(fact.persona):
        return None
    return f"nobody waited for {fact.persona!r} in {fact.step!r}"


def with_what_was_found(expected: ControlFact, fact: ControlFact) -> ControlFact:
    """What stood outside the log at that moment stands in the fact only, and is taken as given."""
    if not isinstance(expected, Finding) or type(expected) is not type(fact):
        return expected
    return expected.model_copy(update={name: getattr(fact, name) for name in expected.observed})


def carried_alike(expected: Asked, recorded: Asked) -> Asked:
    """The expected ask with its request and its budget in the form that the recorded one has."""
    if expected.budget is not None and recorded.budget is not None:
        left_open = _left_open(recorded.budget)
        alike = expected.budget.model_copy(update=left_open)
        expected = expected.model_copy(update={"budget": alike})
    if isinstance(recorded.request, RequestByReference):
        return externalise(expected)[0]
    return expected


def _left_open(budget: Allowance) -> dict[str, object]:
    """What an older ask does not say of whose claims count, and how much of them."""
    names: dict[str, object] = {} if budget.personas else {"personas": ()}
    if not budget.shared:
        names["shared"] = ()
    return names if budget.claims else {**names, "claims": (), "waited_s": 0.0}


def _difference(recorded: ControlFact, expected: ControlFact) -> str:
    if recorded.type != expected.type:
        return f"recorded {recorded.type!r}, recomputed {expected.type!r}"
    was, should = recorded.model_dump(mode="json"), expected.model_dump(mode="json")
    path, old, new = next(_differences(was, should, ""), ("bytes", was, should))
    return f"{path}: recorded {old!r}, recomputed {new!r}"


def _differences(was: object, should: object, path: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    if isinstance(was, dict) and isinstance(should, dict):
        for key in {**was, **should}:
            yield from _differences(was.get(key), should.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(was, list) and isinstance(should, list) and len(was) == len(should):
        for index, (one, other) in enumerate(zip(was, should, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif was != should:
        yield path, was, should
