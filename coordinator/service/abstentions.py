"""Abstaining on behalf of a persona that its queue has given up on."""

from collections.abc import Mapping

import anyio
import structlog

from parley.bus.contracts.facts import Abstained, AbstainReason, Asked
from parley.bus.errors import Conflict, DecodeError, NotFound, Unavailable
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.service.tracked import TrackedDebate

# Until the control fact that came first has arrived here, too.
RETRY_S = 0.05

log = structlog.get_logger()


async def abstain_for(
    journal: Journal, debates: Mapping[DebateRef, TrackedDebate], queue: str, sequence: int
) -> tuple[DebateRef, Abstained] | None:
    """
    What was written; None if there was nothing to write, or it is not for us to do so. Where it
    fails, the deadline does the same later.
    """
    try:
        logged = journal.decode(await journal.bus.record(sequence))
    except (NotFound, DecodeError, Unavailable) as error:
        log.warning("undeliverable", queue=queue, sequence=sequence, reason=str(error))
        return None
    ref, ask = logged.ref, logged.fact
    if not queue.startswith(f"{ref.panel}-"):
        return None
    tracked, persona = debates.get(ref), queue.removeprefix(f"{ref.panel}-")
    if tracked is None or not isinstance(ask, Asked):
        return None
    log.warning("undeliverable", debate=str(ref), step=ask.step, persona=persona)
    while (fact := _abstention(tracked, ask, persona)) is not None:
        try:
            await journal.control(ref, journal.draft(ref, fact), after=tracked.control)
        except (Conflict, Unavailable):
            await anyio.sleep(RETRY_S)
        else:
            return ref, fact
    return None


def _abstention(tracked: TrackedDebate, ask: Asked, persona: str) -> Abstained | None:
    """None unless the debate still waits for the persona's answer to this very ask."""
    state = tracked.state
    if state is None or state.open_step is None or ask not in state.open_step.asked:
        return None
    if persona not in state.open_step.waiting_for:
        return None
    return Abstained(
        decided_at=state.facts,
        step=ask.step,
        persona=persona,
        reason=AbstainReason.UNDELIVERABLE,
    )
