"""
What a debate has used so far, and whether that is all it may use. Computed from the log alone.

A debate is also out of budget when somebody was refused a call: by its own budget, on the way, or
by one that it shares with others, which only the turn that was refused can tell.
"""

from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.budget import Allowance
from parley.bus.contracts.facts import Asked, ControlFact, Failure, FailureReason, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.accounting import usage_of
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.core.tolerance import at_least


class Spent(NamedTuple):
    """In the order and the units of the budgets."""

    calls: int
    tokens: int
    cost: float
    seconds: float


def spent_in(state: DebateState) -> Spent:
    usage = usage_of(state)
    return Spent(
        calls=usage.model_calls,
        tokens=usage.tokens,
        cost=usage.cost,
        seconds=sum(_waited(step) for step in state.steps),
    )


def limits_of(panel: PanelBase) -> dict[str, JsonValue]:
    """Those that are set, by the names they have among the parameters."""
    own = panel.limits
    limits = own.model_dump(exclude_none=True) if own is not None else {}
    return {f"budget_{name}": limit for name, limit in limits.items()}


def exhausted(state: DebateState) -> bool:
    """Nothing more may be asked for."""
    return refused(state) or spent_all(state)


def spent_all(state: DebateState) -> bool:
    """The debate has used what it may use itself."""
    own = state.running_panel.limits
    if own is None:
        return False
    limits = (own.calls, own.tokens, own.cost, own.seconds)
    return any(
        limit is not None and at_least(used, limit)
        for used, limit in zip(spent_in(state), limits, strict=True)
    )


def refused(state: DebateState) -> bool:
    """
    Whether somebody could not speak in the last step for want of budget.

    What the others said then is no ground for a rule to end the debate by. Where nothing limits the
    debate, whoever says so failed like any other.
    """
    panel = state.running_panel
    if panel.limits is None and panel.batch is None:
        return False
    for _, said in state.steps[-1].heard if state.steps else ():
        content = said.content if isinstance(said, TurnTaken) else None
        if isinstance(content, Failure) and content.reason is FailureReason.BUDGET_EXHAUSTED:
            return True
    return False


def with_allowance(fact: ControlFact, panel: PanelBase) -> ControlFact:
    """An ask says what its calls are charged to."""
    if not isinstance(fact, Asked):
        return fact
    own = panel.limits
    if own is None and panel.batch is None:
        return fact
    allowance = Allowance(debate=own, batch=panel.batch, personas=panel.everybody)
    return fact.model_copy(update={"budget": allowance})


def _waited(step: Step) -> float:
    """
    A step that ran into its deadline took all of it; no turn can have taken longer. The time that
    people take is not charged.
    """
    if step.fired:
        return step.ask.deadline_s
    turns = [one.said.seconds for one in step.heard if isinstance(one.said, TurnTaken)]
    return min(step.ask.deadline_s, max(turns, default=0.0))
