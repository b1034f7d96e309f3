"""
What a debate has used so far, and whether that is all it may use. Computed from the log alone.

What a persona claims counts up to what its asks can have cost. A debate is also out of budget when
somebody was refused a call: by its own budget, on the way, where the log allows for that, or by one
that it shares with others, which only the turn that was refused can tell.
"""

from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.base import NOTHING_USED, Usage, sum_of
from parley.bus.contracts.budget import ANYTHING, Allowance, Budget, Most
from parley.bus.contracts.facts import Asked, ControlFact, Failure, FailureReason, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.state import DebateState, Heard, Step
from parley.coordinator.core.tolerance import at_least


class Spent(NamedTuple):
    """In the order and the units of the budgets."""

    calls: int
    tokens: int
    cost: float
    seconds: float


def spent_in(state: DebateState) -> Spent:
    """As it is counted."""
    usage = sum_of(_counted(state, _of_an_ask(state), NOTHING_USED).values())
    return Spent(
        calls=usage.model_calls,
        tokens=usage.tokens,
        cost=usage.cost,
        seconds=total_of(map(waited_s, state.steps)),
    )


def limits_of(panel: PanelBase) -> dict[str, JsonValue]:
    """Those that are set, by the names they have among the parameters."""
    own = panel.limits
    return {
        f"budget_{name}": limit
        for name, limit in zip(Spent._fields, _limits(own), strict=True)
        if limit is not None
    }


def exhausted(state: DebateState) -> bool:
    """Nothing more may be asked for."""
    return refused(state) or spent_all(state)


def spent_all(state: DebateState) -> bool:
    """The debate has used what it may use itself."""
    limits = state.running_panel.limits
    return limits is not None and _reaches(limits, spent_in(state))


def refused(state: DebateState) -> bool:
    """
    Whether somebody could not speak in the last step for want of budget.

    What the others said then is no ground for a rule to end the debate by. Where nothing limits the
    debate, or its own budget cannot be used up yet, whoever says so failed like any other.
    """
    panel = state.running_panel
    if not state.steps or not any(map(_is_refusal, state.steps[-1].heard)):
        return False
    return panel.batch is not None or _reaches(panel.limits, _spent_at_most(state))


def _is_refusal(heard: Heard) -> bool:
    content = heard.said.content if isinstance(heard.said, TurnTaken) else None
    return isinstance(content, Failure) and content.reason is FailureReason.BUDGET_EXHAUSTED


def with_allowance(fact: ControlFact, state: DebateState) -> ControlFact:
    """An ask says what its calls are charged to, and how much of a claim counts there."""
    panel = state.running_panel
    if not isinstance(fact, Asked) or (panel.limits is None and panel.batch is None):
        return fact
    allowance = Allowance(
        debate=panel.limits,
        batch=panel.batch,
        personas=panel.everybody,
        claims=_claims(state, fact, _of_an_ask(state)),
        shared=() if panel.batch is None else _claims(state, fact, panel.batch.budget.of_an_ask),
        waited_s=total_of(map(waited_s, state.steps)),
    )
    return fact.model_copy(update={"budget": allowance})


def _claims(state: DebateState, ask: Asked, most: Most) -> tuple[Usage, ...]:
    before, asked = _counted(state, most, most.all), _machines(ask)
    return tuple(
        sum_of((before.get(one, NOTHING_USED), most.all if one in asked else NOTHING_USED))
        for one in state.running_panel.everybody
    )


def _limits(budget: Budget | None) -> tuple[float | None, ...]:
    if budget is None:
        return (None,) * len(Spent._fields)
    return budget.calls, budget.tokens, budget.cost, budget.seconds


def _reaches(budget: Budget | None, spent: Spent) -> bool:
    return any(
        limit is not None and at_least(used, limit)
        for used, limit in zip(spent, _limits(budget), strict=True)
    )


def _spent_at_most(state: DebateState) -> Spent:
    """Whoever left no turn may have used all that an ask can, and have waited for its deadline."""
    *before, last = state.steps
    most = _of_an_ask(state)
    usage = sum_of(_counted(state, most, most.all).values())
    seconds = total_of(map(waited_s, before)) + last.ask.deadline_s
    return Spent(usage.model_calls, usage.tokens, usage.cost, seconds)


def _counted(state: DebateState, most: Most, unheard: Usage) -> dict[str, Usage]:
    """What turns claim, as far as asks can have cost it, by persona; `unheard` for asks without one."""
    claims = dict[str, list[Usage]]()
    for step in state.steps:
        said = [one.said for one in step.heard]
        turns = {turn.persona: most.of(turn.usage) for turn in said if isinstance(turn, TurnTaken)}
        for persona in _machines(step.ask):
            claims.setdefault(persona, []).append(turns.get(persona, unheard))
    return {name: sum_of(claimed) for name, claimed in claims.items()}


def _machines(ask: Asked) -> tuple[str, ...]:
    """Those who may ask a model: people use nothing of a budget."""
    return tuple(one for one in ask.personas if one not in ask.people)


def _of_an_ask(state: DebateState) -> Most:
    own = state.running_panel.limits
    return ANYTHING if own is None else own.of_an_ask


def waited_s(step: Step) -> float:
    """
    A step that ran into its deadline took all of it; no turn can have taken longer. The time that
    people take is not charged.
    """
    if step.fired:
        return step.ask.deadline_s
    turns = [one.said.seconds for one in step.heard if isinstance(one.said, TurnTaken)]
    return min(step.ask.deadline_s, max(turns, default=0.0))
