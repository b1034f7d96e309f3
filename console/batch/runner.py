"""Many sentences over the bus, a bounded number at a time."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from parley.bus.contracts.panel import Panel
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.connection import new_id
from parley.console.archive.reader import Recorded
from parley.console.runtime.follow import Audience
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.inputs import Material, upload
from parley.console.runtime.plan import ScriptFile
from parley.console.runtime.system import follow
from parley.console.terminal.views import Silence
from parley.coordinator.core.state import DebateState
from parley.submission import submit


@dataclass(frozen=True, slots=True)
class Job:
    """`index` is the place in the data set."""

    index: int
    panel: Panel
    text: str


@dataclass(frozen=True, slots=True)
class Debated:
    """A debate that is closed, with everything that stands in its log."""

    ref: DebateRef
    state: DebateState
    recorded: tuple[Recorded, ...]


Done = Callable[[Job, Debated], None]


async def debate_all(
    journal: Journal, jobs: Sequence[Job], done: Done, *, at_once: int, script: ScriptFile | None
) -> None:
    """`done` hears of each debate as it closes, in whichever order."""
    if not jobs:
        return
    audience = Audience(journal, Silence())
    running: dict[DebateRef, Job] = {}
    recorded: dict[DebateRef, list[Recorded]] = {}
    places = anyio.Semaphore(at_once)
    left = len(jobs)
    start = await journal.bus.last_sequence() + 1

    async def see(record: Record) -> bool:
        nonlocal left
        address = journal.subjects.parse(record.subject)
        if address is None or address[0] not in running:
            return False
        ref = address[0]
        logged = await audience.see(record)
        if logged is not None:
            recorded.setdefault(ref, []).append(Recorded(logged.fact, logged.time_ns))
        if audience.states[ref].closed is not None:
            whole = Debated(ref, audience.states.pop(ref), tuple(recorded.pop(ref)))
            done(running.pop(ref), whole)
            places.release()
            left -= 1
        return left == 0

    submitter = _submitter(journal, jobs, script, running, places)
    facts = journal.subjects.facts(jobs[0].panel.name)
    with gc_tuned():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submitter)
            await follow(journal, facts, start=start, see=see)


def _submitter(
    journal: Journal,
    jobs: Sequence[Job],
    script: ScriptFile | None,
    running: dict[DebateRef, Job],
    places: anyio.Semaphore,
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Ids are made from one chance value and a count, so that no two of a batch are alike."""
    base = new_id()

    async def submit_all() -> None:
        for number, job in enumerate(jobs):
            await places.acquire()
            ref = DebateRef(job.panel.name, f"{base}-{number}")
            running[ref] = job
            about = await upload(journal.bus, Material(text=job.text), script)
            await submit(journal, ref, job.panel, about, fresh=True)

    return submit_all
