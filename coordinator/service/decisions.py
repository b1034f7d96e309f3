"""
Decisions on their way into the log: made as soon as one is due, and offered to it.

Nobody waits for the server's word. The log is followed anyway, and shows what became of an offer:
it stands there, or another control fact in its place. What the log has not shown after a while, or
when the connection breaks, is written once more, and this time its writer waits for an answer.
"""

from collections.abc import Mapping

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.facts import Asked, Finding
from parley.bus.errors import BadInput, BusError, Conflict, Unavailable
from parley.bus.journal import Draft, Journal
from parley.bus.subjects import PURSE, DebateRef
from parley.coordinator.core.due import Due, closing, due_in, writable
from parley.coordinator.core.policy import Impasse
from parley.coordinator.core.protocol import Protocol
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.effect import Effects
from parley.coordinator.service.batch_claims import note_claims
from parley.coordinator.service.tracked import Sent, TrackedDebate

# How long the log may show nothing of an offer.
DOUBT_S = 3.0

log = structlog.get_logger()


class Decisions:
    def __init__(
        self, journal: Journal, protocols: Mapping[str, Protocol], writes_at_once: int
    ) -> None:
        self._journal = journal
        self._protocols = protocols
        self._effects = Effects(journal.bus)
        self._at_once = anyio.CapacityLimiter(writes_at_once)
        self._tasks: TaskGroup
        self._losses = journal.bus.link.losses
        self._closed = False

    def start(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def close(self) -> None:
        """None is made any more."""
        self._closed = True

    def make_if_due(self, ref: DebateRef, tracked: TrackedDebate, now: float) -> bool:
        if tracked.state is None or tracked.is_writing or self._closed:
            return False
        due = due_in(tracked.state, self._protocols)
        if due is None:
            return False
        after = tracked.start_writing()
        if isinstance(due.fact, Finding) and due.fact.observed:
            self._tasks.start_soon(self._look_up, ref, tracked, tracked.state, due.fact, after)
            return True
        draft = self._draft(ref, due)
        if isinstance(due.fact, Asked) and due.fact.budget is not None and due.fact.budget.shared:
            self._tasks.start_soon(self._note_and_write, ref, tracked, due.fact, draft, after)
            return True
        sent = Sent(draft, after, now)
        tracked.wrote(sent)
        if not self._journal.offer(ref, draft, after=after):
            self._insist(ref, tracked, sent)
        return True

    def _draft(self, ref: DebateRef, due: Due) -> Draft:
        _report(ref, due)
        return self._journal.draft(ref, due.fact, due.data)

    def give_up(self, ref: DebateRef, tracked: TrackedDebate, state: DebateState) -> None:
        """Close a debate as failed whose state is the last one that could be arrived at."""
        if tracked.is_writing or self._closed:
            return
        after = tracked.start_writing()
        draft = self._draft(ref, closing(state, Impasse.UNDECIDABLE))
        self._insist(ref, tracked, Sent(draft, after))

    def look_after(self, debates: Mapping[DebateRef, TrackedDebate], now: float) -> None:
        """Insist on what was offered and is in doubt."""
        losses = self._journal.bus.link.losses
        broken, self._losses = losses != self._losses, losses
        for ref, tracked in debates.items():
            sent = tracked.sent
            if sent is None or sent.offered is None or sent.after != tracked.control:
                continue
            if broken or now > sent.offered + DOUBT_S:
                self._insist(ref, tracked, sent)

    def _insist(self, ref: DebateRef, tracked: TrackedDebate, sent: Sent) -> None:
        tracked.wrote(sent._replace(offered=None))
        self._tasks.start_soon(self._write, ref, tracked, sent.draft, sent.after)

    async def _look_up(
        self,
        ref: DebateRef,
        tracked: TrackedDebate,
        state: DebateState,
        fact: Finding,
        after: int,
    ) -> None:
        try:
            async with self._at_once:
                found = await self._effects.carry_out(ref, state, fact)
            draft = self._draft(ref, writable(state, found))
        except Exception:
            log.exception("effect_failed", debate=str(ref), finding=fact.type)
            draft = self._draft(ref, closing(state, Impasse.UNDECIDABLE))
        if tracked.control == after:
            tracked.wrote(Sent(draft, after))
            await self._write(ref, tracked, draft, after)

    async def _note_and_write(
        self, ref: DebateRef, tracked: TrackedDebate, ask: Asked, draft: Draft, after: int
    ) -> None:
        """A budget of many debates has no log of its own: what may be claimed of it is noted first."""
        try:
            async with self._at_once:
                await note_claims(self._journal.bus.register(PURSE), ref, ask)
        except BusError as error:
            log.warning("claims_not_noted", debate=str(ref), reason=str(error))
        except Exception:
            log.exception("claims_not_noted", debate=str(ref))
        if tracked.control == after:
            tracked.wrote(Sent(draft, after))
            await self._write(ref, tracked, draft, after)

    async def _write(
        self, ref: DebateRef, tracked: TrackedDebate, draft: Draft, after: int
    ) -> None:
        told = ""
        while tracked.control == after:
            try:
                async with self._at_once:
                    await self._journal.control(ref, draft, after=after)
            except Unavailable as error:
                if str(error) != told:
                    log.warning("control_write_undecided", debate=str(ref), reason=str(error))
                told = str(error)
                continue
            except Conflict:
                log.debug("decided_already", debate=str(ref))
            except BadInput as error:
                log.error("control_write_refused", debate=str(ref), reason=str(error))  # noqa: TRY400
            except Exception:
                log.exception("control_write_failed", debate=str(ref))
            tracked.answered(after)
            return


def _report(ref: DebateRef, due: Due) -> None:
    """A debate that is closed in place of a decision is somebody's to look into."""
    if due.impasse is None:
        return
    log.error(due.impasse.value, debate=str(ref), exc_info=due.error)
