from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from parley.client import Client
from parley.configs.settings import NatsSettings, Settings, WebSettings
from parley.console.web.server import web_server
from tests import servers
from tests.bus.worlds import NatsServer

READ, OPERATE = "a-token-to-look-at", "a-token-to-operate"
TOKENS = {"read_token": READ, "operator_token": OPERATE}
TEXT = "The soup was cold, but the waiter was friendly."

Site = Callable[[Mapping[str, object]], AbstractAsyncContextManager[tuple[str, Client]]]


@pytest.fixture(scope="session")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with servers.running(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
def site(nats: NatsServer, tmp_path: Path) -> Site:
    """The page, with an agent for each persona of the panel `absa` at work; its address."""
    del tmp_path

    @asynccontextmanager
    async def opened(web: Mapping[str, object]) -> AsyncIterator[tuple[str, Client]]:
        from parley.client import join  # noqa: PLC0415

        settings = Settings(
            nats=NatsSettings(url=nats.url), web=WebSettings.model_validate(dict(web))
        )
        async with (
            join(settings, create=True) as client,
            client.serve("absa"),
            web_server(client, settings, 0) as page,
        ):
            yield page.url, client

    return opened
