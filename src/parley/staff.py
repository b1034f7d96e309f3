"""Coordinators and agents at work inside this process, as the settings want them."""

import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from parley.bus.journal import Journal
from parley.bus.virtual import time_is_virtual
from parley.configs.settings import ArchiveSettings, Settings

if TYPE_CHECKING:
    # Imported where they are made: a client needs neither, and an agent no coordinator, whose
    # rules take long to import.
    from parley.agents.brain import Brain
    from parley.agents.worker import Worker, WorkerOptions
    from parley.coordinator.service.archiver import Archiving
    from parley.coordinator.service.coordinator import Coordinator


@asynccontextmanager
async def staffed(
    journal: Journal,
    settings: Settings,
    seats: "Iterable[tuple[str, str, Brain]]",
    *,
    coordinator: bool = True,
) -> "AsyncIterator[Sequence[Coordinator | Worker]]":
    """With an agent for each (panel, persona, brain) at work, ready before the body runs."""
    staff: list[Coordinator | Worker] = list(workers(journal, settings, seats))
    if coordinator:
        staff.append(coordinator_of(journal, settings))
    async with beside() as tasks:
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        yield staff


def coordinator_of(journal: Journal, settings: Settings) -> "Coordinator":
    from parley.coordinator.service.coordinator import Coordinator  # noqa: PLC0415

    return Coordinator(
        journal, coordinator_name(settings), archiving=archiving_of(settings.archive)
    )


def archiving_of(settings: ArchiveSettings) -> "Archiving | None":
    """None keeps everything in the log."""
    from parley.coordinator.service.archiver import Archiving  # noqa: PLC0415

    return Archiving(settings.after, settings.per_second) if settings.after > 0 else None


def workers(
    journal: Journal, settings: Settings, seats: "Iterable[tuple[str, str, Brain]]"
) -> "list[Worker]":
    from parley.agents.worker import Worker  # noqa: PLC0415

    options = worker_options(settings)
    return [Worker(journal, panel, persona, brain, options) for panel, persona, brain in seats]


def worker_options(settings: Settings) -> "WorkerOptions":
    from parley.agents.worker import WorkerOptions  # noqa: PLC0415

    agent = settings.agent
    return WorkerOptions(
        concurrency=agent.concurrency,
        ack_wait_s=agent.ack_wait_s,
        max_deliver=agent.max_deliver,
        retries=agent.retries,
        drain_s=agent.drain_s,
        clock=anyio.current_time if time_is_virtual() else time.perf_counter,
    )


def coordinator_name(settings: Settings) -> str:
    unique = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
    return settings.coordinator.name or unique


@asynccontextmanager
async def beside() -> AsyncIterator[TaskGroup]:
    """Tasks that end with the context; what its body raises is raised as it is, in no group."""
    raised: Exception | None = None
    async with anyio.create_task_group() as tasks:
        try:
            yield tasks
        except Exception as error:  # noqa: BLE001 - raised again below
            raised = error
        tasks.cancel_scope.cancel()
    if raised is not None:
        raise raised
