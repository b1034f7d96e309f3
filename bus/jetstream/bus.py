"""The port of the bus, on JetStream."""

import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import anyio
import nats.errors

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BusError, Unavailable, Unsuitable
from parley.bus.jetstream import infra, inspect, micro
from parley.bus.jetstream.archive import JetStreamArchive
from parley.bus.jetstream.blobs import Blobs
from parley.bus.jetstream.connection import Connection, Server, connect
from parley.bus.jetstream.dead import DeadLetters, announced, delete, purge
from parley.bus.jetstream.differences import Difference
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.inspect import QueueState, ServerState, StreamState
from parley.bus.jetstream.listen import listen
from parley.bus.jetstream.newest import newest
from parley.bus.jetstream.reader import repeated_record
from parley.bus.jetstream.register import JetStreamRegister
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.jetstream.shelf import JetStreamShelf
from parley.bus.jetstream.streams import Streams
from parley.bus.port import (
    DeadLetter,
    Delivery,
    Endpoint,
    Entry,
    Link,
    Presence,
    PromptedAgent,
    Queue,
    Record,
    Trace,
)
from parley.bus.position import LAST, Place, Position, Start
from parley.bus.subjects import LIVE, Subjects


class JetStreamBus:
    def __init__(self, replies: Replies, layout: Layout) -> None:
        self.layout = layout
        self._connection = replies.connection
        self._replies = replies
        self._streams = Streams(replies, layout)
        writer = self._streams.first.writer
        self._blobs = Blobs(replies, writer, layout)
        self._archive = JetStreamArchive(replies, layout.archive)
        self._dead = DeadLetters(replies, writer, layout)

    @property
    def link(self) -> Link:
        return Link(self._connection.client.is_connected, self._connection.epoch)

    async def plan(self, *queues: Queue) -> list[Difference]:
        return await infra.plan(self._replies, infra.resources(self.layout, queues))

    async def apply(self, *queues: Queue, allow_loss: bool = False) -> list[Difference]:
        wanted = infra.resources(self.layout, queues)
        return await infra.apply(self._replies, wanted, allow_loss=allow_loss)

    async def create_missing(self) -> None:
        await infra.create_missing(self._replies, infra.resources(self.layout))

    async def plan_essentials(self) -> list[Difference]:
        return await infra.plan(self._replies, infra.essentials(self.layout))

    async def ensure_queue(self, queue: Queue) -> None:
        await infra.apply(self._replies, infra.queue_resources(self.layout, [queue]))

    async def server_state(self) -> ServerState:
        return await inspect.server_state(self._replies)

    async def streams(self) -> list[StreamState]:
        layout = self.layout
        names = (*layout.logs, layout.archive, layout.blobs, layout.dead)
        return await inspect.stream_states(self._replies, names)

    async def queues(self) -> list[QueueState]:
        """Those of one name as one, however many streams the log lies in."""
        return inspect.added_up(
            [
                one
                for stream in self.layout.logs
                for one in await inspect.queue_states(self._replies, stream)
            ]
        )

    async def oldest_waiting(self, queue: QueueState) -> Record | None:
        """What the queue hands out next."""
        found = [
            await stream.log.first(queue.filters, reached + 1)
            for stream, reached in zip(self._streams.all, queue.reached, strict=True)
        ]
        waiting = [one for one in found if one is not None]
        return min(waiting, key=lambda one: one.time_ns, default=None)

    async def refusal(self) -> str:
        """
        Why the log stores nothing at this moment; empty if it does. Only a write can tell: its disk
        and the limit of its whole store are in no answer. The record is taken away again.
        """
        for stream in self._streams.all:
            subject = Subjects(self.layout.prefix).probe(stream.place.number)
            refused = await stream.writer.refusal(Entry(subject, b"{}", secrets.token_hex(8)))
            if refused:
                return refused
            request = {"filter": subject}
            with suppress(ApiError, BusError):
                await self._replies.ask(f"$JS.API.STREAM.PURGE.{stream.name}", request)
        return ""

    async def server_ahead_s(self) -> float:
        """The server's clock against ours."""
        return await self._streams.first.log.server_ahead_s()

    def age_s(self, time_ns: int) -> float:
        return self._streams.first.log.clock.age_s(time_ns)

    def append(self, *entries: Entry) -> Coroutine[Any, Any, int]:
        return self._streams.append(entries)

    def offer(self, entry: Entry) -> bool:
        return self._streams.offer(entry)

    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        await self._streams.tail(filters, start, on)

    async def hear(self, filter_subject: str, *, on: Callable[[Sequence[Record]], None]) -> None:
        def note(subject: str, data: bytes, headers: bytes) -> None:
            record = repeated_record(subject, data, headers)
            if record is not None:
                on([self._streams.of(subject.removeprefix(f"{LIVE}.")).named(record)])

        await listen(self._connection, f"{LIVE}.{filter_subject}", note)

    async def work(
        self,
        queue: str,
        slots: int,
        handle: Callable[[Delivery], Awaitable[None]],
        *,
        stop: anyio.Event | None = None,
    ) -> None:
        await self._streams.work(queue, slots, handle, stop)

    async def read(
        self, filter_subject: str, *, start: Start = 1, most: int | None = None
    ) -> list[Record]:
        return await self._streams.read(filter_subject, start, most)

    async def record(self, sequence: int) -> Record:
        stream, own = self._streams.of_record(sequence)
        return stream.named(await stream.log.record(own))

    async def newest(self, subject: str) -> Record | None:
        stream = self._streams.of(subject)
        found = await newest(self._connection, stream.name, subject)
        return found and stream.named(found)

    async def subjects(self, filter_subject: str) -> list[str]:
        return await self._streams.subjects(filter_subject)

    async def position(self) -> Position:
        return await self._streams.position()

    async def undeliverable(self, on: Callable[[str, int], None]) -> None:
        def note(_subject: str, data: bytes, _headers: bytes) -> None:
            said = announced(data)
            stream = self._streams.named(said.stream) if said is not None else None
            if said is not None and stream is not None:
                on(said.consumer, stream.place.sequence(said.stream_seq))

        advisories = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.*.*"
        await listen(self._connection, advisories, note)

    async def bury(self, sequence: int, reason: str, trace: Trace | None = None) -> None:
        stream, own = self._streams.of_record(sequence)
        await self._dead.bury(stream.name, own, reason, trace)

    async def take_out(self, sequence: int) -> None:
        stream, own = self._streams.of_record(sequence)
        await delete(self._replies, stream.name, own)

    def stream_of(self, subject: str) -> str:
        return self._streams.of(subject).name

    def place_of(self, subject: str) -> Place:
        return self._streams.of(subject).place

    async def purge(self, filter_subject: str, *, through: int) -> None:
        stream = self._streams.of(filter_subject)
        await purge(self._replies, stream.name, filter_subject, stream.place.own(through))

    async def shortage(self) -> str:
        return await self._streams.shortage()

    async def settled_through(self, queue: str) -> Position | None:
        reached = [
            await inspect.settled_through(self._replies, one.name, queue)
            for one in self._streams.all
        ]
        if None in reached:
            return None
        places = zip(reached, self._streams.all, strict=True)
        return Position(
            tuple(LAST if n == math.inf else s.place.sequence(int(n or 0)) for n, s in places)
        )

    async def made_ns(self, queue: str) -> int | None:
        return await inspect.made_ns(self._replies, self._streams.all[0].name, queue)

    async def waiting_in(self, queue: str) -> int:
        return sum([await inspect.queue_lag(self._replies, one, queue) for one in self.layout.logs])

    async def count_dead(self) -> int:
        states = await inspect.stream_states(self._replies, [self.layout.dead])
        return sum(state.records for state in states)

    async def dead_letters(
        self, *, before: int | None = None, newest: int | None = None
    ) -> list[DeadLetter]:
        return [
            replace(letter, sequence=stream.place.sequence(letter.sequence))
            for name, letter in await self._dead.read(before, newest)
            if (stream := self._streams.named(name)) is not None
        ]

    async def forget_dead(self, number: int) -> None:
        await self._dead.forget(number)

    async def answer_requests(self, name: str, about: str, endpoints: Sequence[Endpoint]) -> None:
        from parley.bus.jetstream import service  # noqa: PLC0415 - few processes offer one

        await service.answer_requests(self._connection, name, about, endpoints)

    async def answer_prompts(self, owner: str, agents: Sequence[PromptedAgent]) -> None:
        from parley.bus.jetstream import prompts  # noqa: PLC0415 - an extra

        await prompts.answer_prompts(self._connection, owner, agents)

    async def announce(self, describe: Callable[[], Presence]) -> None:
        await micro.announce(self._connection, describe)

    async def roll_call(self, within_s: float) -> list[Presence]:
        return await micro.roll_call(self._connection, within_s)

    async def signal(self, subject: str, data: bytes) -> None:
        try:
            self._connection.client.post(subject, data)
            if self._connection.client.congested:
                await self._connection.client.relief()
        except (nats.errors.Error, OSError) as error:
            raise Unavailable(f"{subject} could not be sent: {error}") from error

    async def listen(self, subject: str, on: Callable[[str, bytes], None]) -> None:
        await listen(self._connection, subject, lambda said, data, _headers: on(said, data))

    @property
    def archive(self) -> JetStreamArchive:
        return self._archive

    def shelf(self, name: str, limit: int) -> JetStreamShelf:
        return JetStreamShelf(self._replies, self.layout, name, limit)

    def register(self, name: str) -> JetStreamRegister:
        return JetStreamRegister(self._replies, self.layout, name)

    async def put_blob(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        return await self._blobs.put(data, media_type)

    async def get_blob(self, ref: BlobRef) -> bytes:
        return await self._blobs.get(ref)

    async def drop_blob(self, ref: BlobRef) -> None:
        await self._blobs.drop(ref)


@asynccontextmanager
async def open_bus(server: Server, layout: Layout | None = None) -> AsyncIterator[JetStreamBus]:
    async with connect(server) as connection:
        replies = Replies(connection)
        await replies.start()
        await _check_jetstream(connection, replies)
        yield JetStreamBus(replies, layout or Layout())


async def _check_jetstream(connection: Connection, replies: Replies) -> None:
    """A server without JetStream may still reach one in its cluster."""
    if connection.client.server_has_jetstream:
        return
    try:
        await replies.ask("$JS.API.INFO")
    except (ApiError, Unavailable) as error:
        raise Unsuitable(
            f"JetStream is off at {connection.server}; start nats-server with -js"
        ) from error
