"""A queue in memory: who holds which record, until when, and how often it was handed out."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from parley.bus.memory.faults import Chance
from parley.bus.memory.log import TOLERANCE_S, MemoryLog
from parley.bus.port import USED_UP, Queue, Record
from parley.bus.position import LAST
from parley.bus.wildcards import matches


class MemoryQueue:
    def __init__(
        self,
        log: MemoryLog,
        queue: Queue,
        chance: Chance,
        on_undeliverable: Callable[[str, int], None],
        on_dead: Callable[[str, int, str, int], None],
    ) -> None:
        self.queue = queue
        self.chance = chance
        self._log = log
        self._on_undeliverable = on_undeliverable
        self._on_dead = on_dead
        self._attempts: dict[int, int] = {}
        # Sequence -> when the loan runs out.
        self._loans: dict[int, float] = {}
        self._settled: set[int] = set()
        self._ready: deque[int] = deque()
        self._takers: deque[Taker] = deque()
        self.made_ns = log.now_ns()
        for record in log.read(">", 1):
            if record.time_ns >= (queue.since_ns or 0):
                self.offer(record)
        log.on_record.append(self.offer)

    @property
    def waiting(self) -> int:
        """Never handed out so far."""
        return sum(sequence not in self._attempts for sequence in self._ready)

    @property
    def settled_through(self) -> int:
        every = {*self._ready, *self._attempts} - self._settled
        open_ = {sequence for sequence in every if self._log.holds(sequence)}
        return min(open_) - 1 if open_ else LAST

    def offer(self, record: Record) -> None:
        if any(matches(wanted, record.subject) for wanted in self.queue.filters):
            self._hand_out(record.sequence)

    async def take(self, taker: "Taker") -> "MemoryDelivery | None":
        """None if the taker is sent away empty-handed."""
        await anyio.lowlevel.checkpoint()
        self._takers.append(taker)
        self._serve()
        try:
            await taker.served.wait()
        finally:
            if taker.delivery is None:
                self._takers.remove(taker)
        return taker.delivery

    def _hand_out(self, sequence: int) -> None:
        self._ready.append(sequence)
        self._serve()

    def _serve(self) -> None:
        while self._takers and self._ready:
            sequence = self._ready.popleft()
            if sequence not in self._settled and self._log.holds(sequence):
                taker = self._takers.popleft()
                taker.delivery = self._lend(sequence)
                taker.served.set()

    def _lend(self, sequence: int) -> "MemoryDelivery":
        attempt = self._attempts[sequence] = self._attempts.get(sequence, 0) + 1
        self._loans[sequence] = anyio.current_time() + self.queue.ack_wait_s
        self._log.at(self.queue.ack_wait_s, lambda: self._expire(sequence))
        if self.chance.happens(self.chance.faults.duplicates):
            self._log.at(self.chance.moment(self.queue.ack_wait_s), lambda: self._repeat(sequence))
        return MemoryDelivery(self._log.record(sequence), attempt, self)

    def age_s(self, record: Record) -> float:
        return (self._log.now_ns() - record.time_ns) / 1e9

    def bury(self, sequence: int, reason: str) -> None:
        self._on_dead(self.queue.name, sequence, reason, self._attempts[sequence])

    def settle(self, sequence: int) -> None:
        self._loans.pop(sequence, None)
        self._settled.add(sequence)

    def extend(self, sequence: int) -> None:
        if sequence in self._loans:
            self._loans[sequence] = anyio.current_time() + self.queue.ack_wait_s

    def give_back(self, sequence: int, delay_s: float) -> None:
        if self._loans.pop(sequence, None) is not None:
            self._log.at(delay_s, lambda: self._offer_again(sequence))

    def _expire(self, sequence: int) -> None:
        until = self._loans.get(sequence)
        if until is None:
            return
        remaining = until - anyio.current_time()
        if remaining > TOLERANCE_S:
            self._log.at(remaining, lambda: self._expire(sequence))
        else:
            del self._loans[sequence]
            self._offer_again(sequence)

    def _repeat(self, sequence: int) -> None:
        if self._attempts[sequence] < self.queue.max_deliver:
            self._settled.discard(sequence)
            self._hand_out(sequence)

    def _offer_again(self, sequence: int) -> None:
        if sequence in self._settled:
            return
        if self._attempts[sequence] < self.queue.max_deliver:
            self._hand_out(sequence)
        else:
            self._settled.add(sequence)
            self.bury(sequence, USED_UP)
            self._on_undeliverable(self.queue.name, sequence)


@dataclass(slots=True, eq=False)
class Taker:
    """
    A client's standing request. What it is handed is on loan from that moment, so that it comes
    again even if the client is cancelled or frozen before it sees it.
    """

    served: anyio.Event = field(default_factory=anyio.Event)
    delivery: "MemoryDelivery | None" = None


class Stand:
    """One worker at a queue, with a taker for each of its free slots."""

    def __init__(self, queue: MemoryQueue, stop: anyio.Event | None) -> None:
        self._queue = queue
        self._stop = stop
        self._waiting: dict[Taker, None] = {}

    async def take(self) -> "MemoryDelivery | None":
        """None once the worker is to stop."""
        if self._stop is not None and self._stop.is_set():
            return None
        taker = Taker()
        self._waiting[taker] = None
        try:
            return await self._queue.take(taker)
        finally:
            del self._waiting[taker]

    async def close_when_told(self) -> None:
        assert self._stop is not None
        await self._stop.wait()
        for taker in self._waiting:
            taker.served.set()


@dataclass(frozen=True, slots=True)
class MemoryDelivery:
    record: Record
    attempt: int
    queue: MemoryQueue
    handling: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def age_s(self) -> float:
        return self.queue.age_s(self.record)

    async def ack(self) -> None:
        await self.queue.chance.delay()
        self.queue.settle(self.record.sequence)

    async def nak(self, delay_s: float = 0.0) -> None:
        await self.queue.chance.delay()
        self.queue.give_back(self.record.sequence, delay_s)

    async def in_progress(self) -> None:
        await self.queue.chance.delay()
        self.queue.extend(self.record.sequence)

    def interrupt(self) -> None:
        self.handling.cancel()

    async def term(self, reason: str) -> None:
        await self.ack()
        self.queue.bury(self.record.sequence, reason)
