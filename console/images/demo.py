"""The part of the demo in which the agents look at a photograph for themselves."""

from pathlib import Path

import anyio.to_thread

from parley.agents.forensic.image import ImageLimits, decoding
from parley.agents.forensic.specimen import copy_moved
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.connection import new_id
from parley.console.images.check import check
from parley.console.images.files import Job
from parley.console.images.report import Reports
from parley.console.images.run import debate_photo
from parley.console.images.words import explain, lines_of
from parley.console.runtime.brains import RULE, BrainChoice
from parley.console.runtime.host import at_work
from parley.console.runtime.plan import Wishes, wished_panel
from parley.coordinator.protocols.verdicts.result import result_of


async def show_photo(client: Client, directory: Path) -> list[str]:
    """What is said about a photograph that was made, and forged, for this purpose."""
    reports = Reports(directory)
    made = await anyio.to_thread.run_sync(copy_moved)
    path = directory / made.name
    path.write_bytes(made.data)
    limits = ImageLimits()
    with decoding(limits) as decoder:
        photo = check(path, decoder, limits)
    job = Job(wished_panel("forensic", Wishes()).panel, (path,))
    name = new_id()
    async with at_work(client, BrainChoice(RULE), (job.panel,)):
        await debate_photo(client, job, photo, name, {})
        log = await client.at(DebateRef(job.panel.name, name)).log()
    report = reports.write(photo, log)
    first, *rest = lines_of(explain(result_of(log.ref, log.state), job.panel))
    return [
        "",
        f"   => {first}",
        *(f"    {line}" for line in rest),
        f"      The report with pictures: {report}",
    ]
