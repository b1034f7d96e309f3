"""Many debates over the bus, a bounded number at a time."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio

from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.connection import new_id
from parley.console.batch.files import Debated
from parley.console.inputs.kind import input_of
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.inputs import Material, upload
from parley.console.runtime.plan import ScriptFile
from parley.files.lines import Recorded

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


async def debate_all(client: Client, job: Job, done: Callable[[int, Debated], None]) -> None:
    """`done` hears of each debate as it closes, in whichever order."""
    if not job.items:
        return
    running: dict[DebateRef, int] = {}
    recorded: dict[DebateRef, list[Recorded]] = {}
    places = anyio.Semaphore(job.at_once)
    left = len(job.items)
    after = await client.reading.position()

    async def submit_all() -> None:
        """Ids are made from one chance value and a count, so that no two of a batch are alike."""
        base = new_id()
        for number, item in enumerate(job.items):
            await places.acquire()
            panel, material = job.prepare(item)
            ref = DebateRef(panel.name, f"{base}-{number}")
            running[ref] = item
            about = await upload(client, material, job.script)
            await client.submit(panel, about, id=ref.id, fresh=True)

    with gc_tuned():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submit_all)
            async with aclosing(client.watch(job.panel, after=after, debates=running)) as events:
                async for one in events:
                    recorded.setdefault(one.ref, []).append(Recorded(one.fact, one.time_ns))
                    if one.state.closed is None:
                        continue
                    whole = Debated(one.ref, one.state, tuple(recorded.pop(one.ref)))
                    done(running.pop(one.ref), whole)
                    places.release()
                    left -= 1
                    if left == 0:
                        break
