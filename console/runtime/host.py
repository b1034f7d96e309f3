"""
Where debates run: a server of our own or somebody's, with agents at work here or elsewhere.

    async with host_with_agents(settings, choice, panels) as host:      run, batch, photographs
        ...
    async with open_host(settings) as host, at_work(host, …) as staff:  up, demo
        ...
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from parley.bus.contracts.panel import Panel
from parley.configs.settings import Settings
from parley.connection import Host, open_host
from parley.console.cli.exits import warn
from parley.console.runtime.brains import BrainChoice, open_brains
from parley.console.runtime.system import Seats, somebody_coordinates
from parley.staff import staffed

if TYPE_CHECKING:
    from parley.agents.worker import Worker
    from parley.coordinator.service.coordinator import Coordinator


@asynccontextmanager
async def at_work(
    host: Host, choice: BrainChoice, panels: Iterable[Panel], seats: Seats | None = None
) -> "AsyncIterator[Sequence[Coordinator | Worker]]":
    """With a coordinator and an agent for each seat here; without seats for all of the panels."""
    known = list(panels)
    sitting = seats if seats is not None else seats_of(known)
    journal, settings = host.journal, host.settings
    async with (
        open_brains(choice, settings, known, sitting, journal) as seated,
        staffed(journal, settings, seated) as staff,
    ):
        yield staff


@asynccontextmanager
async def host_with_agents(
    settings: Settings, choice: BrainChoice, panels: Iterable[Panel]
) -> AsyncIterator[Host]:
    """Where a coordinator is at work already, the debates are left to it and its agents."""
    async with open_host(settings, warn=warn) as host:
        if not host.own_server and await somebody_coordinates(host.journal):
            yield host
            return
        async with at_work(host, choice, panels):
            yield host._replace(is_ours=True)


def seats_of(panels: Iterable[Panel]) -> Seats:
    return list(dict.fromkeys((one.name, persona) for one in panels for persona in one.agents))
