"""Where a persona is in a step: still thinking, heard, or missing; and shares as bars."""

from enum import StrEnum

from parley.bus.contracts.facts import Abstained, Failure, TurnTaken
from parley.coordinator.core.state import DebateState, Step

_BAR_WIDTH = 10


class Mark(StrEnum):
    THINKING = "thinking"
    # A person, who has days.
    AWAITED = "awaited"
    SPOKEN = "spoken"
    MISSED = "missed"
    FAILED = "failed"
    NOT_ASKED = "not asked"


def mark_of(step: Step | None, agent: str) -> Mark:
    heard = step.heard_from(agent) if step is not None else None
    if step is None or (heard is None and agent not in step.ask.personas):
        return Mark.NOT_ASKED
    match heard.said if heard is not None else None:
        case None:
            if step.abandoned:
                return Mark.MISSED
            return Mark.AWAITED if agent in step.ask.people else Mark.THINKING
        case Abstained():
            return Mark.MISSED
        case TurnTaken(content=Failure()):
            return Mark.FAILED
        case _:
            return Mark.SPOKEN


def latest_mark(state: DebateState, agent: str) -> Mark:
    """In the last step that asked this persona."""
    asked = [step for step in state.steps if agent in step.ask.personas]
    return mark_of(asked[-1] if asked else None, agent)


def bar(share: float) -> str:
    full = round(share * _BAR_WIDTH)
    return "█" * full + "░" * (_BAR_WIDTH - full)
