"""
Which deadlines of a debate run, and whom they have passed for.

A step has one deadline for its agents; each person has one of their own, which may be days.
"""

from collections.abc import Iterator
from typing import NamedTuple

from parley.coordinator.core.state import DebateState


class Deadline(NamedTuple):
    """`after_s` counts from the ask of `step`; without `persona` it is that of the agents."""

    step: str
    persona: str | None
    after_s: float


def running_in(state: DebateState) -> Iterator[Deadline]:
    step = state.open_step
    if step is not None:
        people = step.ask.people
        waiting = step.waiting_for
        if not step.fired and any(one not in people for one in waiting):
            yield Deadline(step.name, None, step.ask.deadline_s)
        for name in waiting:
            if name in people and name not in step.overdue:
                yield Deadline(step.name, name, people[name].deadline_s)
    for one in state.outstanding:
        if not one.fired:
            yield Deadline(one.step, one.persona, one.deadline_s)


def overdue_in(state: DebateState) -> tuple[str, str] | None:
    """The step and the persona that the debate has to go on without, if any."""
    step = state.open_step
    if step is not None and (step.fired or step.overdue):
        people = step.ask.people
        for name in step.waiting_for:
            if name in step.overdue or (step.fired and name not in people):
                return step.name, name
    for one in state.outstanding:
        if one.fired:
            return one.step, one.persona
    return None
