"""What every debate can account for, whatever its protocol: declarations, costs, missed turns."""

from collections.abc import Iterator

from parley.bus.contracts.base import Contract, Usage, sum_of
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import (
    Abstained,
    Failure,
    FailureReason,
    OperationalReason,
    Status,
    TurnTaken,
)
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.state import DebateState


class TurnError(Contract):
    """A turn that was missed or failed, and why."""

    step: str
    agent: str
    reason: str
    detail: str = ""


def declarations_of(state: DebateState) -> tuple[TerminationDeclaration, ...]:
    """In order; those that say `continue` ride in the asks they led to."""
    riding = [step.ask.declaration for step in state.steps if step.ask.declaration is not None]
    return (*riding, state.terminated.declaration) if state.terminated else tuple(riding)


def ended_by_rule(state: DebateState) -> bool:
    """Only then are the turns that were left saved; whatever is broken off just goes without them."""
    if state.terminated is None or state.terminated.reason in list(OperationalReason):
        return False
    return state.closed is None or state.closed.status is Status.COMPLETED


def usage_of(state: DebateState) -> Usage:
    return sum_of(turn.usage for turn in _turns(state))


def usage_by_persona(state: DebateState) -> dict[str, Usage]:
    """Of those for whom a model was asked, in the order of the roster, the manager last."""
    used: dict[str, list[Usage]] = {}
    for turn in _turns(state):
        used.setdefault(turn.persona, []).append(turn.usage)
    sums = {name: sum_of(used[name]) for name in state.running_panel.everybody if name in used}
    return {name: usage for name, usage in sums.items() if usage.model_calls}


def brains_of(state: DebateState) -> dict[str, str]:
    """Who thought for each persona, as its turns say; in roster order, the manager last."""
    thought = {turn.persona: turn.brain for turn in _turns(state) if turn.brain}
    return {name: thought[name] for name in state.running_panel.everybody if name in thought}


def _turns(state: DebateState) -> Iterator[TurnTaken]:
    for step in state.steps:
        for heard in step.contributions:
            if isinstance(heard.said, TurnTaken):
                yield heard.said


def errors_of(state: DebateState) -> tuple[TurnError, ...]:
    return tuple(_errors(state))


def _errors(state: DebateState) -> Iterator[TurnError]:
    refuse = protocol_of(state).refusal
    for step in state.steps:
        for heard in step.contributions:
            said = heard.said
            if isinstance(said, Abstained):
                yield TurnError(step=said.step, agent=said.persona, reason=said.reason)
            elif isinstance(said.content, Failure):
                yield TurnError(
                    step=said.step,
                    agent=said.persona,
                    reason=said.content.reason,
                    detail=said.content.detail,
                )
            elif (refusal := refuse(state, said)) is not None:
                yield TurnError(
                    step=said.step,
                    agent=said.persona,
                    reason=FailureReason.UNUSABLE_ANSWER,
                    detail=refusal,
                )
