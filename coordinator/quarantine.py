"""Records that are no facts: named in the log, counted, and kept as dead letters."""

import structlog
from anyio.abc import TaskGroup

from parley.bus.errors import Unavailable, Unsuitable
from parley.bus.port import Bus, Record
from parley.bus.tally import QUARANTINED, Tally

log = structlog.get_logger()


class Quarantine:
    def __init__(self, bus: Bus, tally: Tally) -> None:
        self._bus = bus
        self._tally = tally

    def put(self, record: Record, reason: str, tasks: TaskGroup) -> None:
        log.warning("quarantined", subject=record.subject, sequence=record.sequence, reason=reason)
        self._tally.add(QUARANTINED, "coordinator")
        tasks.start_soon(self._bury, record.sequence, reason)

    async def _bury(self, sequence: int, reason: str) -> None:
        try:
            await self._bus.bury(sequence, reason)
        except (Unavailable, Unsuitable) as error:
            log.warning("not_buried", sequence=sequence, reason=str(error))
