"""A client of a log that a test opened in its own way."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from parley.bus.journal import Journal
from parley.client import Client
from parley.configs.settings import Settings
from parley.staff import beside


@asynccontextmanager
async def client_of(journal: Journal, settings: Settings | None = None) -> AsyncIterator[Client]:
    async with beside() as tasks:
        yield Client(journal, settings or Settings(), tasks)
