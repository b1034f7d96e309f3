"""Many debates over the bus, a bounded number at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio

from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.connection import new_id
from parley.console.archive.reader import Recorded
from parley.console.batch.files import Debated
from parley.console.inputs.kind import input_of
from parley.console.runtime.follow import Audience
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.inputs import Material, upload
from parley.console.runtime.plan import ScriptFile
from parley.console.runtime.system import follow
from parley.console.terminal.views import Silence
from parley.submission import submit

# Enough to keep every agent busy, few enough to meet their deadlines.
AT_ONCE = 64
# Looking at an image takes an agent seconds.
IMAGES_AT_ONCE = 8


def usual_at_once(panel: PanelBase) -> int:
    return IMAGES_AT_ONCE if input_of(panel).takes(panel) == "image" else AT_ONCE


@dataclass(frozen=True, slots=True)
class Job:
    """`prepare` makes the panel and the input of an item when its turn comes."""

    panel: str
    items: Sequence[int]
    prepare: Callable[[int], tuple[Panel, Material]]
    at_once: int = AT_ONCE
    script: ScriptFile | None = None


async def debate_all(journal: Journal, job: Job, done: Callable[[int, Debated], None]) -> None:
    """`done` hears of each debate as it closes, in whichever order."""
    if not job.items:
        return
    audience = Audience(journal, Silence())
    running: dict[DebateRef, int] = {}
    recorded: dict[DebateRef, list[Recorded]] = {}
    places = anyio.Semaphore(job.at_once)
    left = len(job.items)
    start = await journal.bus.position()

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

    async def submit_all() -> None:
        """Ids are made from one chance value and a count, so that no two of a batch are alike."""
        base = new_id()
        for number, item in enumerate(job.items):
            await places.acquire()
            panel, material = job.prepare(item)
            ref = DebateRef(panel.name, f"{base}-{number}")
            running[ref] = item
            about = await upload(journal.bus, material, job.script)
            await submit(journal, ref, panel, about, fresh=True)

    with gc_tuned():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submit_all)
            await follow(journal, DebateRef(job.panel, "*"), start=start, see=see)
