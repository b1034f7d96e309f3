"""
An ordered reader: every matching record once, in order, whatever happens to the connection.

A consumer without acknowledgements lives as long as nothing goes wrong. A gap in its numbers, an
error status, missed heartbeats or a reconnection end it, and the next one starts behind the last
record that was handed on.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress

import anyio
import nats.errors
import structlog

from parley.bus.errors import BusError, Unavailable, Unsuitable
from parley.bus.jetstream.client import Wake, status_of
from parley.bus.jetstream.records import is_handed_out, position_of, record_handed_out
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import Record

CREDIT = 2000
EXPIRES_S = 60
HEARTBEAT_S = 1
SILENCE_S = 3.0
TICK_S = 0.5
FORGOTTEN_AFTER_S = 30
RETRY_PAUSE_S = 0.1
HEARTBEAT = 100
REQUEST_TIMEOUT = 408

log = structlog.get_logger()


class Tail:
    # Records come without their data.
    headers_only = False

    def __init__(
        self,
        replies: Replies,
        stream: str,
        filters: Sequence[str],
        start: int,
        on: Callable[[Sequence[Record]], None],
    ) -> None:
        self._connection = replies.connection
        self._client = replies.connection.client
        self._replies = replies
        self._stream = stream
        self._filters = list(filters)
        self._next = max(1, start)
        self._on = on
        self._loop = asyncio.get_running_loop()
        self._wake = Wake()
        self._lost: BusError | None = None
        self._begin()

    def _begin(self) -> None:
        self._arrived: list[Record] = []
        self._expected = 1
        self._credit = 0
        self._broken = False
        self._heard = self._loop.time()

    @property
    def following(self) -> int:
        """The first sequence that was not handed on."""
        return self._next

    async def run(self) -> None:
        with self._connection.watch(self._break, self._lose):
            while True:
                await self._connection.usable()
                try:
                    await self._follow()
                except (Unavailable, nats.errors.Error, OSError) as error:
                    log.info("tail_interrupted", stream=self._stream, error=str(error))
                except ApiError as error:
                    if error.code == 404:  # noqa: PLR2004 - not found
                        raise Unsuitable(
                            f"stream {self._stream} does not exist ({error})"
                        ) from error
                    log.info("tail_interrupted", stream=self._stream, error=str(error))
                await anyio.sleep(RETRY_PAUSE_S)

    async def _follow(self) -> None:
        """One consumer's life."""
        self._begin()
        inbox = self._client.new_inbox()
        consumer = inbox.rpartition(".")[2]
        subscription = await self._client.subscribe_direct(inbox, self._receive)
        self._timer = self._loop.call_later(TICK_S, self._tick)
        try:
            await self._create(consumer)
            await self._check_end()
            while not self._broken:
                if self._lost is not None:
                    raise self._lost
                if self._credit <= CREDIT // 2:
                    await self._ask(consumer, inbox)
                await self._wake.wait()
                self._hand_on()
        finally:
            self._timer.cancel()
            await self._client.unsubscribe_direct(subscription)
            with suppress(nats.errors.Error, OSError):
                await self._client.publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{consumer}")

    async def _create(self, consumer: str) -> None:
        config = {
            "name": consumer,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._next,
            "filter_subjects": self._filters,
            "ack_policy": "none",
            "headers_only": self.headers_only,
            "inactive_threshold": FORGOTTEN_AFTER_S * 10**9,
            "mem_storage": True,
            "num_replicas": 1,
        }
        await self._replies.ask(
            f"$JS.API.CONSUMER.CREATE.{self._stream}.{consumer}",
            {"stream_name": self._stream, "config": config},
        )

    async def _check_end(self) -> None:
        """Raises Unsuitable where the log is shorter than it was: what we know of it is wrong."""
        info = await self._replies.ask(f"$JS.API.STREAM.INFO.{self._stream}")
        last, read = info["state"]["last_seq"], self._next - 1
        if last < read:
            raise Unsuitable(
                f"stream {self._stream} was set back from record {read} to {last}:"
                " start again to read it anew"
            )

    async def _ask(self, consumer: str, inbox: str) -> None:
        batch = CREDIT - self._credit
        self._credit += batch
        request = {
            "batch": batch,
            "expires": EXPIRES_S * 10**9,
            "idle_heartbeat": HEARTBEAT_S * 10**9,
        }
        await self._client.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{consumer}",
            json.dumps(request).encode(),
            inbox,
        )

    def _tick(self) -> None:
        if self._loop.time() - self._heard > SILENCE_S:
            self._break()
        self._timer = self._loop.call_later(TICK_S, self._tick)

    def _hand_on(self) -> None:
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._on(arrived)
            self._next = arrived[-1].sequence + 1

    def _receive(self, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        self._heard = self._loop.time()
        if not is_handed_out(reply):
            self._note(status_of(headers))
            return
        if self._broken:
            return
        _, sequence, consumer_sequence, time_ns = position_of(reply)
        if consumer_sequence != self._expected:
            self._break()
            return
        self._expected += 1
        self._credit -= 1
        self._arrived.append(record_handed_out(subject, data, headers, (sequence, time_ns)))
        self._wake.set()

    def _note(self, status: int) -> None:
        if status == REQUEST_TIMEOUT:
            self._credit = 0
            self._wake.set()
        elif status != HEARTBEAT:
            self._break()

    def _break(self) -> None:
        self._broken = True
        self._wake.set()

    def _lose(self, error: BusError) -> None:
        self._lost = error
        self._wake.set()


class HeadersTail(Tail):
    headers_only = True
