"""
What is due after the facts so far, in the form in which it can be written.

The live coordinator writes it; the audit and a backtest expect it. A decision that the rules cannot
arrive at, or that is larger than the log takes, is replaced by a closing: no debate stays open.
"""

from collections.abc import Mapping
from typing import NamedTuple

from parley.bus.codec import encode
from parley.bus.contracts.facts import ControlFact
from parley.bus.journal import fits
from parley.coordinator.core.policy import Impasse, decide, give_up
from parley.coordinator.core.protocol import PROTOCOLS, Protocol
from parley.coordinator.core.state import DebateState


class Due(NamedTuple):
    """`impasse` says why the debate is closed in place of what was decided, `error` what was raised."""

    fact: ControlFact
    data: bytes
    impasse: Impasse | None = None
    error: Exception | None = None


def due_in(state: DebateState, protocols: Mapping[str, Protocol] = PROTOCOLS) -> Due | None:
    """None while the debate waits for somebody, or is over."""
    try:
        fact = decide(state, protocols)
    except Exception as error:  # noqa: BLE001 - whatever a panel's rules raise
        return closing(state, Impasse.UNDECIDABLE, error)
    return None if fact is None else writable(state, fact)


def writable(state: DebateState, fact: ControlFact) -> Due:
    """A decision in this state, or the closing in its place."""
    try:
        data = encode(fact)
        taken = fits(fact, len(data))
    except Exception as error:  # noqa: BLE001 - as above: values that JSON cannot hold
        return closing(state, Impasse.UNDECIDABLE, error)
    return Due(fact, data) if taken else closing(state, Impasse.TOO_LARGE)


def closing(state: DebateState, why: Impasse, error: Exception | None = None) -> Due:
    fact = give_up(state, why)
    return Due(fact, encode(fact), why, error)
