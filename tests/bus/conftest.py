import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from parley.bus.virtual import VirtualTimeLoop
from tests import servers
from tests.bus.worlds import NatsServer, World, jetstream_world, memory_world


class FourStreamsLoop(asyncio.SelectorEventLoop):
    """The mark of a test whose log is spread over four streams."""


@pytest.fixture(scope="session")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with servers.running(tmp_path_factory.mktemp("nats")) as server:
        yield server.url


def pytest_asyncio_loop_factories(
    item: pytest.Function,
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What asks for a world is asked of both buses: of the one in memory on virtual time."""
    real = {"jetstream": asyncio.new_event_loop}
    if "world" not in item.fixturenames:
        return real
    return {"memory": VirtualTimeLoop, **real, "four_streams": FourStreamsLoop}


@pytest.fixture
def world(nats_url: str) -> Callable[[], AbstractAsyncContextManager[World]]:
    def open_world() -> AbstractAsyncContextManager[World]:
        simulated = isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
        if simulated:
            return memory_world()
        spread = isinstance(asyncio.get_running_loop(), FourStreamsLoop)
        return jetstream_world(nats_url, streams=4 if spread else 1)

    return open_world


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    """A server of the test's own."""
    with servers.running(tmp_path) as server:
        yield server
