from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.bus.worlds import NatsServer, World, jetstream_world, memory_world


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server.url
    server.stop()


@pytest.fixture(params=["memory", "jetstream"])
def world(request: pytest.FixtureRequest) -> Callable[[], AbstractAsyncContextManager[World]]:
    if request.param == "memory":
        return memory_world
    url: str = request.getfixturevalue("nats_url")
    return lambda: jetstream_world(url)


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of the test's own."""
    server = NatsServer(tmp_path).start()
    yield server
    server.stop()
