"""
Server-sent events: how they are spelled, and how they leave.

A viewer who does not read is not waited for: what cannot be sent in time ends the stream, and the
viewer comes back with the id of the last event it got.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing

import anyio
import structlog
from starlette.types import Receive, Scope, Send

from parley.bus.errors import BusError
from parley.bus.position import Position
from parley.console.web.problems import Refusal

# A comment that keeps proxies and the viewer's own timers content.
HEARTBEAT_S = 10.0
HEARTBEAT = b": still here\n\n"
# What a browser waits before it connects again.
HELLO = b"retry: 500\n\n"
SENT_WITHIN_S = 10.0
LOOKED_AT_EVERY_S = 0.5
MOST_VIEWERS = 1000
TOO_MANY = 429

log = structlog.get_logger()


def event(name: str, data: bytes, number: int | Position | None = None) -> bytes:
    """`data` is JSON on one line."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: ".encode() + data + b"\n\n"


class Audience:
    """Everybody who follows a stream; one look at all of them is cheaper than a timer for each."""

    def __init__(self) -> None:
        self._streams: set[EventStream] = set()
        self._dismissed = False

    def __len__(self) -> int:
        return len(self._streams)

    def check_room(self) -> None:
        """Raises Refusal when all seats are taken."""
        if len(self._streams) >= MOST_VIEWERS:
            raise Refusal(TOO_MANY, f"{MOST_VIEWERS} viewers are here already", Retry_After="5")

    def join(self, stream: "EventStream") -> None:
        self._streams.add(stream)
        if self._dismissed:
            stream.end()

    def leave(self, stream: "EventStream") -> None:
        self._streams.discard(stream)

    def dismiss(self) -> None:
        """End every stream, also those to come: viewers come back to the next process."""
        self._dismissed = True
        for stream in self._streams:
            stream.end()

    async def look_after(self) -> None:
        """Until cancelled."""
        while True:
            await anyio.sleep(LOOKED_AT_EVERY_S)
            oldest = anyio.current_time() - SENT_WITHIN_S
            for stream in self._streams:
                stream.drop_if_stuck_since(oldest)


class EventStream:
    """
    An answer that goes on until `frames` ends, the viewer is gone or the audience is dismissed.

    `held` is what the viewer holds while it lasts.
    """

    def __init__(
        self,
        frames: AsyncGenerator[bytes],
        audience: Audience,
        held: AsyncExitStack | None = None,
    ) -> None:
        self._frames = frames
        self._audience = audience
        self._held = held or AsyncExitStack()
        self._scope = anyio.CancelScope()
        # When the frame began to be sent that is not sent yet.
        self._sending_since: float | None = None
        self._dropped = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held, aclosing(self._frames):
            await self._answer(scope, receive, send)

    def end(self) -> None:
        self._scope.cancel()

    def drop_if_stuck_since(self, moment: float) -> None:
        if self._sending_since is not None and self._sending_since < moment:
            log.info("viewer_dropped", reason="it does not read")
            self._dropped = True
            self.end()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "GET":
            self._audience.join(self)
            try:
                with self._scope:
                    await self._send_while_there(receive, send)
            finally:
                self._audience.leave(self)
        # One that was dropped cannot be told.
        if not self._dropped:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_while_there(self, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_notice_departure, receive, tasks.cancel_scope)
            await self._send_all(send)
            tasks.cancel_scope.cancel()

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": HELLO, "more_body": True})
        try:
            async for frame in self._frames:
                self._sending_since = anyio.current_time()
                await send({"type": "http.response.body", "body": frame, "more_body": True})
                self._sending_since = None
        except BusError as error:
            log.info("viewer_dropped", reason=str(error))


async def _notice_departure(receive: Receive, everything: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    everything.cancel()
