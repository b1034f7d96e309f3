"""What every debate can account for, whatever its protocol: declarations, costs, missed turns."""

from collections.abc import Iterator

from parley.bus.contracts.base import Contract, Usage
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Abstained, Failure, TurnTaken
from parley.coordinator.state import DebateState


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


def usage_of(state: DebateState) -> Usage:
    used = [
        heard.said.usage
        for step in state.steps
        for heard in step.heard
        if isinstance(heard.said, TurnTaken)
    ]
    return Usage(
        model_calls=sum(one.model_calls for one in used),
        input_tokens=sum(one.input_tokens for one in used),
        output_tokens=sum(one.output_tokens for one in used),
        cost=sum(one.cost for one in used),
    )


def errors_of(state: DebateState) -> tuple[TurnError, ...]:
    return tuple(_errors(state))


def _errors(state: DebateState) -> Iterator[TurnError]:
    for step in state.steps:
        for heard in step.heard:
            said = heard.said
            if isinstance(said, Abstained):
                yield TurnError(step=step.name, agent=said.persona, reason=said.reason)
            elif isinstance(said.content, Failure):
                yield TurnError(
                    step=step.name,
                    agent=said.persona,
                    reason=said.content.reason,
                    detail=said.content.detail,
                )
