"""
The composition root: settings become a server, a bus, coordinators and agents.

Nothing else in Parley knows which bus it runs on or where its options come from.
"""

import gc
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from parley import connection
from parley.bus.backlog import follow_everything
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.cli.exits import warn
from parley.coordinator.service.membership import BEAT_S

Outcome = TypeVar("Outcome")

# (panel, persona) of each agent to run.
Seats = Sequence[tuple[str, str]]


def tune() -> None:
    """
    Let the collector rest: facts and states hold no cycles, and looking for some in every few
    hundred new objects costs a fifth of a busy process's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def list_folder(settings: Settings) -> Path | None:
    """Where the list of a large archive is kept; nowhere for a server that goes with the process."""
    if not settings.names_a_server:
        return None
    return settings.archive.index or Path.home() / ".cache" / "parley"


def run_async(main: Callable[[], Awaitable[Outcome]]) -> Outcome:
    tune()
    options = {"use_uvloop": os.name != "nt"}
    return anyio.run(main, backend_options=options)


@asynccontextmanager
async def open_journal(settings: Settings, *, create: bool) -> AsyncIterator[Journal]:
    """The log of the server that the settings name; what differs there is told on stderr."""
    async with connection.open_journal(settings, create=create, warn=warn) as journal:
        yield journal


async def somebody_coordinates(journal: Journal) -> bool:
    """Whether a coordinator gives a sign of life."""
    with anyio.move_on_after(3 * BEAT_S):
        async with anyio.create_task_group() as tasks:
            await journal.bus.listen(
                journal.subjects.beacons(), lambda _subject, _data: tasks.cancel_scope.cancel()
            )
        return True
    return False


async def follow(
    journal: Journal,
    wanted: DebateRef,
    *,
    start: Position | None,
    see: Callable[[Record], Awaitable[bool]],
) -> None:
    """
    Hand every record to `see`, those of one debate in order, until it answers that this was the last
    one; of one debate, of a panel's (`panel/*`) or of all (`*/*`), wherever they stand.

    Without a start only what can be heard from now on.
    """
    send, receive = anyio.create_memory_object_stream[Sequence[Record]](math.inf)

    def on(records: Sequence[Record]) -> None:
        send.send_nowait(
            [one for one in records if start is None or not start.covers(one.sequence)]
        )

    async with send, receive, anyio.create_task_group() as tasks:
        if start is None:
            tasks.start_soon(partial(journal.bus.hear, journal.subjects.debate(wanted), on=on))
        elif wanted.id != "*":
            tasks.start_soon(partial(journal.follow, wanted, on=on))
        else:
            tasks.start_soon(partial(follow_everything, journal, wanted.panel, start=start, on=on))
        async for records in receive:
            for record in records:
                if await see(record):
                    tasks.cancel_scope.cancel()
                    return
