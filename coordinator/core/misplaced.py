"""
Facts that have no place in their debate, though they are well-formed and change nothing.

Late ones have: an answer may cross with an abstention, a deadline or the end.
"""

from parley.bus.contracts.facts import (
    CancelRequested,
    DeadlineFired,
    Deleted,
    Fact,
    Submitted,
    TurnTaken,
)
from parley.coordinator.core.state import DebateState, Phase

NOT_SUBMITTED = "no submission of its debate stands before it in the log"
NOT_ASKED = "its step was never asked"

# What the reducer passes over in silence; a control fact counts, or it is illegal.
Heard = Submitted | CancelRequested | Deleted | TurnTaken | DeadlineFired


def stray_reason(before: DebateState, after: DebateState, fact: Fact) -> str | None:
    """Why a fact that changed nothing has no place in its debate; None if it may stand there."""
    # A turn that counts changes its step: it need not be looked at again.
    if after.steps is not before.steps or not isinstance(fact, Heard):
        return None
    return misplaced(before, fact)


def misplaced(before: DebateState, fact: Fact) -> str | None:
    """Why a fact that the reducer passed over could not have been expected; None if it could."""
    match fact:
        case Submitted():
            return None if before.phase is Phase.UNKNOWN else "its debate was submitted before"
        case _ if before.phase is Phase.UNKNOWN:
            return NOT_SUBMITTED
        case TurnTaken():
            return unasked(before, fact)
        case Deleted():
            return "tombstones stand in the archive"
        case DeadlineFired():
            return _unless_asked(before, fact.step)
        case _:
            return None


def unasked(before: DebateState, turn: TurnTaken) -> str | None:
    """Why nobody waits for the turn or ever did; None if it is merely late."""
    step = before.step(turn.step)
    if step is None:
        return _unless_asked(before, turn.step)
    if turn.persona not in step.ask.personas:
        return f"{turn.persona!r} was not asked in step {turn.step!r}"
    spoken = any(
        said.persona == turn.persona and isinstance(said, TurnTaken) for _, said in step.heard
    )
    if spoken or (turn.step, turn.persona) in before.late:
        return f"{turn.persona!r} has spoken in step {turn.step!r} before"
    return None


def _unless_asked(before: DebateState, step: str) -> str | None:
    return f"step {step!r} was never asked" if before.step(step) is None else None
