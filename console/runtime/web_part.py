"""The web page as a part of other commands: it may not be installed, and its port may be taken."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from parley.bus.errors import BadInput
from parley.bus.extras import extra
from parley.client import Client
from parley.configs.settings import Settings
from parley.console.cli.exits import warn

DEFAULT_PORT = 8090

if TYPE_CHECKING:
    from parley.console.web.server import Page

WebServer = Callable[[Client, Settings, int], AbstractAsyncContextManager["Page"]]


def server_of_the_web(settings: Settings) -> WebServer:
    """
    Raises BadInput where the packages of the extra `web` are missing, and where anybody in the
    network could do anything.
    """
    with extra("web", "the web page"):
        from parley.console.web.server import tokens_of, web_server  # noqa: PLC0415
    tokens_of(settings.web)
    if settings.web.mcp:
        with extra("mcp", "web.mcp"):
            import parley.console.mcp.server  # noqa: PLC0415
    if settings.web.a2a:
        with extra("a2a", "web.a2a"):
            import parley.console.a2a.server  # noqa: F401, PLC0415
    if settings.web.nats_agents is not None:
        with extra("nats-agents", "web.nats_agents"):
            import synadia_ai.agent_service  # noqa: F401, PLC0415
    return web_server


@asynccontextmanager
async def served(client: Client, settings: Settings) -> AsyncIterator[str | None]:
    """Its address, at the usual port or else a free one; None, with a warning, without the extra."""
    try:
        web_server = server_of_the_web(settings)
    except BadInput as error:
        warn([str(error)])
        yield None
        return
    port = settings.web.port
    if port is None:
        port = DEFAULT_PORT if _is_free(settings.web.host, DEFAULT_PORT) else 0
    async with web_server(client, settings, port) as page:
        yield page.url


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
