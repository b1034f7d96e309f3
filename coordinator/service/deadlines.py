"""
Deadlines that have passed, on their way into the log: a step that is over is over for everybody.

Whoever reads the debate's partition writes them.
"""

import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.facts import Asked, DeadlineFired
from parley.bus.errors import Conflict, Full, Unavailable
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.coordinator.core.deadlines import Deadline, running_in
from parley.coordinator.core.state import DebateState
from parley.coordinator.service.tracked import TrackedDebate

# How often deadlines are looked at: one passes at most this much too late.
TICK_S = 0.25
# How long a passed deadline may be missing in the log before it is written again.
OVERDUE_S = 5.0

log = structlog.get_logger()


def has_passed(tracked: TrackedDebate, now: float) -> bool:
    return tracked.deadline is not None and now > tracked.deadline


def next_deadline(tracked: TrackedDebate, state: DebateState) -> float | None:
    """By our own clock; None while nobody is waited for."""
    return min((_moment(tracked, one) for one in running_in(state)), default=None)


def _moment(tracked: TrackedDebate, one: Deadline) -> float:
    """
    Agents have their time from when we saw the ask, or took it over, so that whoever was stopped
    takes none of it away. People have theirs from when the log took it: no restart begins it anew.
    """
    since = tracked.asked[1]
    if one.persona is not None:
        since = tracked.people_asked.get(one.step, since)
    return since + one.after_s + TICK_S


class Deadlines:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._tasks: TaskGroup
        self._writing: set[tuple[DebateRef, DeadlineFired]] = set()
        self._began = 0.0

    def start(self, tasks: TaskGroup, now: float) -> None:
        self._tasks = tasks
        self._began = now

    def see_ask(
        self, tracked: TrackedDebate, state: DebateState, ask: Asked, record: Record, now: float
    ) -> None:
        """
        `state` is what the debate amounts to with it. An ask that is read back was made by the log's
        clock, but not before we lived: partitions that move from one to another put off no deadline.
        """
        asked = now - max(0.0, self._journal.bus.age_s(record.time_ns))
        tracked.see_ask(record.sequence, max(self._began, asked))
        if ask.people:
            tracked.see_people_asked(ask.step, asked)
        tracked.arm(next_deadline(tracked, state))

    def fire(self, ref: DebateRef, tracked: TrackedDebate, state: DebateState, now: float) -> None:
        """Write down those that have passed, and look at the next one when it is due."""
        moments = []
        for one in running_in(state):
            moment = _moment(tracked, one)
            if now > moment:
                moment = now + OVERDUE_S
                self._write_soon(ref, DeadlineFired(step=one.step, persona=one.persona))
            moments.append(moment)
        tracked.arm(min(moments, default=None))

    def _write_soon(self, ref: DebateRef, fact: DeadlineFired) -> None:
        if (ref, fact) not in self._writing:
            self._writing.add((ref, fact))
            self._tasks.start_soon(self._write, ref, fact)

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
            self._writing.discard((ref, fact))
            return
