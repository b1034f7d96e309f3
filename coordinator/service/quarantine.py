"""
What has no place in the log: named in ours, counted, and kept as dead letters.

A turn of that kind is taken out of the log once its dead letter stands: whoever may speak could
otherwise fill the log for good. A turn that is merely late stays.
"""

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.errors import ParleyError
from parley.bus.metrics import QUARANTINED, Metrics
from parley.bus.port import DeadLetters, Record, Trace, trace_of
from parley.bus.subjects import Subjects

# Dead letters on their way at the same time.
BURIALS_AT_ONCE = 16
# Records remembered as put aside: who reads a debate once more need not do so again.
KNOWN = 10_000

log = structlog.get_logger()


class Quarantine:
    def __init__(self, bus: DeadLetters, subjects: Subjects, metrics: Metrics) -> None:
        self._bus = bus
        self._subjects = subjects
        self._metrics = metrics
        # By sequence: whether it leaves the log.
        self._known: dict[int, bool] = {}
        self._at_once = anyio.CapacityLimiter(BURIALS_AT_ONCE)
        self._tasks: TaskGroup

    def start(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def put(self, record: Record, reason: str, *, take_out: bool = False) -> None:
        """With `take_out` it leaves the log, whatever it is, and even if it was put aside before."""
        goes = take_out or self._subjects.is_turn(record.subject)
        known = self._known.get(record.sequence)
        if known is not None and known >= goes:
            return
        self._known[record.sequence] = goes
        if len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]
        log.warning("quarantined", subject=record.subject, sequence=record.sequence, reason=reason)
        self._metrics.add(QUARANTINED, "coordinator")
        # Not the record itself: thousands may wait here.
        trace = trace_of(record) if goes else None
        self._tasks.start_soon(self._bury, record.sequence, reason, trace)

    async def _bury(self, sequence: int, reason: str, trace: Trace | None) -> None:
        try:
            async with self._at_once:
                await self._bus.bury(sequence, reason, trace)
                if trace is not None:
                    await self._bus.take_out(sequence)
        except ParleyError as error:
            self._known.pop(sequence, None)
            log.warning("not_buried", sequence=sequence, reason=str(error))
        except Exception:
            log.exception("not_buried", sequence=sequence)
