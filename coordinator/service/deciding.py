"""What a coordinator writes, come what may: also where a panel's rules fail, or say too much."""

from collections.abc import Mapping

import structlog

from parley.bus.contracts.facts import ControlFact
from parley.bus.journal import Draft, Journal, fits
from parley.bus.subjects import DebateRef
from parley.coordinator.core.policy import Flow, Impasse, decide, give_up
from parley.coordinator.core.state import DebateState

log = structlog.get_logger()


def decision(ref: DebateRef, state: DebateState, flows: Mapping[str, Flow]) -> ControlFact | None:
    """None while the debate waits for somebody. The audit arrives at the same."""
    try:
        return decide(state, flows)
    except Exception:
        log.exception("undecidable", debate=str(ref))
        return give_up(state, Impasse.UNDECIDABLE)


def drafted(journal: Journal, ref: DebateRef, state: DebateState, fact: ControlFact) -> Draft:
    """A decision in this state, as it can be written."""
    try:
        draft = journal.draft(ref, fact)
    except Exception:
        log.exception("unwritable", debate=str(ref), fact=fact.type)
        return journal.draft(ref, give_up(state, Impasse.UNDECIDABLE))
    if fits(fact, len(draft.data)):
        return draft
    log.error("too_large", debate=str(ref), fact=fact.type, bytes=len(draft.data))
    return journal.draft(ref, give_up(state, Impasse.TOO_LARGE))
