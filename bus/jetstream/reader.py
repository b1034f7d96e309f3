"""
Following the log without a consumer: for logins that may not make one.

The server repeats on `live.` what it has stored. That tells when there is something to read; what
it is, is read from behind the last record that was handed on, so that nothing is left out, comes
twice or in another order, whatever was lost on the way. A look now and then finds what nobody
heard of: a record whose leader died before it repeated it, and what is not repeated at all.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import anyio
import structlog

from parley.bus.errors import BusError, Unavailable
from parley.bus.jetstream.client import Wake, header_of
from parley.bus.jetstream.connection import Connection
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.records import record_of_headers
from parley.bus.port import Record
from parley.bus.subjects import LIVE
from parley.bus.wildcards import matches

LOOK_AGAIN_S = 5.0
RETRY_PAUSE_S = 0.1
EVERYTHING = ">"

log = structlog.get_logger()


class Reader:
    def __init__(
        self,
        connection: Connection,
        stream: Log,
        filters: Sequence[str],
        start: int,
        on: Callable[[Sequence[Record]], None],
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._filters = filters
        # One read for all filters: reading one after the other would mix up their order.
        self._read = filters[0] if len(filters) == 1 else EVERYTHING
        self._next = max(1, start)
        self._on = on
        self._wake = Wake()
        self._lost: BusError | None = None

    async def run(self, repeated: Sequence[str]) -> None:
        """`repeated` are those of the filters that the server repeats."""
        client = self._connection.client
        async with AsyncExitStack() as subscriptions:
            for one in repeated:
                subscription = await client.subscribe_direct(f"{LIVE}.{one}", self._hear)
                subscriptions.push_async_callback(client.unsubscribe_direct, subscription)
            with self._connection.watch(self._wake.set, self._lose):
                await self._follow()

    async def _follow(self) -> None:
        while self._lost is None:
            try:
                await self._catch_up()
            except Unavailable as error:
                log.info("reading_interrupted", error=str(error))
                await anyio.sleep(RETRY_PAUSE_S)
                continue
            with anyio.move_on_after(LOOK_AGAIN_S):
                await self._wake.wait()
        raise self._lost

    async def _catch_up(self) -> None:
        async for page in self._stream.pages(self._read, self._next):
            wanted = [one for one in page if any(matches(f, one.subject) for f in self._filters)]
            self._next = page[-1].sequence + 1
            if wanted:
                self._on(wanted)

    def _hear(self, _subject: bytes, _reply: bytes, _data: bytes, headers: bytes) -> None:
        """Partial text is said there as well, and is no reason to read."""
        if headers and header_of(headers, b"Nats-Sequence"):
            self._wake.set()

    def _lose(self, error: BusError) -> None:
        self._lost = error
        self._wake.set()


def repeated_record(subject: str, data: bytes, headers: bytes) -> Record | None:
    """
    A record as the server repeats it; None for what else is said there.

    Its subject is where it was heard: a persona may say what it likes in the headers of its
    partial text, but only there.
    """
    if not headers or header_of(headers, b"Nats-Sequence") is None:
        return None
    try:
        found = record_of_headers(headers, data)
    except ValueError:
        return None
    return found._replace(subject=subject.removeprefix(f"{LIVE}."))
