"""
The composition root: settings become a server, a bus, coordinators and agents.

Nothing else in Parley knows which bus it runs on or where its options come from.
"""

import gc
import math
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

import anyio

from parley.bus.embedded import embedded_server
from parley.bus.errors import Denied, Unsuitable
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Keep, Layout, refuse_foreign
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import Subjects
from parley.configs.settings import NatsSettings, Settings
from parley.console.cli.exits import warn
from parley.coordinator.service.membership import BEAT_S

if TYPE_CHECKING:
    # Imported where they are made: a client needs neither, and an agent no coordinator, whose
    # rules take long to import.
    from parley.agents.brain import Brain
    from parley.agents.worker import Worker, WorkerOptions
    from parley.coordinator.service.coordinator import Coordinator

Outcome = TypeVar("Outcome")

USUAL_URL = "nats://127.0.0.1:4222"
DAY_S = 86_400
MIB = 1 << 20

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


def run_async(main: Callable[[], Awaitable[Outcome]]) -> Outcome:
    tune()
    options = {"use_uvloop": os.name != "nt"}
    return anyio.run(main, backend_options=options)


@asynccontextmanager
async def private_server(
    settings: Settings, *, port: int | None = None, store: Path | None = None
) -> AsyncIterator[Settings]:
    """The settings, pointed at a server of our own that lives as long as the context."""
    embedded = settings.embedded
    async with embedded_server(
        port=port, store=store or embedded.store, binary=embedded.binary
    ) as url:
        nats = settings.nats.model_copy(update={"url": url, "user": None, "password": None})
        yield settings.model_copy(update={"nats": nats})


@asynccontextmanager
async def open_journal(settings: Settings, *, create: bool) -> AsyncIterator[Journal]:
    """
    The log of the server that the settings name.

    `create` makes the stream where there is none; without it a missing stream means that nobody
    runs Parley there. A stream that exists is never changed, only compared.
    """
    async with open_server(settings) as bus:
        await _prepare(bus, create=create)
        yield Journal(bus, Subjects(settings.nats.prefix))


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncIterator[JetStreamBus]:
    """The server that the settings name, whatever there is on it."""
    async with open_bus(_server(settings.nats), layout_of(settings)) as bus:
        yield bus


@asynccontextmanager
async def staffed(
    journal: Journal, settings: Settings, seats: Seats, brain: "Brain"
) -> "AsyncIterator[Sequence[Coordinator | Worker]]":
    """With a coordinator and these agents at work, ready before the body runs."""
    from parley.coordinator.service.coordinator import Coordinator  # noqa: PLC0415

    staff: list[Coordinator | Worker] = [Coordinator(journal, coordinator_name(settings))]
    staff += agents(journal, settings, seats, brain)
    async with anyio.create_task_group() as tasks:
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        yield staff
        tasks.cancel_scope.cancel()


def agents(journal: Journal, settings: Settings, seats: Seats, brain: "Brain") -> "list[Worker]":
    from parley.agents.worker import Worker  # noqa: PLC0415

    options = worker_options(settings)
    return [Worker(journal, panel, persona, brain, options) for panel, persona in seats]


def worker_options(settings: Settings) -> "WorkerOptions":
    from parley.agents.worker import WorkerOptions  # noqa: PLC0415

    agent = settings.agent
    return WorkerOptions(
        concurrency=agent.concurrency,
        ack_wait_s=agent.ack_wait_s,
        max_deliver=agent.max_deliver,
        retries=agent.retries,
        drain_s=agent.drain_s,
    )


def coordinator_name(settings: Settings) -> str:
    unique = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    return settings.coordinator.name or unique


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
    filters: Sequence[str],
    *,
    start: int | None,
    see: Callable[[Record], Awaitable[bool]],
) -> None:
    """
    Hand every record to `see`, in order, until it answers that this was the last one.

    Without a start only what can be heard from now on, of the only filter.
    """
    send, receive = anyio.create_memory_object_stream[Sequence[Record]](math.inf)
    async with send, receive, anyio.create_task_group() as tasks:
        if start is None:
            (only,) = filters
            tasks.start_soon(partial(journal.bus.hear, only, on=send.send_nowait))
        else:
            tasks.start_soon(partial(journal.bus.tail, filters, start=start, on=send.send_nowait))
        async for records in receive:
            for record in records:
                if await see(record):
                    tasks.cancel_scope.cancel()
                    return


async def _prepare(bus: JetStreamBus, *, create: bool) -> None:
    try:
        differences = await (bus.plan() if create else bus.plan_essentials())
    except Denied:
        # A persona's login sees its own queue and nothing else: `parley infra apply` made the rest.
        return
    refuse_foreign(differences)
    missing = [one for one in differences if one.found is None]
    if missing and not create:
        raise Unsuitable(
            f"nobody runs Parley on this server yet (no {missing[0].resource}):"
            " start `parley up` or `parley coordinator`"
        )
    if missing:
        await bus.create_missing()
    warn(f"the server differs from the settings: {one}" for one in differences if one.found)


def _server(nats: NatsSettings) -> Server:
    return Server(
        urls=tuple(_with_user(url.strip(), nats) for url in (nats.url or USUAL_URL).split(",")),
        credentials=nats.creds_file,
        nkey_seed=nats.nkey_seed_file,
        tls_ca=nats.tls_ca_file,
        tls_cert=nats.tls_cert_file,
        tls_key=nats.tls_key_file,
    )


def _with_user(url: str, nats: NatsSettings) -> str:
    if nats.user is None:
        return url
    parts = urlsplit(url)
    secret = f":{quote(nats.password.get_secret_value(), safe='')}" if nats.password else ""
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(nats.user, safe='')}{secret}@{host}"))


def layout_of(settings: Settings) -> Layout:
    nats, kept = settings.nats, settings.retention
    return Layout(
        stream=nats.stream,
        prefix=nats.prefix,
        replicas=nats.replicas,
        keep_log=_keep(kept.log_days, kept.log_mib),
        keep_blobs=_keep(kept.blob_days, kept.blob_mib),
        keep_dead=_keep(kept.dead_days, kept.dead_mib),
        keep_purse=_keep(kept.purse_days, kept.purse_mib),
        keep_answers=_keep(kept.answer_days, kept.answer_mib),
        accept_below=kept.accept_below,
    )


def _keep(days: float | None, mib: int | None) -> Keep:
    return Keep(age_s=(days or 0.0) * DAY_S, size_bytes=(mib or 0) * MIB)
