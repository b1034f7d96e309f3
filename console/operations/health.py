"""
Probes over HTTP: GET and HEAD, one answer for each connection.

    /healthz   the event loop turns
    /readyz    connected, and at work: the queue is served, the log followed, the debates listed; not
               while draining
    /metrics   figures in the Prometheus text format
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import SocketStream

from parley.bus.errors import BadInput, BusError
from parley.bus.metrics import Metric, Metrics, exposition, summed
from parley.bus.port import Bus, Presence
from parley.bus.telemetry import Telemetry
from parley.client import Client
from parley.console.cli.logs import heard_by

BEAT_S = 1.0
# A loop whose last beat is older than this hangs.
STALE_S = 5.0
PATIENCE_S = 5.0
LARGEST_REQUEST = 8192
# Connections that say nothing keep no probe out: beyond so many, the longest silent one is closed.
MOST_WAITING = 128
SCRAPES_AT_ONCE = 4

UP = Metric("parley_bus_up", "Whether the server is reached.", gauge=True)
LOSSES = Metric("parley_bus_disconnections_total", "How often the connection broke.")
OPEN = Metric("parley_open_debates", "Open debates this replica acts on.", gauge=True)
IN_FLIGHT = Metric(
    "parley_asks_in_flight", "Asks being thought about.", ("panel", "persona"), gauge=True
)
LISTED = Metric("parley_web_debates", "Debates in the page's list.", gauge=True)
VIEWERS = Metric("parley_web_viewers", "Who follows debates on the page.", gauge=True)
# By the name of the figure in which a process says it of itself.
OPEN_FIGURE, IN_FLIGHT_FIGURE = "open_debates", "in_flight"
OF_THIS_MOMENT = {
    OPEN_FIGURE: OPEN,
    IN_FLIGHT_FIGURE: IN_FLIGHT,
    "listed": LISTED,
    "viewers": VIEWERS,
}
WAITING = Metric(
    "parley_asks_waiting", "Asks that nobody has taken yet.", ("panel", "persona"), gauge=True
)
DEAD = Metric("parley_dead_letters", "Dead letters that nobody has seen to.", gauge=True)
# How long a scrape waits for the server; a figure that it does not give is left out.
FIGURE_WITHIN_S = 1.0

OK, NOT_FOUND, NOT_ALLOWED, UNAVAILABLE = (
    "200 OK", "404 Not Found", "405 Method Not Allowed", "503 Service Unavailable",
)  # fmt: skip
PLAIN = "text/plain; charset=utf-8"
EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"


class Member(Protocol):
    """Whoever works in this process: a coordinator, an agent, the page."""

    @property
    def ready(self) -> anyio.Event: ...

    @property
    def metrics(self) -> Metrics: ...

    def describe(self) -> Presence: ...


@dataclass(slots=True)
class Vitals:
    bus: Bus
    staff: Sequence[Member]
    stop: anyio.Event
    beat: float = field(default_factory=anyio.current_time)
    scrapes: anyio.CapacityLimiter = field(
        default_factory=lambda: anyio.CapacityLimiter(SCRAPES_AT_ONCE)
    )

    async def keep_beating(self) -> None:
        while True:
            self.beat = anyio.current_time()
            await anyio.sleep(BEAT_S)

    def alive(self) -> bool:
        return anyio.current_time() - self.beat < STALE_S

    def missing(self) -> list[str]:
        """Why work should not be expected from here."""
        starting = sum(not one.ready.is_set() for one in self.staff)
        return [
            *(["draining"] if self.stop.is_set() else []),
            *([] if self.bus.link.up else ["not connected to the server"]),
            *([f"{starting} of {len(self.staff)} not at work yet"] if starting else []),
        ]

    async def metrics(self) -> Metrics:
        """One request for each persona of this process, and one for its coordinator."""
        async with self.scrapes:
            return await self._figures()

    async def _figures(self) -> Metrics:
        now = Metrics()
        now.put(UP, float(self.bus.link.up))
        now.put(LOSSES, self.bus.link.losses)
        for one in self.staff:
            present = one.describe()
            for name, value in present.figures.items():
                metric = OF_THIS_MOMENT.get(name)
                if metric is not None:
                    now.put(metric, value, *(present.labels[label] for label in metric.labels))
            if IN_FLIGHT_FIGURE in present.figures:
                where = present.labels["panel"], present.labels["persona"]
                await self._put(now, WAITING, self.bus.waiting_in("-".join(where)), *where)
            if OPEN_FIGURE in present.figures:
                await self._put(now, DEAD, self.bus.count_dead())
        return summed([now, *(one.metrics for one in self.staff)])

    async def _put(
        self, metrics: Metrics, metric: Metric, figure: Awaitable[int], *where: str
    ) -> None:
        with anyio.move_on_after(FIGURE_WITHIN_S), suppress(BusError):
            metrics.put(metric, await figure, *where)


@asynccontextmanager
async def probed(client: Client, staff: Sequence[Member], stop: anyio.Event) -> AsyncIterator[None]:
    """
    While the context lasts, probes are answered, if the settings name a port; and the same figures
    and what is logged are sent to a collector, if they name one.
    """
    settings, telemetry = client.settings, client.journal.telemetry
    vitals = Vitals(client.journal.bus, staff, stop)
    health = settings.health
    async with AsyncExitStack() as stack:
        if telemetry.on:
            sending = _sending(telemetry, vitals, settings.telemetry.interval_s)
            await stack.enter_async_context(sending)
        if health.port is not None:
            await stack.enter_async_context(_answering(health.host, health.port, vitals))
        yield


@asynccontextmanager
async def _sending(telemetry: Telemetry, vitals: Vitals, interval_s: float) -> AsyncIterator[None]:
    telemetry.serve_as(vitals.staff[0].describe().service)

    async def send() -> None:
        figures = await vitals.metrics()
        await anyio.to_thread.run_sync(telemetry.measure, figures, abandon_on_cancel=True)

    async def keep_sending() -> None:
        while True:
            await anyio.sleep(interval_s)
            await send()

    with heard_by(telemetry.log):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_sending)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
        with anyio.move_on_after(PATIENCE_S, shield=True):
            await send()


@asynccontextmanager
async def _answering(host: str, port: int, vitals: Vitals) -> AsyncIterator[None]:
    try:
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as error:
        raise BadInput(f"health: cannot listen at {host}:{port}: {error.strerror}") from error
    # Whose request has not arrived, the one that waits longest first.
    waiting: dict[anyio.CancelScope, None] = {}

    async def answer(stream: SocketStream) -> None:
        if len(waiting) >= MOST_WAITING:
            longest = next(iter(waiting))
            del waiting[longest]
            longest.cancel()
        async with stream:
            with anyio.move_on_after(PATIENCE_S) as patience:
                waiting[patience] = None
                try:
                    request = await _request_line(stream)
                    waiting.pop(patience, None)
                    await stream.send(await _answer(request, vitals))
                except (anyio.BrokenResourceError, anyio.EndOfStream):
                    return
                finally:
                    waiting.pop(patience, None)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(vitals.keep_beating)
        tasks.start_soon(listener.serve, answer)
        yield
        tasks.cancel_scope.cancel()


async def _request_line(stream: SocketStream) -> str:
    """Everything is read before the answer, or closing the connection would cut the answer off."""
    request = b""
    while b"\r\n\r\n" not in request and len(request) < LARGEST_REQUEST:
        request += await stream.receive()
    return request.partition(b"\r\n")[0].decode("latin-1")


async def _answer(request_line: str, vitals: Vitals) -> bytes:
    method, _, target = request_line.partition(" ")
    path = target.partition(" ")[0].partition("?")[0]
    status, media_type, text = await _page(path, vitals)
    if method not in {"GET", "HEAD"}:
        status, media_type, text = NOT_ALLOWED, PLAIN, "only GET and HEAD\n"
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)


async def _page(path: str, vitals: Vitals) -> tuple[str, str, str]:
    match path:
        case "/healthz":
            alive = vitals.alive()
            return (OK, PLAIN, "ok\n") if alive else (UNAVAILABLE, PLAIN, "the loop hangs\n")
        case "/readyz":
            missing = vitals.missing()
            text = "\n".join(missing or ["ready"]) + "\n"
            return (UNAVAILABLE if missing else OK), PLAIN, text
        case "/metrics":
            return OK, EXPOSITION, exposition([await vitals.metrics()])
        case _:
            return NOT_FOUND, PLAIN, "healthz, readyz, metrics\n"
