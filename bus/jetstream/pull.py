"""
A worker at a queue: a standing request for as many records as it has free slots, and no more.

Records that waited in the client would run out of time and be handed out twice. The request is
renewed at half its credit, and whenever the server may have forgotten it: after a reconnection,
an error status, or missed heartbeats.

A worker that is told to stop takes its request back first. What the server had sent by then is
handled like everything before it: giving it back would only make it come a second time.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import nats.errors
import structlog
from nats.aio.subscription import Subscription

from parley.bus.errors import BusError, Unavailable, Unsuitable
from parley.bus.jetstream.client import DirectClient, Wake, header_of, status_of
from parley.bus.jetstream.clock import ServerClock
from parley.bus.jetstream.records import is_handed_out, position_of, record_handed_out
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import IMPORTED, Delivery, Record

# Below the ack_wait of every queue: in a cluster the server cannot see that a worker of another
# account is gone, and hands out records to its request until that expires.
EXPIRES_NS = 4 * 10**9
HEARTBEAT_NS = 2 * 10**9
SILENCE_S = 5.0
TICK_S = 1.0
TROUBLE_PAUSE_S = 0.25
HEARTBEAT = 100
REQUEST_TIMEOUT = 408
NO_RESPONDERS = 503
_IMPORTED = f"\r\n{IMPORTED}\r\n".encode()

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Handed:
    """A record on loan from a queue; not frozen, which would triple the cost of making one."""

    record: Record
    attempt: int
    client: DirectClient
    clock: ServerClock
    reply: str
    slot: anyio.CancelScope | None = None

    @property
    def age_s(self) -> float:
        return self.clock.age_s(self.record.time_ns)

    async def ack(self) -> None:
        self._answer(b"")

    async def nak(self, delay_s: float = 0.0) -> None:
        delay = b' {"delay": %d}' % int(delay_s * 1e9) if delay_s > 0 else b""
        self._answer(b"-NAK" + delay)

    async def in_progress(self) -> None:
        self._answer(b"+WPI")

    def interrupt(self) -> None:
        if self.slot is not None:
            self.slot.cancel()

    async def term(self, reason: str) -> None:
        self._answer(b"+TERM " + " ".join(reason.split()).encode("utf-8", "replace"))

    def _answer(self, data: bytes) -> None:
        try:
            self.client.post(self.reply, data)
        except (nats.errors.Error, OSError) as error:
            # It costs a second delivery, which every handler has to stand.
            log.debug("answer_lost", subject=self.record.subject, error=str(error))


class Worker:
    def __init__(
        self,
        replies: Replies,
        stream: str,
        queue: str,
        slots: int,
        handle: Callable[[Delivery], Awaitable[None]],
    ) -> None:
        self._connection = replies.connection
        self._client = replies.connection.client
        self._replies = replies
        self._consumer = f"{stream}.{queue}"
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{queue}"
        self._queue = queue
        self._slots = slots
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._clock = ServerClock()
        self._timed_in = -1
        self._inbox = self._client.new_inbox()
        self._wake = Wake()
        self._lost: BusError | None = None
        self._stopping = False
        self._retired = False
        self._heard = self._loop.time()
        # The status that ended a request before its time, until it is dealt with.
        self._trouble = 0
        # Slots that work, credit the server holds; `_waiting` only fills up beyond the free slots
        # when a request that was given up for lost is answered after all.
        self._busy = 0
        self._asked = 0
        self._waiting: deque[Handed] = deque()
        self._idle: list[asyncio.Future[None]] = []

    async def run(self, stop: anyio.Event | None) -> None:
        subscription = await self._client.subscribe_direct(self._inbox, self._receive)
        try:
            with self._connection.watch(self._rearm, self._lose):
                async with anyio.create_task_group() as tasks:
                    if stop is not None:
                        tasks.start_soon(self._drain, stop, subscription)
                    for _ in range(self._slots):
                        tasks.start_soon(self._serve)
                    failure = await self._keep_asking()
                    tasks.cancel_scope.cancel()
            if failure is not None:
                raise failure
        finally:
            await self._client.unsubscribe_direct(subscription)

    async def _drain(self, stop: anyio.Event, subscription: Subscription) -> None:
        await stop.wait()
        self._stopping = True
        await self._client.retire(subscription)
        for _ in range(len(self._waiting) - (self._slots - self._busy)):
            await self._waiting.pop().nak()
        self._retired = True
        self._wake.set()

    def _drained(self) -> bool:
        return self._retired and self._busy == 0 and not self._waiting

    async def _keep_asking(self) -> BusError | None:
        """What ended it, or None once everything is finished after a stop."""
        while self._lost is None and not self._drained():
            if self._trouble:
                self._lost = await self._overcome()
                continue
            if self._timed_in != self._connection.epoch:
                await self._ask_the_time()
            if self._loop.time() - self._heard > SILENCE_S:
                self._rearm()
            if self._due():
                self._ask()
            timer = self._loop.call_later(TICK_S, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()
        return self._lost

    async def _ask_the_time(self) -> None:
        """Once for every connection: the server behind it may be another one."""
        self._timed_in = self._connection.epoch
        with suppress(ApiError, BusError):
            info = await self._replies.ask(f"$JS.API.CONSUMER.INFO.{self._consumer}")
            self._clock.set(info["ts"])

    async def _serve(self) -> None:
        """A slot. It needs a new scope only after one of its deliveries was interrupted."""
        while True:
            with anyio.CancelScope() as slot:
                while not slot.cancel_called:
                    await self._serve_next(slot)

    async def _serve_next(self, slot: anyio.CancelScope) -> None:
        while not self._waiting:
            turn = self._loop.create_future()
            self._idle.append(turn)
            await turn
        delivery = self._waiting.popleft()
        delivery.slot = slot
        self._busy += 1
        if self._due():
            self._ask()
        try:
            await self._handle(delivery)
        finally:
            delivery.slot = None
            self._busy -= 1
            if self._stopping:
                self._wake.set()
            elif self._due():
                self._ask()

    def _free(self) -> int:
        return self._slots - self._busy - len(self._waiting) - self._asked

    def _due(self) -> bool:
        free = self._free()
        return free > 0 and (self._asked == 0 or free * 2 >= self._slots)

    def _ask(self) -> None:
        if self._trouble or self._stopping or not self._client.is_connected:
            return
        batch = self._free()
        self._asked += batch
        request = b'{"batch":%d,"expires":%d,"idle_heartbeat":%d}' % (
            batch,
            EXPIRES_NS,
            HEARTBEAT_NS,
        )
        with suppress(nats.errors.Error):
            self._client.post(self._next, request, self._inbox)

    def _receive(self, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        self._heard = self._loop.time()
        if not is_handed_out(reply):
            self._note(status_of(headers), headers)
            return
        attempt, sequence, _, time_ns = position_of(reply)
        record = record_handed_out(subject, data, headers, (sequence, time_ns))
        if _IMPORTED in headers:
            record = record._replace(imported=True)
        if self._asked > 0:
            self._asked -= 1
        self._waiting.append(Handed(record, attempt, self._client, self._clock, reply.decode()))
        while self._idle:
            turn = self._idle.pop()
            if not turn.done():
                turn.set_result(None)
                break

    def _note(self, status: int, headers: bytes) -> None:
        if status == HEARTBEAT:
            return
        if status != REQUEST_TIMEOUT:
            self._trouble = status
        unserved = header_of(headers, b"Nats-Pending-Messages")
        self._asked = max(0, self._asked - int(unserved)) if unserved else 0
        self._wake.set()

    async def _overcome(self) -> BusError | None:
        """Waits a moment before asking again; an answer means that asking is useless."""
        failure = await self._explain_absence() if self._trouble == NO_RESPONDERS else None
        await anyio.sleep(TROUBLE_PAUSE_S)
        self._trouble = 0
        return failure or self._lost

    async def _explain_absence(self) -> BusError | None:
        """Nobody took the request: the queue was never made, or its leader is being elected."""
        try:
            await self._replies.ask(f"$JS.API.CONSUMER.INFO.{self._consumer}")
        except ApiError as error:
            if error.code == 404:  # noqa: PLR2004 - not found
                return Unsuitable(f"queue {self._queue} does not exist ({error})")
            log.warning("queue_unavailable", queue=self._queue, error=str(error))
        except (Unavailable, Unsuitable) as error:
            log.warning("queue_unavailable", queue=self._queue, error=str(error))
        return None

    def _rearm(self) -> None:
        self._asked = 0
        self._heard = self._loop.time()
        self._wake.set()

    def _lose(self, error: BusError) -> None:
        self._lost = error
        self._wake.set()
