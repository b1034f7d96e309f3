from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.subjects import Subjects
from tests import servers
from tests.bus.worlds import NatsServer
from tests.web.site import Emptied

_number = count(1)


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.running(tmp_path_factory.mktemp("nats")) as server:
        yield server.url


@pytest.fixture
def log(
    nats_url: str, request: pytest.FixtureRequest
) -> Callable[[], AbstractAsyncContextManager[Journal]]:
    """A log of the test's own; from the archive, where a test asks for it with `where`."""
    layout = layout_of(next(_number))
    archived = "where" in request.fixturenames and request.getfixturevalue("where") == "archived"
    kind = Emptied if archived else Journal

    @asynccontextmanager
    async def open_log() -> AsyncIterator[Journal]:
        async with open_bus(Server((nats_url,)), layout) as bus:
            await bus.apply()
            yield kind(bus, Subjects(layout.prefix))

    return open_log


def layout_of(number: int) -> Layout:
    return Layout(stream=f"WEB{number}", prefix=f"web{number}", bucket=f"webblobs{number}")


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of the test's own."""
    with servers.running(tmp_path) as server:
        yield server
