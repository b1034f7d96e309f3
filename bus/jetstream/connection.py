"""
One connection to NATS, and the translation of everything that can go wrong with it.

The first connection fails fast and says why. Afterwards the connection heals itself for ever;
whoever depends on it registers with `watch` and is told when it came back or is gone for good.
"""

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import nats.errors
import structlog
from typing_extensions import override

from parley.bus.errors import BadInput, BusError, Unreachable, Unsuitable
from parley.bus.jetstream.client import DirectClient
from parley.bus.jetstream.login import check_credentials, check_seed, tls_context

OLDEST_SERVER = (2, 14)
FIRST_CONNECTION_S = 2.0
RECONNECT_WAIT_S = 0.2
PING_INTERVAL_S = 5
BUFFER_BYTES = 8 << 20
FLUSH_WITHIN_S = 2.0
CLOSE_WITHIN_S = 2.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is and who we are; user and password or a token may stand in the URL."""

    urls: tuple[str, ...] = ("nats://127.0.0.1:4222",)
    name: str = "parley"
    credentials: Path | None = None
    nkey_seed: Path | None = None
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    inbox_prefix: str = "_INBOX"

    @override
    def __str__(self) -> str:
        """Without the secrets that the URLs may hold."""
        return ", ".join(_without_secrets(url) for url in self.urls)


@dataclass(frozen=True, slots=True, eq=False)
class Watcher:
    resumed: Callable[[], None]
    lost: Callable[[BusError], None]


@dataclass(slots=True)
class Connection:
    server: Server
    client: DirectClient = field(default_factory=DirectClient)
    # Rises with every disconnection: the server behind may be another one.
    epoch: int = 0
    lost: BusError | None = None
    # Told the subject of every request or subscription that the server refuses.
    denied: list[Callable[[str], None]] = field(default_factory=list)
    # Told at every disconnection: what is not answered yet will not be.
    dropped: list[Callable[[], None]] = field(default_factory=list)
    _watchers: list[Watcher] = field(default_factory=list)
    _opening: bool = True
    _failure: Exception | None = None
    # An outage repeats the same error five times a second.
    _logged: str = ""
    _back: anyio.Event = field(default_factory=anyio.Event)

    async def open(self) -> None:
        server = self.server
        if server.credentials is not None:
            await check_credentials(server.credentials)
        if server.nkey_seed is not None:
            await check_seed(server.nkey_seed)
        tls = await tls_context(server.tls_ca, server.tls_cert, server.tls_key)
        with anyio.move_on_after(FIRST_CONNECTION_S):
            try:
                await self._connect(tls)
            except BusError:
                await self.close()
                raise
            except (ValueError, nats.errors.Error) as error:
                raise BadInput(f"{self.server} is not an address: {error}") from error
            self._opening = False
            return
        await self.close()
        reason = str(self._failure or "") or "no answer"
        raise Unreachable(
            f"no NATS server answers at {self.server} ({reason}): "
            "`parley up` starts one on this machine, --nats names another"
        ) from self._failure

    async def close(self) -> None:
        with (
            anyio.CancelScope(shield=True),
            anyio.move_on_after(CLOSE_WITHIN_S),
            # The library also closes what the loop has closed before it.
            suppress(nats.errors.Error, OSError, RuntimeError),
        ):
            await self.client.close()

    @contextmanager
    def watch(
        self, resumed: Callable[[], None], lost: Callable[[BusError], None]
    ) -> Iterator[None]:
        watcher = Watcher(resumed, lost)
        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    async def usable(self) -> None:
        """Waits out a disconnection; raises Unreachable when the connection is gone for good."""
        while not self.client.is_connected:
            if self.lost is not None:
                raise self.lost
            if self._back.is_set():
                self._back = anyio.Event()
            await self._back.wait()

    async def _connect(self, tls: ssl.SSLContext | None) -> None:
        server = self.server
        await self.client.connect(
            servers=list(server.urls),
            name=server.name,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=self._on_reconnected,
            closed_cb=self._on_closed,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # a float serves
            ping_interval=PING_INTERVAL_S,
            pending_size=BUFFER_BYTES,
            flush_timeout=FLUSH_WITHIN_S,
            inbox_prefix=server.inbox_prefix,
            user_credentials=server.credentials,
            nkeys_seed=str(server.nkey_seed) if server.nkey_seed else None,
            tls=tls,
        )

    async def _on_disconnected(self) -> None:
        self.epoch += 1
        for callback in tuple(self.dropped):
            callback()

    async def _on_reconnected(self) -> None:
        log.info("nats_reconnected", server=str(self.server))
        self._logged = ""
        self._back.set()
        for watcher in tuple(self._watchers):
            watcher.resumed()

    async def _on_closed(self) -> None:
        reason = self.client.last_error or "by us"
        self.lost = Unreachable(f"the connection to {self.server} was closed: {reason}")
        self._back.set()
        for watcher in tuple(self._watchers):
            watcher.lost(self.lost)

    async def _on_error(self, error: Exception) -> None:
        """Raises only out of the first `connect`; later it would end the library's read loop."""
        if self._opening:
            self._failure = error
            _raise_if_hopeless(error, self.server)
            return
        text = str(error) or type(error).__name__
        if text != self._logged:
            self._logged = text
            log.warning("nats_error", server=str(self.server), error=text)
        if "permissions violation" in text:
            subject = text.partition('"')[2].partition('"')[0]
            for callback in tuple(self.denied):
                callback(subject)


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[Connection]:
    connection = Connection(server)
    await connection.open()
    try:
        _check_version(connection)
        _check_tls(connection)
        yield connection
    finally:
        await connection.close()


def _raise_if_hopeless(error: Exception, server: Server) -> None:
    """Raised through nats-py's connect, which would otherwise try again for ever."""
    text = str(error).lower()
    if "authorization violation" in text or "authentication" in text:
        raise Unsuitable(f"credentials refused by {server}") from error
    if isinstance(error, ssl.SSLError):
        raise Unsuitable(f"no TLS connection with {server}: {error.reason}") from error


def _check_version(connection: Connection) -> None:
    version = connection.client.connected_server_version
    if (version.major, version.minor) < OLDEST_SERVER:
        wanted = ".".join(str(part) for part in OLDEST_SERVER)
        found = f"{version.major}.{version.minor}.{version.patch}"
        raise Unsuitable(
            f"nats-server {found} at {connection.server} is too old, {wanted} or newer is needed"
        )


def _check_tls(connection: Connection) -> None:
    """The library goes on in the clear when the server does not ask for TLS."""
    server = connection.server
    wanted = server.tls_ca or server.tls_cert or any(u.startswith("tls://") for u in server.urls)
    if wanted and not connection.client.server_requires_tls:
        raise Unsuitable(f"{server} does not offer TLS")


def _without_secrets(url: str) -> str:
    return url.rpartition("://")[2].rpartition("@")[2]
