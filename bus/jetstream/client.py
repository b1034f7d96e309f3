"""
nats-py with a shorter way in and out for messages.

The library parses the headers of every message that comes in, puts it into a queue and wakes a
task that awaits a callback; of every message that goes out it checks each header by pattern, and
makes a future. Nobody here needs that: acknowledgements, queues and tails only file what arrives,
and what leaves is spelled by us. `subscribe_direct` hands the raw message to a plain function
inside the read loop, `post` puts a finished command into the library's output buffer. Together
they halve the client's share of the CPU.
"""

import asyncio
from contextlib import suppress
from typing import Any

import anyio.lowlevel
import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport
from typing_extensions import override

from parley.bus.jetstream.parser import DirectParser, Receive

RETIRE_WITHIN_S = 2


class DirectClient(Client):
    def __init__(self) -> None:
        super().__init__()
        self._receivers: dict[int, Receive] = {}
        self._ps = DirectParser(self, self._receivers)
        # Wakes the library's flusher, which only asks whether somebody waits for it.
        self._loop = asyncio.get_running_loop()
        self._kick: asyncio.Future[None] = self._loop.create_future()
        self._kick.set_result(None)
        self._flushing = False

    @property
    def server_info(self) -> dict[str, Any]:
        return dict(self._server_info)

    @property
    def server_has_jetstream(self) -> bool:
        return bool(self._server_info.get("jetstream"))

    @property
    def server_requires_tls(self) -> bool:
        return bool(self._server_info.get("tls_required"))

    def post(self, subject: str, data: bytes, reply: str = "", headers: bytes = b"") -> None:
        """
        Like `publish`, without waiting; `headers` is a whole header block.

        While the connection is down it is kept and sent later, as far as the buffer goes.
        """
        if subject.split() != [subject]:
            raise nats.errors.BadSubjectError
        size = len(headers) + len(data)
        if size > self._max_payload:
            raise nats.errors.MaxPayloadError
        if not self.is_connected:
            self._check_that_it_can_wait()
        if headers:
            command = f"HPUB {subject} {reply} {len(headers)} {size}\r\n".encode()
        else:
            command = f"PUB {subject} {reply} {size}\r\n".encode()
        command = b"".join((command, headers, data, b"\r\n"))
        self._pending.append(command)
        self._pending_data_size += len(command)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """
        What was posted since the loop last looked around, in one write and without a task. The
        library's flusher, which waits, takes over where the socket takes no more.
        """
        self._flushing = False
        writer = self._idle_writer()
        if self._pending and writer is not None:
            writer.writelines(self._pending)
            self._pending, self._pending_data_size = [], 0
        elif self._flush_queue is not None and self._flush_queue.empty():
            self._flush_queue.put_nowait(self._kick)

    def _idle_writer(self) -> asyncio.StreamWriter | None:
        """None where something still waits to be sent."""
        if not self.is_connected or not isinstance(self._transport, TcpTransport):
            return None
        writer = self._transport._io_writer  # noqa: SLF001 - the library has no public name
        if writer is None or writer.is_closing() or writer.transport.get_write_buffer_size():
            return None
        return writer

    def _check_that_it_can_wait(self) -> None:
        if self.is_closed:
            raise nats.errors.ConnectionClosedError
        if self.congested:
            raise nats.errors.OutboundBufferLimitError

    @property
    def congested(self) -> bool:
        """More is waiting to be sent than should be; whoever goes on posting awaits `relief`."""
        return self._pending_data_size > self._max_pending_size

    async def relief(self) -> None:
        await self._flush_pending(force_flush=True)
        # The library swallows a cancellation that arrives there.
        await anyio.lowlevel.checkpoint()

    async def understood(self, within_s: int) -> None:
        """Until the server has read all that was posted; alone, the library's ping would overtake it."""
        await self.relief()
        await self.flush(within_s)

    async def subscribe_direct(self, subject: str, receive: Receive) -> Subscription:
        # Filed before the server hears of it, so that the first message already finds its way.
        self._receivers[self._sid + 1] = receive
        return await self.subscribe(subject)

    async def unsubscribe_direct(self, subscription: Subscription) -> None:
        self._receivers.pop(subscription._id, None)  # noqa: SLF001 - the library has no public name
        with suppress(nats.errors.Error, OSError):
            await subscription.unsubscribe()

    async def retire(self, subscription: Subscription) -> None:
        """Like `unsubscribe_direct`, but what was sent before the server heard of it still arrives."""
        with suppress(nats.errors.Error, OSError):
            await subscription.unsubscribe()
            await self.understood(RETIRE_WITHIN_S)
        self._receivers.pop(subscription._id, None)  # noqa: SLF001 - the library has no public name

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


def text_of(raw: bytes) -> str:
    """The server takes any bytes for a subject; what is no text must not end the read loop."""
    return raw.decode("utf-8", "replace")


def status_of(headers: bytes) -> int:
    """The inline status of a message without content (`NATS/1.0 408 Request Timeout`), or 0."""
    code = headers[9:12]
    return int(code) if headers.startswith(b"NATS/1.0 ") and code.isdigit() else 0


def header_of(headers: bytes, name: bytes) -> str | None:
    """
    The last header of this name: the server's own, where it adds one.

    It writes its headers behind the publisher's, who may have written the same names.
    """
    start = headers.rfind(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    return headers[start:].partition(b"\r\n")[0].strip().decode("utf-8", "replace")
