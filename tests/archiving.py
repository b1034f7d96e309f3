"""Debates of a log, archived at once: what everybody reads must be the same before and after."""

import anyio

from parley.bus.journal import Journal
from parley.bus.metrics import Metrics
from parley.bus.subjects import DebateRef
from parley.coordinator.service.archiver import Archiver
from parley.coordinator.service.open_debates import closed
from parley.coordinator.service.quarantine import Quarantine


async def archive(journal: Journal, *refs: DebateRef) -> None:
    """These debates, or every closed one."""
    metrics = Metrics()
    quarantine = Quarantine(journal.bus, journal.subjects, metrics)
    async with anyio.create_task_group() as tasks:
        quarantine.start(tasks)
        archiver = Archiver(journal, None, quarantine, metrics, lambda _ref: True)
        for ref in refs or await closed(journal):
            assert await archiver.archive(ref)
            assert not await journal.bus.read(journal.subjects.debate(ref))
