"""Debates about image files over the bus, a bounded number at a time; a bad file stops no other."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import anyio
import anyio.to_thread

from parley.agents.forensic.brain import IMAGE_BLOB, REFERENCE_PREFIX
from parley.agents.forensic.image import ImageLimits, decoding
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.configs.settings import Settings
from parley.connection import new_id
from parley.console.images.check import Photo, check
from parley.console.images.desk import ImageReporter
from parley.console.images.files import Job
from parley.console.runtime.brains import BrainChoice
from parley.console.runtime.follow import follow_to_the_end
from parley.console.runtime.host import host_with_agents
from parley.console.runtime.seats import models_at, suited
from parley.console.runtime.submit import DebateRequest
from parley.console.terminal.views import Silence, view_for
from parley.console.transcript.text import one_line
from parley.coordinator.core.state import DebateState

# Debates under way at once: enough to keep every agent busy, few enough to meet their deadlines.
AT_ONCE = 8


async def run_photos(settings: Settings, job: Job, choice: BrainChoice) -> int:
    """The exit code. No server is started before there is an image to debate."""
    limits = ImageLimits()
    desk = ImageReporter(job)
    with decoding(limits) as decoder:
        references = [check(path, decoder, limits) for path in job.references]
        feed = desk.acceptable(decoder, limits)
        first = await anyio.to_thread.run_sync(lambda: next(feed, None))
        if first is not None:
            async with host_with_agents(settings, choice, (job.panel,)) as host:
                client = host.client
                if not host.is_ours:
                    desk.job = await _for_those_seated(client, job)
                blobs = {
                    f"{REFERENCE_PREFIX}{number}": await _uploaded(client, one)
                    for number, one in enumerate(references, start=1)
                }
                await _debate_all(client, desk, first, feed, blobs)
    return desk.exit_code


async def _for_those_seated(client: Client, job: Job) -> Job:
    wanted = DebateRequest(job.panel.name, (), (), job.wishes)
    suiting = suited(wanted.resolve, await models_at(client, wanted.panel), job.wishes.sets)
    return replace(job, panel=suiting.panel)


async def _debate_all(
    client: Client,
    desk: ImageReporter,
    first: Photo,
    feed: Iterator[Photo],
    references: dict[str, BlobRef],
) -> None:
    places = anyio.Semaphore(AT_ONCE)
    base = new_id()

    async def debate(photo: Photo, name: str) -> None:
        state = await debate_photo(client, desk.job, photo, name, references)
        ref = DebateRef(desk.job.panel.name, name)
        log = await client.at(ref).log() if desk.job.out is not None else None
        await desk.conclude(photo, name, state, log)
        places.release()

    with desk.progress():
        async with anyio.create_task_group() as tasks:
            photo: Photo | None = first
            number = 0
            while photo is not None:
                await places.acquire()
                name = f"{base}-{number}" if desk.job.several else base
                tasks.start_soon(debate, photo, desk.job.given_id or name)
                number += 1
                photo = await anyio.to_thread.run_sync(lambda: next(feed, None))


async def debate_photo(
    client: Client, job: Job, photo: Photo, name: str, references: dict[str, BlobRef]
) -> DebateState:
    """Raises BadInput for an id that is taken."""
    ref = DebateRef(job.panel.name, name)
    after = await client.reading.position()
    blobs = {IMAGE_BLOB: await _uploaded(client, photo), **references}
    about = DebateInput(text=one_line(photo.path.name), blobs=blobs)
    await client.submit(job.panel, about, id=name, fresh=job.given_id is None)
    silent = job.as_json or job.several
    with nullcontext(Silence()) if silent else view_for(several=False) as view:
        return (await follow_to_the_end(client, [ref], view, after=after))[ref]


async def _uploaded(client: Client, photo: Photo) -> BlobRef:
    return await client.put_blob(photo.data, photo.media_type)
