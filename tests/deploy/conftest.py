from collections.abc import Iterator

import anyio
import pytest

from tests.bus.worlds import NatsServer
from tests.deploy import guarded


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[NatsServer]:
    """
    With every stream and queue that `parley infra apply` makes; shared by a module's tests, which
    may ask for a log in several streams.
    """
    streams = getattr(request.module, "STREAMS", 1)
    running = guarded.start(tmp_path_factory.mktemp("guarded"), streams)
    anyio.run(guarded.prepare, running)
    yield running
    running.stop()
