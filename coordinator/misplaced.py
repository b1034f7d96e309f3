"""
Facts that have no place in their debate, though they are well-formed and change nothing.

Late and repeated ones have: an answer may cross with an abstention, a deadline or the end.
"""

from parley.bus.contracts.facts import (
    CancelRequested,
    DeadlineFired,
    Fact,
    Submitted,
    TurnTaken,
)
from parley.coordinator.state import DebateState, Phase

NOT_SUBMITTED = "no submission of its debate stands before it in the log"

# What the reducer passes over in silence; a control fact counts, or it is illegal.
HEARD = frozenset({Submitted, CancelRequested, TurnTaken, DeadlineFired})


def misplaced(before: DebateState, fact: Fact) -> str | None:
    """Why a fact that the reducer passed over could not have been expected; None if it could."""
    match fact:
        case Submitted():
            return None if before.phase is Phase.UNKNOWN else "its debate was submitted before"
        case _ if before.phase is Phase.UNKNOWN:
            return NOT_SUBMITTED
        case TurnTaken():
            step = before.step(fact.step)
            if step is not None and fact.persona not in step.ask.personas:
                return f"{fact.persona!r} was not asked in step {fact.step!r}"
            return _unless_asked(before, fact.step)
        case DeadlineFired():
            return _unless_asked(before, fact.step)
        case _:
            return None


def _unless_asked(before: DebateState, step: str) -> str | None:
    return f"step {step!r} was never asked" if before.step(step) is None else None
