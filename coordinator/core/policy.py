"""
What the coordinator writes next: a pure function of the state, one control fact at a time.

This file knows what all debates share: opening, waiting, deadlines, cancelling. What a panel's
protocol does between two steps is its own.

A decision that the rules cannot arrive at, or that is larger than the log takes, must not keep
the debate open for ever, nor stop the debates beside it: such a debate is closed as failed.
"""

from collections.abc import Mapping
from enum import StrEnum

from parley.bus.contracts.facts import Abstained, AbstainReason, Closed, ControlFact, Opened, Status
from parley.coordinator.core.budget import with_allowance
from parley.coordinator.core.deadlines import overdue_in
from parley.coordinator.core.nodes import with_declared_step
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.core.state import DebateState, Phase


def decide(state: DebateState, protocols: Mapping[str, Protocol] = PROTOCOLS) -> ControlFact | None:
    """The control fact that is due, or None while the debate waits for somebody (or is over)."""
    open_step = state.open_step
    asking = open_step is not None and bool(open_step.unasked)
    overdue = None if asking else overdue_in(state)
    waits = open_step is not None and not asking and overdue is None
    if state.phase in (Phase.UNKNOWN, Phase.CLOSED) or (
        waits and not _is_cut_short(state, protocols)
    ):
        return None
    if state.phase is Phase.SUBMITTED:
        return Opened(decided_at=state.facts, rules=protocols[state.running_panel.protocol].rules)
    protocol = protocols[state.running_panel.protocol]
    if state.cancelled_at is not None and state.terminated is None:
        return with_declared_step(protocol.cancel(state), state, protocol)
    if state.cancelled_at is not None and protocol.stop is not None:
        return with_declared_step(protocol.stop(state), state, protocol)
    if overdue is not None:
        step, persona = overdue
        return Abstained(
            decided_at=state.facts, step=step, persona=persona, reason=AbstainReason.DEADLINE
        )
    fact = with_allowance(protocol.advance(state), state)
    return with_declared_step(fact, state, protocol)


def _is_cut_short(state: DebateState, protocols: Mapping[str, Protocol]) -> bool:
    """Cancelled, and not so late that what is asked after the end is all that is left."""
    if state.cancelled_at is None:
        return False
    return state.terminated is None or protocols[state.running_panel.protocol].stop is not None


class Impasse(StrEnum):
    UNDECIDABLE = "undecidable"
    TOO_LARGE = "too_large"


def give_up(state: DebateState, why: Impasse) -> Closed:
    return Closed(decided_at=state.facts, status=Status.FAILED, reason=why.value)
