"""
Deadlines that have passed, on their way into the log: a step that is over is over for everybody.

Whoever acts on a debate writes them; where it does not, somebody else does so a while later.
"""

import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.facts import DeadlineFired
from parley.bus.errors import Conflict, Full, Unavailable
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState
from parley.coordinator.service.tracked import TrackedDebate

# How long a passed deadline may be missing in the log before it is written again.
OVERDUE_S = 5.0

log = structlog.get_logger()


def has_passed(tracked: TrackedDebate, now: float) -> bool:
    return tracked.deadline is not None and now > tracked.deadline


def is_neglected(tracked: TrackedDebate, now: float) -> bool:
    """Whoever should have written that the deadline has passed did not."""
    return has_passed(tracked, now - OVERDUE_S)


class Deadlines:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._tasks: TaskGroup
        self._writing: set[tuple[DebateRef, str]] = set()

    def start(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def fire(self, ref: DebateRef, tracked: TrackedDebate, state: DebateState, now: float) -> None:
        step = state.open_step
        if step is None or state.armed is None:
            tracked.disarm()
            return
        tracked.fire_again_at(now + OVERDUE_S)
        if (ref, step.name) not in self._writing:
            self._writing.add((ref, step.name))
            self._tasks.start_soon(self._write, ref, DeadlineFired(step=step.name))

    async def _write(self, ref: DebateRef, fact: DeadlineFired) -> None:
        told = False
        while True:
            try:
                await self._journal.fire(ref, fact)
            except Conflict:
                log.debug("already_fired", debate=str(ref), step=fact.step)
            except Unavailable as error:
                if not told:
                    log.warning(
                        "deadline_undecided", debate=str(ref), step=fact.step, reason=str(error)
                    )
                told = True
                if isinstance(error, Full):
                    continue
            except Exception:
                log.exception("deadline_failed", debate=str(ref), step=fact.step)
            self._writing.discard((ref, fact.step))
            return
