import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import anyio
import typer

from parley.bus.archive import DELETED
from parley.bus.errors import NotFound, ParleyError
from parley.bus.journal import Journal
from parley.bus.metrics import Metrics
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.cli.exits import FAILED, complain
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async
from parley.coordinator.core.reducer import fold
from parley.coordinator.service.archiver import Archiver
from parley.coordinator.service.open_debates import closed, not_closed
from parley.coordinator.service.quarantine import Quarantine

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Closed debates that left the log: status, run, verify.",
    epilog=example("parley archive status", "parley archive verify"),
)


@app.command(epilog=example("parley archive status", "parley archive status --json"))
def status(nats: Nats = None, config: Config = None, as_json: Json = False) -> None:
    """Say how much is archived, and what still waits in the log."""
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    told = run_async(lambda: _status(settings))
    if as_json:
        print_line(json.dumps(told))
        return
    for name, value in told.items():
        print_line(f"{name.replace('_', ' '):<22} {'-' if value is None else value}")


async def _status(settings: Settings) -> dict[str, object]:
    async with join(settings) as client:
        journal = client.journal
        extent = await journal.bus.archive.extent()
        waiting, still_open = await closed(journal), await not_closed(journal)
    kept = settings.retention
    return {
        "archived": extent.records,
        "archived_bytes": extent.size_bytes,
        "closed_in_the_log": len(waiting),
        "open": len(still_open),
        "archived_after_s": settings.archive.after or None,
        "kept_days": kept.archive_days,
        "kept_mib": kept.archive_mib,
    }


@app.command(epilog=example("parley archive run"))
def run(nats: Nats = None, config: Config = None) -> None:
    """
    Archive every closed debate now, however long ago it ended.

    Coordinators do so by themselves (archive.after); two at the same time do no harm.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    done, left = run_async(lambda: _run(settings))
    print_line(f"{done} archived" + (f", {left} left in the log" if left else ""))


async def _run(settings: Settings) -> tuple[int, int]:
    async with join(settings) as client, _archiver(client.journal) as archiver:
        held = await archiver.under_redrive() or set()
        done = left = 0
        for ref in await closed(client.journal):
            if ref not in held and await archiver.archive(ref):
                done += 1
            else:
                left += 1
    return done, left


@asynccontextmanager
async def _archiver(journal: Journal) -> AsyncIterator[Archiver]:
    """What it puts aside is buried before the context ends."""
    metrics = Metrics()
    quarantine = Quarantine(journal.bus, journal.subjects, metrics)
    async with anyio.create_task_group() as tasks:
        quarantine.start(tasks)
        yield Archiver(journal, None, quarantine, metrics, lambda _ref: True)


@app.command(epilog=example("parley archive verify", "parley archive verify 01jd7w2k9xqz"))
def verify(
    debates: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="All of them otherwise.")
    ] = None,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Check that archived debates are what was archived: every record by the chain of digests.

    Whether their decisions follow from their facts: parley verify. The exit code is 1 if any is
    not what it was.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    checked, broken = run_async(lambda: _verify(settings, debates or []))
    if as_json:
        print_line(json.dumps({"checked": checked, "broken": broken}))
    else:
        for text in broken:
            complain(text)
        print_line(f"{checked} checked, {len(broken)} broken")
    if broken:
        raise typer.Exit(FAILED)


async def _verify(settings: Settings, names: list[str]) -> tuple[int, list[str]]:
    async with join(settings) as client:
        journal = client.journal
        refs = [(await client.debate(name)).ref for name in names]
        if not names:
            refs = [one.ref for one in await journal.archive.contents()]
        broken: list[str] = []
        for ref in refs:
            broken += [f"{ref}: {text}" for text in await _problems(journal, ref)]
    return len(refs), broken


async def _problems(journal: Journal, ref: DebateRef) -> list[str]:
    try:
        found = await journal.archive.get(ref)
    except ParleyError as error:
        return [str(error)]
    if found is None:
        raise NotFound(f"{ref} is not in the archive")
    if found.broken or found.summary.status == DELETED:
        return list(found.broken)
    state = fold(one.fact for one in journal.decode_all(found.records)[0])
    if state.closed is None or state.closed.status.value != found.summary.status:
        return ["its summary is not that of its facts"]
    return []
