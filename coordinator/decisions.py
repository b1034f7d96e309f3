"""Decisions on their way into the log: made as soon as one is due, written by a crew of tasks."""

from collections.abc import Mapping

import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.facts import Recalled, Remembered
from parley.bus.errors import BadInput, Conflict, Unavailable
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.bus.tally import Tally
from parley.coordinator.crew import Crew
from parley.coordinator.deciding import decision, drafted
from parley.coordinator.figures import count
from parley.coordinator.memory import memory_of
from parley.coordinator.policy import Flow
from parley.coordinator.watched import Watched, Write

log = structlog.get_logger()


class Decisions:
    def __init__(
        self, journal: Journal, flows: Mapping[str, Flow], tally: Tally, writes_at_once: int
    ) -> None:
        self._journal = journal
        self._flows = flows
        self._tally = tally
        self._memory = memory_of(journal.bus)
        self._writers = Crew(writes_at_once, self._write)

    def start(self, tasks: TaskGroup) -> None:
        self._writers.start(tasks)

    async def written(self) -> None:
        """Until none is under way."""
        await self._writers.finished()

    def make_if_due(self, ref: DebateRef, watched: Watched) -> bool:
        if watched.state is None or watched.acting_after == watched.control:
            return False
        fact = decision(ref, watched.state, self._flows)
        if fact is None:
            return False
        watched.acting_after = watched.control
        self._writers.hand(Write(ref, watched, watched.state, fact, watched.control))
        return True

    async def _write(self, write: Write) -> None:
        fact = write.fact
        if isinstance(fact, Recalled | Remembered):
            fact = await self._memory.look_up(write.ref, write.state, fact)
        draft = drafted(self._journal, write.ref, write.state, fact)
        write.watched.sent = draft
        while write.watched.control == write.after:
            try:
                await self._journal.control(write.ref, draft, after=write.after)
            except Unavailable as error:
                log.warning("control_write_undecided", debate=str(write.ref), reason=str(error))
                continue
            except Conflict:
                log.debug("somebody_else_decided", debate=str(write.ref))
            except BadInput as error:
                log.error("control_write_refused", debate=str(write.ref), reason=str(error))  # noqa: TRY400
            else:
                count(self._tally, write.ref.panel, draft.fact)
            write.watched.answered_after = write.after
            return
