"""A queue in memory: who holds which record, until when, and how often it was handed out."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from parley.bus.memory.faults import Chance
from parley.bus.memory.index import matches
from parley.bus.memory.log import TOLERANCE_S, MemoryLog
from parley.bus.port import Queue, Record


class MemoryQueue:
    def __init__(
        self,
        log: MemoryLog,
        queue: Queue,
        chance: Chance,
        on_undeliverable: Callable[[str, int], None],
    ) -> None:
        self.queue = queue
        self.chance = chance
        self._log = log
        self._on_undeliverable = on_undeliverable
        self._attempts: dict[int, int] = {}
        # Sequence -> when the loan runs out.
        self._loans: dict[int, float] = {}
        self._settled: set[int] = set()
        self._send, self._receive = anyio.create_memory_object_stream[int](math.inf)
        for record in log.read(">", 1):
            self.offer(record)
        log.on_record.append(self.offer)

    def close(self) -> None:
        self._send.close()
        self._receive.close()

    def offer(self, record: Record) -> None:
        if any(matches(wanted, record.subject) for wanted in self.queue.filters):
            self._send.send_nowait(record.sequence)

    async def take(self) -> "MemoryDelivery":
        while True:
            sequence = await self._receive.receive()
            if sequence not in self._settled and self._log.holds(sequence):
                return self._lend(sequence)

    def _lend(self, sequence: int) -> "MemoryDelivery":
        attempt = self._attempts[sequence] = self._attempts.get(sequence, 0) + 1
        self._loans[sequence] = anyio.current_time() + self.queue.ack_wait_s
        self._log.at(self.queue.ack_wait_s, lambda: self._expire(sequence))
        if self.chance.happens(self.chance.faults.duplicates):
            self._log.at(self.chance.moment(self.queue.ack_wait_s), lambda: self._repeat(sequence))
        return MemoryDelivery(self._log.record(sequence), attempt, self)

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
            self._send.send_nowait(sequence)

    def _offer_again(self, sequence: int) -> None:
        if sequence in self._settled:
            return
        if self._attempts[sequence] < self.queue.max_deliver:
            self._send.send_nowait(sequence)
        else:
            self._settled.add(sequence)
            self._on_undeliverable(self.queue.name, sequence)


@dataclass(frozen=True, slots=True)
class MemoryDelivery:
    record: Record
    attempt: int
    queue: MemoryQueue

    async def ack(self) -> None:
        await self.queue.chance.delay()
        self.queue.settle(self.record.sequence)

    async def nak(self, delay_s: float = 0.0) -> None:
        await self.queue.chance.delay()
        self.queue.give_back(self.record.sequence, delay_s)

    async def in_progress(self) -> None:
        await self.queue.chance.delay()
        self.queue.extend(self.record.sequence)

    async def term(self) -> None:
        await self.ack()
