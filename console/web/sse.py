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

# A comment that keeps proxies and the viewer's own timers content.
HEARTBEAT_S = 10.0
HEARTBEAT = b": still here\n\n"
# What a browser waits before it connects again.
HELLO = b"retry: 500\n\n"
SENT_WITHIN_S = 10.0

log = structlog.get_logger()


def event(name: str, data: bytes, number: int | None = None) -> bytes:
    """`data` is JSON on one line."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: ".encode() + data + b"\n\n"


class EventStream:
    """
    An answer that goes on until `frames` ends, the viewer is gone or `stop` is set.

    `seat` is what the viewer holds while it lasts.
    """

    def __init__(
        self, frames: AsyncGenerator[bytes], stop: anyio.Event, seat: AsyncExitStack
    ) -> None:
        self._frames = frames
        self._stop = stop
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._seat, aclosing(self._frames):
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        dropped = False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_notice_departure, receive, tasks.cancel_scope)
            tasks.start_soon(_notice_stop, self._stop, tasks.cancel_scope)
            dropped = scope["method"] != "HEAD" and not await self._send_all(send)
            tasks.cancel_scope.cancel()
        if not dropped:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, send: Send) -> bool:
        """False if the viewer had to be dropped: then there is no way to end it politely."""
        await send({"type": "http.response.body", "body": HELLO, "more_body": True})
        try:
            async for frame in self._frames:
                with anyio.move_on_after(SENT_WITHIN_S) as patience:
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
                if patience.cancelled_caught:
                    log.info("viewer_dropped", reason="it does not read")
                    return False
        except BusError as error:
            log.info("viewer_dropped", reason=str(error))
        return True


async def _notice_departure(receive: Receive, everything: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    everything.cancel()


async def _notice_stop(stop: anyio.Event, everything: anyio.CancelScope) -> None:
    await stop.wait()
    everything.cancel()
