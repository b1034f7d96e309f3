from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.bus import worlds
from tests.servers import NAMED

# Whose tests bring a configuration, a proxy, an intruder or a container of their own.
OWN_SERVERS = {"attack", "bench", "chaos", "deploy", "hostile"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if OWN_SERVERS & set(Path(item.nodeid.partition("::")[0]).parts):
            item.add_marker("own_server")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marked = item.get_closest_marker("own_server") is not None
    worlds.own_server_allowed = NAMED is None or marked


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """A command called here writes its log to where the test captures it, which ends with it."""
    yield
    structlog.reset_defaults()
