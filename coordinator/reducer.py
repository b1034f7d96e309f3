"""
The debate as a state machine: facts in, state out.

Rule 1: everything that changes a debate's state is in this file.
Rule 2: nothing here does I/O, reads a clock or draws a random number, so the live
        coordinator, a replay, a simulation and a test walk the same path.
Rule 3: what others write (turns, deadlines, cancellations) can come late, twice or out of
        place, and then counts for nothing; what the coordinator writes must be legal.
Rule 4: a control fact that is illegal where it stands was written by no coordinator. It is
        reported and passed over: it keeps its place in the debate, but changes nothing.
Rule 5: a debate begins with its submission; what stands before it has no place in it.
"""

from collections.abc import Iterable
from typing import TypeVar, assert_never

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    CancelRequested,
    Closed,
    ControlFact,
    DeadlineFired,
    Decided,
    Fact,
    Judged,
    Moderated,
    Opened,
    Overridden,
    Recalled,
    Remembered,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.errors import ProtocolError
from parley.coordinator.state import DebateState, Heard, Phase, Step

# A conclusion that stands once in a debate.
Finding = TypeVar("Finding", Decided, Judged, Overridden, Moderated, Recalled, Remembered)

# The control facts that may follow in each phase.
LEGAL: dict[Phase, tuple[type[ControlFact], ...]] = {
    Phase.UNKNOWN: (),
    Phase.SUBMITTED: (Opened, Closed),
    Phase.RUNNING: (Asked, Abstained, Recalled, Terminated, Closed),
    Phase.TERMINATED: (
        Asked,
        Abstained,
        Decided,
        Judged,
        Recalled,
        Overridden,
        Moderated,
        Remembered,
        Closed,
    ),
    Phase.CLOSED: (),
}


def fold(facts: Iterable[Fact]) -> DebateState:
    state = DebateState()
    for fact in facts:
        try:
            state = apply(state, fact)
        except ProtocolError:
            state = pass_over(state)
    return state


def apply(state: DebateState, fact: Fact) -> DebateState:
    """Raises ProtocolError for a control fact that is illegal where it stands."""
    match fact:
        case Submitted() | CancelRequested() | TurnTaken() | DeadlineFired():
            after = _hear(state, fact)
        case _:
            after = _obey(state, fact)
    return pass_over(after)


def pass_over(state: DebateState) -> DebateState:
    """One fact further, with nothing else changed."""
    return state if state.phase is Phase.UNKNOWN else state._replace(facts=state.facts + 1)


def _hear(
    state: DebateState, fact: Submitted | CancelRequested | TurnTaken | DeadlineFired
) -> DebateState:
    match fact:
        case Submitted():
            if state.phase is not Phase.UNKNOWN:
                return state
            return state._replace(phase=Phase.SUBMITTED, panel=fact.panel, input=fact.input)
        case CancelRequested():
            if state.phase is Phase.UNKNOWN or state.cancelled_at is not None:
                return state
            return state._replace(cancelled_at=state.facts)
        case TurnTaken():
            return _with_heard(state, fact)
        case DeadlineFired():
            return _with_deadline_passed(state, fact)
        case _:
            assert_never(fact)


def _with_deadline_passed(state: DebateState, fact: DeadlineFired) -> DebateState:
    step = state.open_step
    if step is None or step.name != fact.step:
        return state
    return _with_last_step(state._replace(armed=None), step._replace(fired=True))


def _obey(state: DebateState, fact: ControlFact) -> DebateState:  # noqa: C901, PLR0911 - one case a fact is the clearest table
    if not isinstance(fact, LEGAL[state.phase]):
        raise ProtocolError(f"{fact.type!r} is illegal while the debate is {state.phase.value}")
    match fact:
        case Opened():
            return state._replace(phase=Phase.RUNNING)
        case Asked():
            return _with_step(state, fact)
        case Abstained():
            return _with_abstention(state, fact)
        case Terminated():
            return _without_open_step(state)._replace(
                phase=Phase.TERMINATED, terminated=fact, armed=None
            )
        case Decided():
            return state._replace(decided=_first(state, state.decided, fact), armed=None)
        case Judged() | Overridden() | Moderated() | Recalled() | Remembered():
            return _with_finding(state, fact)
        case Closed():
            return _without_open_step(state)._replace(phase=Phase.CLOSED, closed=fact, armed=None)
        case _:
            assert_never(fact)


def _with_finding(
    state: DebateState, fact: Judged | Overridden | Moderated | Recalled | Remembered
) -> DebateState:
    match fact:
        case Judged():
            state = state._replace(judged=_first(state, state.judged, fact))
        case Overridden():
            state = state._replace(overridden=_first(state, state.overridden, fact))
        case Moderated():
            state = state._replace(moderated=_first(state, state.moderated, fact))
        case Recalled():
            state = state._replace(recalled=_first(state, state.recalled, fact))
        case Remembered():
            state = state._replace(remembered=_first(state, state.remembered, fact))
        case _:
            assert_never(fact)
    return state._replace(armed=None)


def _first(state: DebateState, already: Finding | None, fact: Finding) -> Finding:
    if already is not None or state.open_step is not None:
        raise ProtocolError(f"{fact.type!r} is illegal twice or while a step is open")
    return fact


def _with_step(state: DebateState, ask: Asked) -> DebateState:
    if state.open_step is not None:
        raise ProtocolError(f"step {ask.step!r} opens while {state.open_step.name!r} is open")
    if state.step(ask.step) is not None:
        raise ProtocolError(f"step {ask.step!r} opens twice")
    return state._replace(steps=(*state.steps, Step(ask, state.facts)), armed=ask.step)


def _with_abstention(state: DebateState, fact: Abstained) -> DebateState:
    """An abstention and a turn can cross on their way; whichever the log holds first counts."""
    step = state.step(fact.step)
    if step is None or fact.persona not in step.ask.personas:
        raise ProtocolError(f"{fact.persona!r} abstains in {fact.step!r}, but was not asked")
    return _with_heard(state, fact)


def _with_heard(state: DebateState, said: TurnTaken | Abstained) -> DebateState:
    step = state.open_step
    if step is None or step.name != said.step or not step.awaits(said.persona):
        return state
    return _with_last_step(state, step._replace(heard=(*step.heard, Heard(state.facts, said))))


def _without_open_step(state: DebateState) -> DebateState:
    step = state.open_step
    return state if step is None else _with_last_step(state, step._replace(abandoned=True))


def _with_last_step(state: DebateState, step: Step) -> DebateState:
    return state._replace(steps=(*state.steps[:-1], step))
