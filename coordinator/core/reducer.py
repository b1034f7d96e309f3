"""
The debate as a state machine: facts in, state out.

Rule 1: everything that changes a debate's state is in this file.
Rule 2: nothing here does I/O, reads a clock or draws a random number, so the live
        coordinator, a replay, a simulation and a test walk the same path.
Rule 3: what others write (turns, deadlines, cancellations) can come late, twice or out of
        place, and then counts for nothing; what the coordinator writes must be legal.
Rule 4: a control fact that is illegal where it stands was written by no coordinator. It is
        reported and passed over: it keeps its place in the debate, but changes nothing.
Rule 5: a debate begins with its submission; what stands before it has no place in it. Nor has a
        turn that nobody asked for, or a second one: the log may forget it, and nothing changes.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, assert_never

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    ControlFact,
    DeadlineFired,
    Deleted,
    Fact,
    Finding,
    Opened,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.errors import ProtocolError
from parley.coordinator.core.misplaced import unasked
from parley.coordinator.core.state import DebateState, Heard, Outstanding, Phase, Step

# The control facts that may follow in each phase; of findings only early ones while it runs.
LEGAL: dict[Phase, tuple[type[ControlFact], ...]] = {
    Phase.UNKNOWN: (),
    Phase.SUBMITTED: (Opened, Closed),
    Phase.RUNNING: (Asked, Abstained, Finding, Terminated, Closed),
    Phase.TERMINATED: (Asked, Abstained, Finding, Closed),
    Phase.CLOSED: (),
}


class Walked(NamedTuple):
    """A fact with the states around it; `refused` says why it was passed over, if it was."""

    fact: Fact
    before: DebateState
    after: DebateState
    refused: str | None = None

    @property
    def has_place(self) -> bool:
        """False for what stands before the submission, and for a turn that nobody asked for."""
        return self.after is not self.before


def walk(facts: Iterable[Fact]) -> Iterator[Walked]:
    """Fold a log step by step, for readers who want to know what each fact did."""
    state = DebateState()
    for fact in facts:
        walked = take(state, fact)
        yield walked
        state = walked.after


def take(state: DebateState, fact: Fact) -> Walked:
    """One step of a fold: what is illegal where it stands is passed over."""
    try:
        return Walked(fact, state, apply(state, fact))
    except ProtocolError as error:
        return Walked(fact, state, pass_over(state), str(error))


def fold(facts: Iterable[Fact]) -> DebateState:
    state = DebateState()
    for fact in facts:
        state = take(state, fact).after
    return state


def apply(state: DebateState, fact: Fact) -> DebateState:
    """Raises ProtocolError for a control fact that is illegal where it stands."""
    match fact:
        # Nearly all facts are turns, and every class that is asked for first costs time.
        case TurnTaken():
            return _with_heard(state, fact)
        case Deleted():
            return pass_over(state)
        case Submitted() | CancelRequested() | DeadlineFired():
            return _hear(state, fact)
        case _:
            return _obey(state, fact)


def pass_over(state: DebateState) -> DebateState:
    """One fact further, with nothing else changed."""
    return state if state.phase is Phase.UNKNOWN else _after(state)


def _after(state: DebateState, **changes: Any) -> DebateState:
    """One fact further, with these changes."""
    return state._replace(facts=state.facts + 1, **changes)


def _hear(state: DebateState, fact: Submitted | CancelRequested | DeadlineFired) -> DebateState:
    match fact:
        case Submitted():
            if state.phase is not Phase.UNKNOWN:
                return pass_over(state)
            return _after(state, phase=Phase.SUBMITTED, panel=fact.panel, input=fact.input)
        case CancelRequested():
            if state.phase is Phase.UNKNOWN or state.cancelled_at is not None:
                return pass_over(state)
            return _after(state, cancelled_at=state.facts)
        case DeadlineFired():
            return _with_deadline_passed(state, fact)
        case _:
            assert_never(fact)


def _with_deadline_passed(state: DebateState, fact: DeadlineFired) -> DebateState:
    step = state.open_step
    is_open = step is not None and step.name == fact.step
    if fact.persona is None and step is not None and is_open:
        return _after(state, steps=(*state.steps[:-1], step._replace(fired=True)))
    if fact.persona is not None:
        return _with_person_overdue(state, step if is_open else None, fact.step, fact.persona)
    return pass_over(state)


def _with_person_overdue(
    state: DebateState, step: Step | None, name: str, persona: str
) -> DebateState:
    """`step` is the one of this name, while it is open."""
    outstanding = state.outstanding_to(name, persona)
    if outstanding is not None:
        rest = tuple(one for one in state.outstanding if one is not outstanding)
        return _after(state, outstanding=(*rest, outstanding._replace(fired=True)))
    if step is None or persona not in step.ask.people or persona not in step.waiting_for:
        return pass_over(state)
    late = step._replace(overdue=(*step.overdue, persona))
    return _after(state, steps=(*state.steps[:-1], late))


def _obey(state: DebateState, fact: ControlFact) -> DebateState:
    if not isinstance(fact, LEGAL[state.phase]):
        raise ProtocolError(f"{fact.type!r} is illegal while the debate is {state.phase.value}")
    match fact:
        case Asked():
            return _with_step(state, fact)
        case Opened():
            return _after(state, phase=Phase.RUNNING, rules=fact.rules)
        case Abstained():
            return _with_abstention(state, fact)
        case Terminated():
            return _ended(state, phase=Phase.TERMINATED, terminated=fact)
        case Closed():
            return _ended(state, phase=Phase.CLOSED, closed=fact)
        case Finding():
            return _with_finding(state, fact)
        case _:
            assert_never(fact)


def _with_finding(state: DebateState, fact: Finding) -> DebateState:
    if fact.type in state.findings or state.open_step is not None:
        raise ProtocolError(f"{fact.type!r} is illegal twice or while a step is open")
    if state.phase is Phase.RUNNING and not fact.early:
        raise ProtocolError(f"{fact.type!r} is illegal while the debate is {state.phase.value}")
    return _after(state, findings={**state.findings, fact.type: fact})


def _with_step(state: DebateState, ask: Asked) -> DebateState:
    open_step = state.open_step
    if open_step is not None:
        if not _is_one_more(open_step, ask):
            raise ProtocolError(f"step {ask.step!r} opens while {open_step.name!r} is open")
        return _with_one_more(state, open_step, ask)
    if state.step(ask.step) is not None:
        raise ProtocolError(f"step {ask.step!r} opens twice")
    step = Step(ask, state.facts, carried=state.carried, asks=(ask,) if ask.together else ())
    if not ask.people and not state.carried:
        return _after(state, steps=(*state.steps, step))
    return _after(
        state,
        steps=(*state.steps, step),
        carried=(),
        outstanding=(*state.outstanding, *_unawaited(ask)),
    )


def _unawaited(ask: Asked) -> list[Outstanding]:
    return [
        Outstanding(ask.step, name, person.deadline_s)
        for name, person in ask.people.items()
        if not person.waits
    ]


def _is_one_more(step: Step, ask: Asked) -> bool:
    same = (step.name, step.ask.together) == (ask.step, ask.together)
    return same and bool(ask.personas) and set(ask.personas) <= set(step.unasked)


def _with_one_more(state: DebateState, step: Step, ask: Asked) -> DebateState:
    whole = step.ask.model_copy(
        update={
            "personas": (*step.ask.personas, *ask.personas),
            "people": {**step.ask.people, **ask.people},
        }
    )
    grown = step._replace(ask=whole, asks=(*step.asks, ask))
    return _after(
        state,
        steps=(*state.steps[:-1], grown),
        outstanding=(*state.outstanding, *_unawaited(ask)),
    )


def _with_abstention(state: DebateState, fact: Abstained) -> DebateState:
    """An abstention and a turn can cross on their way; whichever the log holds first counts."""
    step = state.step(fact.step)
    if step is None or fact.persona not in step.ask.personas:
        raise ProtocolError(f"{fact.persona!r} abstains in {fact.step!r}, but was not asked")
    return _with_heard(state, fact)


def _with_heard(state: DebateState, said: TurnTaken | Abstained) -> DebateState:
    """Spelled out, without `_replace`: nearly all facts pass here."""
    phase, facts, panel, input_, steps, *rest = state
    if not steps:
        return _unheard(state, said)
    ask, ordinal, heard, fired, abandoned, overdue, carried, asks = steps[-1]
    if ask.step != said.step or not steps[-1].awaits(said.persona):
        return _unheard(state, said)
    now = (*heard, Heard(facts, said))
    step = Step(ask, ordinal, now, fired, abandoned, overdue, carried, asks)
    if ask.people:
        rest = list(_answered(state, said)[5:])
    return DebateState._make((phase, facts + 1, panel, input_, (*steps[:-1], step), *rest))


def _answered(state: DebateState, said: TurnTaken | Abstained) -> DebateState:
    """Without what was outstanding to whoever spoke or was given up."""
    key = (said.step, said.persona)
    rest = tuple(one for one in state.outstanding if (one.step, one.persona) != key)
    return state._replace(outstanding=rest)


def _carried_over(state: DebateState, said: TurnTaken | Abstained) -> DebateState:
    """A person's answer to an ask for which no step waits: into the step that is open, or the next."""
    state, heard = _answered(state, said), Heard(state.facts, said)
    if isinstance(said, TurnTaken):
        state = state._replace(late=state.late | {(said.step, said.persona)})
    step = state.open_step
    if step is None:
        return _after(state, carried=(*state.carried, heard))
    with_it = step._replace(carried=(*step.carried, heard))
    return _after(state, steps=(*state.steps[:-1], with_it))


def _unheard(state: DebateState, said: TurnTaken | Abstained) -> DebateState:
    """What comes too late keeps its place; a turn that nobody asked for has none."""
    if state.outstanding_to(said.step, said.persona) is not None:
        return _carried_over(state, said)
    if isinstance(said, Abstained):
        return pass_over(state)
    if unasked(state, said) is not None:
        return state
    return _after(state, late=state.late | {(said.step, said.persona)})


def _ended(state: DebateState, **changes: Any) -> DebateState:
    """Nobody is waited for any more."""
    steps = state.steps
    if state.open_step is not None:
        steps = (*steps[:-1], state.open_step._replace(abandoned=True))
    return _after(state, steps=steps, outstanding=(), carried=(), **changes)
