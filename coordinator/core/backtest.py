"""
What a recorded debate would have come to with another panel, as far as the recording tells.

The recorded facts are folded again, but every control fact is decided anew, by the functions that
the live coordinator uses. Turns, deadlines and cancellations are taken as they were. For as long as
the same is asked of the same personas the recording is followed fact by fact, so that an unchanged
panel arrives at the recorded decisions to the byte. Where the new course leaves the recorded one it
goes on alone, with the recorded answers to questions that are still asked word for word.

Nothing is guessed: a question that was never put has no answer, and what depends on it is unknown.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    CancelRequested,
    ControlFact,
    DeadlineFired,
    Deleted,
    Fact,
    Finding,
    Submitted,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.audit import carried_alike, with_what_was_found
from parley.coordinator.core.due import due_in
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.reducer import apply, pass_over, walk
from parley.coordinator.core.state import DebateState, Phase, Step

Change = Callable[[PanelBase], PanelBase]


class Unknown(StrEnum):
    """
    What the recording does not determine. An unknown ending leaves the outcome unknown too.

    The answer to a follow-up alters no verdict, nor do the manager's words, so that without them
    the outcome is known.
    """

    ENDING = "ending"
    OUTCOME = "outcome"
    FOLLOW_UP = "follow_up"


@dataclass(frozen=True, slots=True)
class Redecided:
    """`state` is as far as the new course is known; `missing` names the answer it lacks."""

    recorded: DebateState
    state: DebateState
    unknown: Unknown | None = None
    missing: str = ""

    @property
    def ending_is_known(self) -> bool:
        return self.unknown is not Unknown.ENDING

    @property
    def outcome_is_known(self) -> bool:
        return self.unknown in (None, Unknown.FOLLOW_UP)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded debate, folded once however often it is decided anew; `state` is how it ended."""

    facts: tuple[Fact, ...]
    # The ordinals, in `facts`, of control facts that were illegal where they stand.
    illegal: frozenset[int]
    state: DebateState


def record(facts: Iterable[Fact]) -> Recording:
    steps = list(walk(facts))
    illegal = frozenset(place for place, one in enumerate(steps) if one.refused is not None)
    state = steps[-1].after if steps else DebateState()
    return Recording(tuple(one.fact for one in steps), illegal, state)


def redecide(recording: Recording, change: Change) -> Redecided:
    """Raises whatever `change` raises; a log without a submission leads nowhere and stays unknown."""
    course = _Course()
    for place, fact in enumerate(recording.facts):
        if place in recording.illegal:
            course.pass_over()
        elif not course.follows(fact, change):
            break
    return _alone(course.state, recording.state)


class _Course:
    """The new course while it follows the recorded one."""

    def __init__(self) -> None:
        # The n-th state is what the first n facts of the debate amount to.
        self._states = [DebateState()]
        self._parted_at: DebateState | None = None

    @property
    def state(self) -> DebateState:
        """Where it left the recorded course, or its last state."""
        return self._states[-1] if self._parted_at is None else self._parted_at

    def pass_over(self) -> None:
        self._reach(pass_over(self._states[-1]))

    def follows(self, fact: Fact, change: Change) -> bool:
        """Take the recorded fact, or what is decided in its place; False where the ways part."""
        match fact:
            case Submitted():
                fact = _resubmitted(fact, change)
            case TurnTaken() | DeadlineFired() | CancelRequested() | Deleted():
                pass
            case Abstained(reason=AbstainReason.UNDELIVERABLE):
                # That a persona could not be reached is no decision of the rules either.
                pass
            case _:
                seen = self._states[min(fact.decided_at, len(self._states) - 1)]
                due = _still_due(_decided(seen), fact)
                if due is None:
                    self._parted_at = seen
                    return False
                fact = due
        self._reach(apply(self._states[-1], fact))
        return True

    def _reach(self, state: DebateState) -> None:
        if state.facts == len(self._states):
            self._states.append(state)


def _decided(state: DebateState) -> ControlFact | None:
    due = due_in(state)
    return due.fact if due is not None else None


def _resubmitted(fact: Submitted, change: Change) -> Submitted:
    return fact.model_copy(update={"panel": change(fact.panel)})


def _still_due(due: ControlFact | None, recorded: ControlFact) -> ControlFact | None:
    """The new decision if it leads the same way as the recorded one, else None."""
    if type(due) is not type(recorded):
        return None
    match due, recorded:
        case Asked(), Asked():
            asked = carried_alike(due, recorded)
            return asked if _question(asked) == _question(recorded) else None
        case Terminated(), Terminated():
            return due if due.reason == recorded.reason else None
        case Abstained(), Abstained():
            same = (due.step, due.persona) == (recorded.step, recorded.persona)
            return due if same else None
        case Finding(), Finding() if _sought(due) != _sought(recorded):
            return None
        case _:
            assert due is not None
            return with_what_was_found(due, recorded)


def _question(ask: Asked) -> tuple[object, ...]:
    return ask.step, ask.personas, ask.request, ask.input


def _sought(finding: Finding) -> tuple[object, ...]:
    return tuple(getattr(finding, name) for name in finding.sought)


def _alone(state: DebateState, recorded: DebateState) -> Redecided:
    """From here on to the end, or to the first question without an answer."""
    unknown, missing = None, ""
    while state.phase is not Phase.CLOSED:
        due = _decided(state)
        facts = None if due is None else _with_answers(due, recorded)
        if facts is None and isinstance(due, Asked) and due.step in protocol_of(state).epilogue:
            unknown, missing = Unknown.FOLLOW_UP, missing or _was_never(due)
            facts = iter((due, DeadlineFired(step=due.step)))
        if facts is None:
            known = state.terminated is not None
            lacked = Unknown.OUTCOME if known else Unknown.ENDING
            return Redecided(recorded, state, lacked, _was_never(due))
        for fact in facts:
            state = apply(state, fact)
    return Redecided(recorded, state, unknown, missing)


def _with_answers(due: ControlFact, recorded: DebateState) -> Iterator[Fact] | None:
    """The decision and what was answered to it; None where nobody knows what would have been."""
    match due:
        case Asked():
            step = recorded.step(due.step)
            if step is None or not _was_answered(step):
                return None
            put = next((one for one in step.asked if one.personas == due.personas), step.ask)
            asked = carried_alike(due, put)
            return _replayed(asked, step) if _question(asked) == _question(put) else None
        case Finding() if due.sought:
            past = recorded.finding(type(due))
            if past is None or _sought(past) != _sought(due):
                return None
            return iter((with_what_was_found(due, past),))
        case _:
            return iter((due,))


def _was_answered(step: Step) -> bool:
    return step.is_over and not step.abandoned


def _replayed(asked: Asked, step: Step) -> Iterator[Fact]:
    """The deadline passed before anybody was written down for missing it."""
    yield asked
    for name in step.overdue:
        yield DeadlineFired(step=step.name, persona=name)
    fired = not step.fired
    answers = [one for one in step.heard if one.said.persona in asked.personas]
    for number, heard in enumerate(answers, start=1):
        if not fired and (isinstance(heard.said, Abstained) or number == len(answers)):
            yield DeadlineFired(step=step.name)
            fired = True
        yield heard.said


def _was_never(due: ControlFact | None) -> str:
    match due:
        case Asked():
            return f"{', '.join(due.personas)} in {due.step}: never asked this"
        case Finding():
            return f"{due.type}: never looked for this"
        case _:
            return "the recording ends while an answer is awaited"
