"""
nats-py with a shorter way in for messages.

The library parses the headers of every message, puts it into a queue and wakes a task that awaits
a callback. Nobody here needs that: acknowledgements, queues and tails only file what arrives. A
direct subscription hands the raw message to a plain function inside the read loop instead, which
halves the client's share of the CPU.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from typing_extensions import override

# (subject, reply, data, header block as it came, empty if there is none). Must not raise: that
# would end the read loop.
Receive = Callable[[bytes, bytes, bytes, bytes], None]


class DirectClient(Client):
    def __init__(self) -> None:
        super().__init__()
        self._receivers: dict[int, Receive] = {}

    @property
    def server_has_jetstream(self) -> bool:
        return bool(self._server_info.get("jetstream"))

    async def subscribe_direct(self, subject: str, receive: Receive) -> Subscription:
        # Filed before the server hears of it, so that the first message already finds its way.
        self._receivers[self._sid + 1] = receive
        return await self.subscribe(subject)

    async def unsubscribe_direct(self, subscription: Subscription) -> None:
        self._receivers.pop(subscription._id, None)  # noqa: SLF001 - the library has no public name
        with suppress(nats.errors.Error, OSError):
            await subscription.unsubscribe()

    @override
    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None
    ) -> None:
        receive = self._receivers.get(sid)
        if receive is None:
            await super()._process_msg(sid, subject, reply, data, headers or b"")
        else:
            receive(subject, reply, data, headers or b"")


class Wake:
    """Wakes one waiting task; cheaper than an Event that has to be made anew every time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._set = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        if not self._set:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        self._set = False


def status_of(headers: bytes) -> int:
    """The inline status of a message without content (`NATS/1.0 408 Request Timeout`), or 0."""
    code = headers[9:12]
    return int(code) if headers[8:9] == b" " and code.isdigit() else 0


def header_of(headers: bytes, name: bytes) -> str | None:
    start = headers.find(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    return headers[start : headers.index(b"\r\n", start)].strip().decode("utf-8", "replace")
