"""The web server as a part of a process of ours: its own socket, our signals, our logs."""

import logging
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import NamedTuple

import anyio
import structlog
import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from typing_extensions import override

from parley.bus.errors import BadInput
from parley.client import Client
from parley.configs.settings import Settings, WebSettings
from parley.console.listing.debates import list_folder, open_list
from parley.console.runtime.nats_agents import serve_prompts
from parley.console.runtime.nats_service import serve_requests
from parley.console.web.access import Tokens, is_loopback
from parley.console.web.app import make_app
from parley.console.web.connections import LARGEST_HEAD_BYTES, House, connections_of, places
from parley.console.web.hub import Hub
from parley.console.web.limits import probes_only
from parley.staff import beside

# What a viewer that does not read can hold up in the kernel, and for how long.
SEND_BUFFER_BYTES = 256 * 1024
UNREAD_MS = 15_000
# For what still runs when the process is told to stop.
GRACE_S = 3
BACKLOG = 1024
# What the library says of a stream that ends because its viewer does not read.
UNFINISHED = "ASGI callable returned without completing response."

log = structlog.get_logger()


class _Server(uvicorn.Server):
    """Leaves the signals to whoever runs the process."""

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Forward(logging.Handler):
    """What the library has to say, in our log."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == UNFINISHED:
            return
        failure = record.exc_info if record.exc_info and record.exc_info[0] else None
        log.log(record.levelno, "web_server", said=record.getMessage(), exc_info=failure)


class Page(NamedTuple):
    url: str
    hub: Hub


@asynccontextmanager
async def web_server(client: Client, settings: Settings, port: int) -> AsyncIterator[Page]:
    """The page is served while the context lasts. Port 0 takes a free one."""
    tokens = tokens_of(settings.web)
    async with (
        open_list(client.reading, list_folder(settings)) as debates,
        _standards(client, tokens, settings.web) as beside,
    ):
        listener = listen_at(settings.web.host, port)
        hub = Hub(client, debates)
        app = make_app(hub, tokens, settings, beside)
        async with _served(hub, app, settings, listener) as url:
            yield Page(url, hub)


@asynccontextmanager
async def _standards(
    client: Client, tokens: Tokens, web: WebSettings
) -> AsyncIterator[list[BaseRoute]]:
    """What is spoken beside the page, where somebody asked for it. Raises BadInput."""
    async with AsyncExitStack() as stack:
        routes: list[BaseRoute] = []
        if web.mcp:
            from parley.console.mcp.server import mcp_route  # noqa: PLC0415 - an extra

            routes.append(await stack.enter_async_context(mcp_route(client, tokens)))
        if web.nats_service:
            await stack.enter_async_context(_offered(partial(serve_requests, client)))
        if web.nats_agents is not None:
            await stack.enter_async_context(
                _offered(partial(serve_prompts, client, web.nats_agents))
            )
        if web.a2a:
            from parley.console.a2a.server import a2a_routes  # noqa: PLC0415 - an extra

            routes += await stack.enter_async_context(a2a_routes(client, tokens, web))
        yield routes


@asynccontextmanager
async def _offered(serve: Callable[[], Coroutine[object, object, None]]) -> AsyncIterator[None]:
    async with beside() as tasks:
        tasks.start_soon(serve)
        yield


@asynccontextmanager
async def _served(
    hub: Hub, app: ASGIApp, settings: Settings, listener: socket.socket
) -> AsyncIterator[str]:
    host = settings.web.host
    house = House(places(), settings.web.connections_per_address, settings.web.proxies)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http=connections_of(house, probes_only(app)),  # type: ignore[arg-type]
        h11_max_incomplete_event_size=LARGEST_HEAD_BYTES,
        forwarded_allow_ips=settings.web.proxies,
        timeout_graceful_shutdown=GRACE_S,
    )
    _adopt_logs()
    server = _Server(config)

    async def serve() -> None:
        # Whatever ends us, requests under way are ended in order, and soon.
        with anyio.CancelScope(shield=True):
            await server.serve([listener])
        tasks.cancel_scope.cancel()

    with listener:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hub.run)
            tasks.start_soon(serve)
            url = f"http://{_shown(host)}:{listener.getsockname()[1]}"
            log.info("web_ready", url=url)
            try:
                yield url
            finally:
                hub.audience.dismiss()
                server.should_exit = True


def _adopt_logs() -> None:
    library = logging.getLogger("uvicorn")
    library.handlers = [_Forward()]
    library.propagate = False
    library.setLevel(logging.WARNING)


def tokens_of(web: WebSettings) -> Tokens:
    """Raises BadInput where anybody in the network could do anything."""
    tokens = Tokens(
        web.read_token.get_secret_value() if web.read_token is not None else None,
        web.operator_token.get_secret_value() if web.operator_token is not None else None,
    )
    if not tokens.are_needed and not is_loopback(web.host):
        raise BadInput(
            f"web: {web.host} is open to others: set a token first"
            " (PARLEY_WEB__READ_TOKEN, PARLEY_WEB__OPERATOR_TOKEN)"
        )
    if tokens.reader is not None and tokens.reader == tokens.operator:
        raise BadInput("web: the read token and the operator token are the same")
    return tokens


def listen_at(host: str, port: int) -> socket.socket:
    """Raises BadInput for an address that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        raise BadInput(f"web: cannot listen at {host}:{port}: {error.strerror}") from error
    return listener


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
