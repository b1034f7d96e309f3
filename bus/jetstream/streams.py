"""
The streams in which a log lies: each partition is in one of them.

What concerns one subject goes to the stream that has it. Readers of several streams read each by
itself, and number what they hand on as `position` says.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio

from parley.bus.errors import Denied, Unavailable, Unsuitable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.connection import Connection
from parley.bus.jetstream.infra import Layout, streams_in_words
from parley.bus.jetstream.pull import Handed, Worker
from parley.bus.jetstream.reader import Reader
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.jetstream.room import Room
from parley.bus.jetstream.tail import Tail
from parley.bus.port import Delivery, Entry, Guard, Record
from parley.bus.position import Place, Position, Start, behind
from parley.bus.subjects import Subjects

# While a record waits for its slot, the server hears so often that it is not forgotten.
SIGN_OF_LIFE_S = 1.5

On = Callable[[Sequence[Record]], None]


class Stream:
    """One of them, with the log's numbers."""

    def __init__(self, replies: Replies, layout: Layout, index: int) -> None:
        self.name = layout.logs[index]
        self.place = Place(index, layout.streams)
        self.log = Log(replies, self.name)
        self.writer = Writer(replies, self.log.find)
        self.room = Room(self.log, layout.accept_below)
        self._replies = replies
        self._alone = layout.streams == 1

    def named(self, record: Record) -> Record:
        if self._alone:
            return record
        return record._replace(sequence=self.place.sequence(record.sequence))

    def _telling(self, on: On) -> On:
        return on if self._alone else lambda records: on([self.named(one) for one in records])

    def guarded(self, entry: Entry) -> Entry:
        if self._alone or entry.guard is None:
            return entry
        own = self.place.own(entry.guard.sequence)
        return entry._replace(guard=Guard(entry.guard.subject, own))

    async def append(self, entries: Sequence[Entry]) -> int:
        own = await self.writer.append(*map(self.guarded, entries))
        return self.place.sequence(own)

    async def read(self, filter_subject: str, start: Start, most: int | None) -> list[Record]:
        found = await self.log.read(filter_subject, behind(start, self.place), most=most)
        return found if self._alone else [self.named(one) for one in found]

    async def tail(self, filters: Sequence[str], start: Start, on: On) -> None:
        await Tail(self._replies, self.name, filters, behind(start, self.place), on).run()


class Streams:
    def __init__(self, replies: Replies, layout: Layout) -> None:
        self._replies = replies
        self._connection: Connection = replies.connection
        self._layout = layout
        self._subjects = Subjects(layout.prefix)
        self.all = tuple(Stream(replies, layout, n) for n in range(layout.streams))
        # Until the server says otherwise.
        self._may_consume = True

    @property
    def first(self) -> Stream:
        return self.all[0]

    def of(self, subject: str) -> Stream:
        """The one that has the subject; the first where several do."""
        return self.all[self._layout.place_of(self._subjects.partition_in(subject)).number]

    def holding(self, filter_subject: str) -> Sequence[Stream]:
        """Those that may have a match."""
        if len(self.all) == 1 or self._subjects.partition_in(filter_subject) is None:
            return self.all
        return (self.of(filter_subject),)

    def of_record(self, sequence: int) -> tuple[Stream, int]:
        """Where it is, and its number there."""
        stream = self.all[sequence % len(self.all)]
        return stream, stream.place.own(sequence)

    def named(self, name: str) -> Stream | None:
        """By the name on the server."""
        return next((one for one in self.all if one.name == name), None)

    async def append(self, entries: Sequence[Entry]) -> int:
        """What belongs to one stream is written without waiting in between."""
        if len(self.all) == 1:
            return await self.first.append(entries)
        sequence, waiting = 0, list(entries)
        while waiting:
            stream = self.of(waiting[0].subject)
            number = 1
            while number < len(waiting) and self.of(waiting[number].subject) is stream:
                number += 1
            sequence = await stream.append(waiting[:number])
            del waiting[:number]
        return sequence

    def offer(self, entry: Entry) -> bool:
        stream = self.of(entry.subject) if len(self.all) > 1 else self.first
        return stream.writer.offer(stream.guarded(entry))

    async def read(self, filter_subject: str, start: Start, most: int | None) -> list[Record]:
        streams = self.holding(filter_subject)
        found = [one for s in streams for one in await s.read(filter_subject, start, most)]
        if len(streams) > 1:
            found.sort(key=lambda one: one.time_ns)
        return found

    async def subjects(self, filter_subject: str) -> list[str]:
        streams = self.holding(filter_subject)
        return sorted([one for s in streams for one in await s.log.subjects(filter_subject)])

    async def position(self) -> Position:
        return Position(
            tuple([one.place.sequence(await one.log.last_sequence()) for one in self.all])
        )

    async def shortage(self) -> str:
        for one in self.all:
            word = await one.room.shortage()
            if word:
                return word
        return ""

    async def tail(self, filters: Sequence[str], start: Start, on: On) -> None:
        """Of each stream only what can be there; `on` is called from one task at a time."""
        parts: dict[int, list[str]] = {}
        for one in filters:
            for stream in self.holding(one):
                parts.setdefault(stream.place.number, []).append(one)
        await together(
            [
                lambda index=index, part=part: self._tail(self.all[index], part, start, on)  # type: ignore[misc]
                for index, part in parts.items()
            ]
        )

    async def _tail(self, stream: Stream, filters: Sequence[str], start: Start, on: On) -> None:
        own, telling = behind(start, stream.place), stream._telling(on)  # noqa: SLF001
        if self._may_consume:
            tail = Tail(self._replies, stream.name, filters, own, telling)
            try:
                await tail.run()
            except Denied:
                self._may_consume = False
                own = tail.following
        reader = Reader(self._connection, stream.log, filters, own, telling)
        await reader.run([one for one in filters if one.startswith(f"{self._layout.prefix}.")])

    async def work(
        self,
        queue: str,
        slots: int,
        handle: Callable[[Delivery], Awaitable[None]],
        stop: anyio.Event | None,
    ) -> None:
        await self._check_number(queue)
        if len(self.all) == 1:
            await Worker(self._replies, self.first.name, queue, slots, handle).run(stop)
            return
        # Each stream is asked for its share, but never for nothing.
        share = -(-slots // len(self.all))
        limit = anyio.CapacityLimiter(slots)
        await together(
            [
                lambda stream=stream: Worker(  # type: ignore[misc]
                    self._replies, stream.name, queue, share, _in_turn(stream, limit, handle, stop)
                ).run(stop)
                for stream in self.all
            ]
        )

    async def _check_number(self, queue: str) -> None:
        """A worker that read only some of the streams would leave asks to nobody."""
        number = 1
        with suppress(ApiError, Unavailable):
            subject = f"$JS.API.CONSUMER.INFO.{self.first.name}.{queue}"
            info = await self._replies.ask_until_answered(subject)
            number = int((info["config"].get("description") or "1").split()[0])
            if number != len(self.all):
                raise Unsuitable(
                    f"queue {queue} is of a log in {streams_in_words(number)}: set nats.streams to"
                    f" {number}"
                )


def _in_turn(
    stream: Stream,
    limit: anyio.CapacityLimiter,
    handle: Callable[[Delivery], Awaitable[None]],
    stop: anyio.Event | None,
) -> Callable[[Delivery], Awaitable[None]]:
    """No more of them at a time than there are slots, over all streams."""

    async def keep(delivery: Delivery) -> None:
        while True:
            await delivery.in_progress()
            await anyio.sleep(SIGN_OF_LIFE_S)

    async def wait(delivery: Delivery) -> bool:
        """False once the worker is to stop: others get it."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep, delivery)
            if stop is not None:
                tasks.start_soon(_cancel_at, stop, tasks.cancel_scope)
            await limit.acquire_on_behalf_of(delivery)
            tasks.cancel_scope.cancel()
            return True
        return False

    async def handle_in_turn(delivery: Delivery) -> None:
        assert isinstance(delivery, Handed)
        delivery.record = stream.named(delivery.record)
        try:
            limit.acquire_on_behalf_of_nowait(delivery)
        except anyio.WouldBlock:
            if not await wait(delivery):
                await delivery.nak()
                return
        try:
            await handle(delivery)
        finally:
            limit.release_on_behalf_of(delivery)

    return handle_in_turn


async def _cancel_at(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


async def together(tasks: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Until all are done; raises what ended one of them, as if it were alone."""
    if len(tasks) == 1:
        await tasks[0]()
        return
    failure: Exception | None = None

    async def run(task: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        nonlocal failure
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - raised below
            failure = failure or error
            scope.cancel()

    async with anyio.create_task_group() as group:
        for one in tasks:
            group.start_soon(run, one, group.cancel_scope)
    if failure is not None:
        raise failure
