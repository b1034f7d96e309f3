"""
Where debates run: a server of our own or somebody's, with agents at work here or elsewhere.

    async with host_with_agents(settings, choice, panels) as host:      run, batch, photographs
        ...
    async with host(settings) as client, at_work(client, …) as staff:  up, demo
        ...
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from parley.bus.contracts.panel import Panel
from parley.client import Client, host
from parley.configs.settings import Settings
from parley.console.cli.exits import warn
from parley.console.runtime.brains import BrainChoice, open_brains
from parley.console.runtime.system import Seats

if TYPE_CHECKING:
    from parley.agents.worker import Worker
    from parley.coordinator.service.coordinator import Coordinator


class Host(NamedTuple):
    """`is_ours` says whether coordinator and agents are in here."""

    client: Client
    is_ours: bool


@asynccontextmanager
async def at_work(
    client: Client, choice: BrainChoice, panels: Iterable[Panel], seats: Seats | None = None
) -> "AsyncIterator[Sequence[Coordinator | Worker]]":
    """With a coordinator and an agent for each seat here; without seats for all of the panels."""
    known = list(panels)
    sitting = seats if seats is not None else seats_of(known)
    async with (
        open_brains(choice, client.settings, known, sitting, client) as seated,
        client.staffed(seated) as staff,
    ):
        yield staff


@asynccontextmanager
async def host_with_agents(
    settings: Settings, choice: BrainChoice, panels: Iterable[Panel]
) -> AsyncIterator[Host]:
    """Where a coordinator is at work already, the debates are left to it and its agents."""
    async with host(settings, warn=warn) as client:
        if settings.names_a_server and await client.operations.is_coordinated():
            yield Host(client, is_ours=False)
            return
        async with at_work(client, choice, panels):
            yield Host(client, is_ours=True)


def seats_of(panels: Iterable[Panel]) -> Seats:
    return list(dict.fromkeys((one.name, persona) for one in panels for persona in one.agents))
