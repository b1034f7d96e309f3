"""What a debate has used so far, and whether that is all it may use. Computed from the log alone."""

from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.facts import TurnTaken
from parley.bus.contracts.panel import VerdictParams
from parley.coordinator.state import DebateState, Step
from parley.coordinator.tally import usage_of
from parley.coordinator.tolerance import at_least


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
        tokens=usage.input_tokens + usage.output_tokens,
        cost=usage.cost,
        seconds=sum(_waited(step) for step in state.steps),
    )


def limits_of(params: VerdictParams) -> dict[str, JsonValue]:
    """Those that are set."""
    return {name: limit for name, limit in _limits(params)._asdict().items() if limit is not None}


def exhausted(state: DebateState, params: VerdictParams) -> bool:
    limits = _limits(params)
    if limits == NO_LIMITS:
        return False
    return any(
        limit is not None and at_least(used, limit)
        for used, limit in zip(spent_in(state), limits, strict=True)
    )


class _Limits(NamedTuple):
    budget_calls: int | None
    budget_tokens: int | None
    budget_cost: float | None
    budget_seconds: float | None


NO_LIMITS = _Limits(None, None, None, None)


def _limits(params: VerdictParams) -> _Limits:
    return _Limits(
        params.budget_calls, params.budget_tokens, params.budget_cost, params.budget_seconds
    )


def _waited(step: Step) -> float:
    """A step that ran into its deadline took all of it."""
    if step.fired:
        return step.ask.deadline_s
    turns = [one.said.seconds for one in step.heard if isinstance(one.said, TurnTaken)]
    return max(turns, default=0.0)
