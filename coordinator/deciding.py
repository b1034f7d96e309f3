"""What a coordinator writes, come what may: also where a panel's rules fail, or say too much."""

from collections.abc import Mapping

import structlog

from parley.bus.journal import Draft, Journal, fits
from parley.bus.subjects import DebateRef
from parley.coordinator.policy import Flow, Impasse, decide, give_up
from parley.coordinator.state import DebateState

log = structlog.get_logger()


def draft_decision(
    journal: Journal, ref: DebateRef, state: DebateState, flows: Mapping[str, Flow]
) -> Draft | None:
    """None while the debate waits for somebody. The audit arrives at the same."""
    try:
        fact = decide(state, flows)
    except Exception:
        log.exception("undecidable", debate=str(ref))
        fact = give_up(state, Impasse.UNDECIDABLE)
    if fact is None:
        return None
    draft = journal.draft(ref, fact)
    if fits(fact, len(draft.data)):
        return draft
    log.error("too_large", debate=str(ref), fact=fact.type, bytes=len(draft.data))
    return journal.draft(ref, give_up(state, Impasse.TOO_LARGE))
