"""The port of the bus, in memory: every client stands for one process."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import anyio

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, Conflict, NotFound, Unavailable, Unsuitable
from parley.bus.memory.archive import MemoryArchive
from parley.bus.memory.faults import NO_FAULTS, Chance, Faults
from parley.bus.memory.inbox import Inbox, registered
from parley.bus.memory.log import MemoryLog
from parley.bus.memory.queues import MemoryQueue, Stand
from parley.bus.memory.register import MemoryRegister
from parley.bus.memory.shelf import MemoryShelf
from parley.bus.port import (
    LARGEST_RECORD_BYTES,
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
    check_size,
    reference_to,
)
from parley.bus.position import Place, Position, Start, behind
from parley.bus.subjects import REGISTERS
from parley.bus.wildcards import matches

# How long a writer waits for an answer before it repeats itself.
ANSWER_TIMEOUT_S = 2.0
# Of the writers whose answer was lost, this share repeats itself; the others give up.
PERSISTENCE = 0.5
# There is one stream.
ALONE = Place()


class MemoryServer:
    """What all clients share, and what is left when one of them crashes."""

    def __init__(self, faults: Faults, seed: int, epoch_ns: int) -> None:
        self.chance = Chance(faults, seed)
        self.log = MemoryLog(epoch_ns)
        self.queues: dict[str, MemoryQueue] = {}
        self.blobs: dict[str, bytes] = {}
        self.shelves: dict[str, MemoryShelf] = {}
        self.registers = {name: MemoryRegister(self.log, self.chance) for name in REGISTERS}
        self.archive = MemoryArchive(self.log, self.chance)
        self.writes = itertools.count()
        self.on_signal: list[Callable[[str, bytes], None]] = []
        self.on_undeliverable: list[Callable[[str, int], None]] = []
        self.dead: dict[int, DeadLetter] = {}
        # The records that a reader buried, whether or not they were dropped since.
        self.buried: set[int] = set()
        self.present: list[Callable[[], Presence]] = []
        self._graves = itertools.count(1)

    def client(self) -> "MemoryBus":
        return MemoryBus(self)

    def give_up(self, queue: str, sequence: int) -> None:
        for notify in tuple(self.on_undeliverable):
            notify(queue, sequence)

    def bury(
        self, queue: str, sequence: int, reason: str, attempts: int, trace: Trace | None = None
    ) -> None:
        number = next(self._graves)
        moment = self.log.now_ns()
        self.dead[number] = DeadLetter(number, sequence, queue, reason, attempts, moment, trace)


@asynccontextmanager
async def open_memory_server(
    faults: Faults = NO_FAULTS, *, seed: int = 0, epoch_ns: int = 0
) -> AsyncIterator[MemoryServer]:
    """`epoch_ns` is what the event loop's time zero means to the records."""
    server = MemoryServer(faults, seed, epoch_ns)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.log.keep_time)
        yield server
        tasks.cancel_scope.cancel()


class MemoryBus:
    def __init__(self, server: MemoryServer) -> None:
        self._server = server
        self._log = server.log
        self._chance = server.chance

    @property
    def link(self) -> Link:
        return Link(up=True, losses=0)

    async def ensure_queue(self, queue: Queue) -> None:
        await self._chance.delay()
        known = self._server.queues.get(queue.name)
        if known is None:
            self._server.queues[queue.name] = MemoryQueue(
                self._log, queue, self._chance, self._server.give_up, self._server.bury
            )
        else:
            known.queue = queue

    async def append(self, *entries: Entry) -> int:
        for entry in entries:
            if len(entry.data) > LARGEST_RECORD_BYTES:
                raise BadInput(f"{len(entry.data)} bytes for {entry.subject} are too many")
        entries = tuple(map(self._unforeseeable, entries))
        results = await self._send(entries, self._write)
        while len(results) < len(entries) or self._chance.happens(self._chance.faults.lost_answers):
            if not self._chance.happens(PERSISTENCE):
                raise Unavailable(f"no word about {entries[-1].subject}")
            await anyio.sleep(ANSWER_TIMEOUT_S)
            results = await self._send(entries, self._write_again)
        sequence = 0
        for result in results:
            if isinstance(result, Conflict):
                raise result
            sequence = result
        return sequence

    def offer(self, entry: Entry) -> bool:
        """Once sent it travels alone: it arrives even if its writer is gone by then."""
        if not self._chance.happens(self._chance.faults.lost_writes):
            entry = self._unforeseeable(entry)
            self._log.at(self._chance.travel_s(), partial(self._write, entry))
        return True

    def _unforeseeable(self, entry: Entry) -> Entry:
        """As on JetStream: what breaks its own guard is a repetition of nobody else's write."""
        if entry.guard is None or not matches(entry.guard.subject, entry.subject):
            return entry
        return entry._replace(msg_id=f"{entry.msg_id}.{next(self._server.writes)}")

    async def _send(
        self, entries: Sequence[Entry], write: Callable[[Entry], int | Conflict]
    ) -> list[int | Conflict]:
        """Others may write in between; what follows a lost entry is lost with it."""
        results = []
        for entry in entries:
            await self._chance.delay()
            if self._chance.happens(self._chance.faults.lost_writes):
                break
            results.append(write(entry))
        await self._chance.delay()
        return results

    def _write(self, entry: Entry) -> int | Conflict:
        try:
            return self._log.write(entry)
        except Conflict as conflict:
            return conflict

    def _write_again(self, entry: Entry) -> int | Conflict:
        """A guard that fails on a repetition may have failed against our own first attempt."""
        result = self._write(entry)
        if isinstance(result, Conflict):
            return self._log.stored_as(entry) or result
        return result

    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        first = behind(start, ALONE)

        def wanted(record: Record) -> bool:
            return record.sequence >= first and any(matches(f, record.subject) for f in filters)

        backlog = [record for record in self._log.read(">", first) if wanted(record)]
        inbox = Inbox[Record](self._chance, backlog)

        def note(record: Record) -> None:
            if wanted(record):
                inbox.put(record)

        with registered(self._log.on_record, note):
            while True:
                arrived = await inbox.get_all()
                if self._chance.happens(self._chance.faults.gone_unread):
                    arrived = [one for one in arrived if self._log.holds(one.sequence)]
                if arrived:
                    on(arrived)

    async def hear(self, filter_subject: str, *, on: Callable[[Sequence[Record]], None]) -> None:
        await self.tail((filter_subject,), start=await self.position(), on=on)

    async def work(
        self,
        queue: str,
        slots: int,
        handle: Callable[[Delivery], Awaitable[None]],
        *,
        stop: anyio.Event | None = None,
    ) -> None:
        if queue not in self._server.queues:
            raise Unsuitable(f"queue {queue} does not exist")
        stand = Stand(self._server.queues[queue], stop)
        async with anyio.create_task_group() as tasks:
            if stop is not None:
                tasks.start_soon(stand.close_when_told)
            for _ in range(slots):
                tasks.start_soon(self._serve, stand, handle)

    async def _serve(self, stand: Stand, handle: Callable[[Delivery], Awaitable[None]]) -> None:
        while (delivery := await stand.take()) is not None:
            if self._chance.faults.delay_s > 0:
                await self._chance.delay()
            with delivery.handling:
                await handle(delivery)

    async def read(
        self, filter_subject: str, *, start: Start = 1, most: int | None = None
    ) -> list[Record]:
        await self._chance.delay()
        return self._log.read(filter_subject, behind(start, ALONE))[:most]

    async def record(self, sequence: int) -> Record:
        await self._chance.delay()
        return self._log.record(sequence)

    async def newest(self, subject: str) -> Record | None:
        await self._chance.delay()
        return next(reversed(self._log.read(subject, 1)), None)

    async def subjects(self, filter_subject: str) -> list[str]:
        await self._chance.delay()
        return self._log.subjects(filter_subject)

    def age_s(self, time_ns: int) -> float:
        return (self._log.now_ns() - time_ns) / 1e9

    async def position(self) -> Position:
        await self._chance.delay()
        return Position((self._log.last_sequence,))

    async def undeliverable(self, on: Callable[[str, int], None]) -> None:
        inbox = Inbox[tuple[str, int]](self._chance)

        def note(queue: str, sequence: int) -> None:
            inbox.put((queue, sequence))

        with registered(self._server.on_undeliverable, note):
            while True:
                on(*await inbox.get())

    async def bury(self, sequence: int, reason: str, trace: Trace | None = None) -> None:
        await self._chance.delay()
        if sequence not in self._server.buried:
            self._server.buried.add(sequence)
            self._server.bury("", sequence, reason, 0, trace)

    async def take_out(self, sequence: int) -> None:
        await self._chance.delay()
        self._log.take_out(sequence)

    def stream_of(self, subject: str) -> str:
        del subject
        return "memory"

    def place_of(self, subject: str) -> Place:
        del subject
        return ALONE

    async def purge(self, filter_subject: str, *, through: int) -> None:
        await self._chance.delay()
        self._log.purge(filter_subject, through)

    async def shortage(self) -> str:
        return ""

    async def settled_through(self, queue: str) -> Position | None:
        await self._chance.delay()
        known = self._server.queues.get(queue)
        return Position((known.settled_through,)) if known is not None else None

    async def made_ns(self, queue: str) -> int | None:
        await self._chance.delay()
        known = self._server.queues.get(queue)
        return known.made_ns if known is not None else None

    async def waiting_in(self, queue: str) -> int:
        await self._chance.delay()
        known = self._server.queues.get(queue)
        return known.waiting if known is not None else 0

    async def count_dead(self) -> int:
        await self._chance.delay()
        return len(self._server.dead)

    async def dead_letters(
        self, *, before: int | None = None, newest: int | None = None
    ) -> list[DeadLetter]:
        await self._chance.delay()
        dead = self._server.dead.values()
        below = [one for one in dead if before is None or one.number < before]
        return below if newest is None else below[-newest:]

    async def forget_dead(self, number: int) -> None:
        await self._chance.delay()
        self._server.dead.pop(number, None)

    async def answer_requests(
        self, _name: str, _about: str, _endpoints: Sequence[Endpoint]
    ) -> None:
        """Nobody sends requests where there is no server."""
        await anyio.sleep_forever()

    async def answer_prompts(self, _owner: str, _agents: Sequence[PromptedAgent]) -> None:
        """Likewise."""
        await anyio.sleep_forever()

    async def announce(self, describe: Callable[[], Presence]) -> None:
        with registered(self._server.present, describe):
            await anyio.sleep_forever()

    async def roll_call(self, within_s: float) -> list[Presence]:
        await anyio.sleep(within_s)
        return [describe() for describe in self._server.present]

    async def signal(self, subject: str, data: bytes) -> None:
        await self._chance.delay()
        for notify in tuple(self._server.on_signal):
            if not self._chance.happens(self._chance.faults.lost_signals):
                notify(subject, data)

    async def listen(self, subject: str, on: Callable[[str, bytes], None]) -> None:
        inbox = Inbox[tuple[str, bytes]](self._chance)

        def note(said: str, data: bytes) -> None:
            if matches(subject, said):
                inbox.put((said, data))

        with registered(self._server.on_signal, note):
            while True:
                on(*await inbox.get())

    @property
    def archive(self) -> MemoryArchive:
        return self._server.archive

    def shelf(self, name: str, limit: int) -> MemoryShelf:
        return self._server.shelves.setdefault(name, MemoryShelf(limit))

    def register(self, name: str) -> MemoryRegister:
        return self._server.registers[name]

    async def put_blob(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        await self._chance.delay()
        ref = reference_to(data, media_type)
        self._server.blobs[ref.sha256] = data
        return ref

    async def drop_blob(self, ref: BlobRef) -> None:
        self._server.blobs.pop(ref.sha256, None)

    async def get_blob(self, ref: BlobRef) -> bytes:
        await self._chance.delay()
        check_size(ref)
        if ref.sha256 not in self._server.blobs:
            raise NotFound(f"blob {ref.sha256} is not here")
        data = self._server.blobs[ref.sha256]
        if len(data) != ref.size:
            raise NotFound(f"blob {ref.sha256} has {len(data)} bytes, not {ref.size}")
        return data
