"""
The shared memory of all clients: records, guards, de-duplication, and one clock.

Everything here happens at once, between two steps of the event loop; delays and losses on the way
are the clients' business. The log outlives any client that crashes.
"""

import heapq
import itertools
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable

import anyio

from parley.bus.errors import Conflict, NotFound
from parley.bus.memory.index import SubjectIndex
from parley.bus.port import IMPORTED, Entry, Record
from parley.bus.wildcards import matches

DUPLICATE_WINDOW_S = 120.0
# Time comparisons tolerate what adding floats loses.
TOLERANCE_S = 1e-9


def block_of(headers: Iterable[str]) -> bytes:
    """Header lines as a record has them."""
    return "".join(f"{line}\r\n" for line in headers).encode()


class MemoryLog:
    def __init__(self, epoch_ns: int) -> None:
        self.last_sequence = 0
        self.on_record: list[Callable[[Record], None]] = []
        self._epoch_ns = epoch_ns
        self._records: dict[int, Record] = {}
        self._msg_ids: dict[str, int] = {}
        self._msg_id_ages: deque[tuple[float, str]] = deque()
        self._index = SubjectIndex()
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._count = itertools.count()
        self._sooner = anyio.Event()

    async def keep_time(self) -> None:
        """Does what is due, for ever; without it no loan runs out."""
        while True:
            due = self._agenda[0][0] if self._agenda else float("inf")
            self._sooner = anyio.Event()
            with anyio.CancelScope(deadline=due):
                await self._sooner.wait()
            while self._agenda and self._agenda[0][0] <= anyio.current_time() + TOLERANCE_S:
                heapq.heappop(self._agenda)[2]()

    def now_ns(self) -> int:
        return self._epoch_ns + int(anyio.current_time() * 1e9)

    def at(self, delay_s: float, action: Callable[[], object]) -> None:
        due = anyio.current_time() + delay_s
        heapq.heappush(self._agenda, (due, next(self._count), action))
        if self._agenda[0][0] == due:
            self._sooner.set()

    def write(self, entry: Entry) -> int:
        """As on a server with one replica, the guard is checked before the repetition."""
        if entry.guard is not None and self.last_of(entry.guard.subject) != entry.guard.sequence:
            raise Conflict(f"somebody else wrote {entry.subject} first")
        self._forget_old_msg_ids()
        known = self._msg_ids.get(entry.msg_id)
        if known is not None:
            return known
        sequence = self._store(entry)
        self._msg_ids[entry.msg_id] = sequence
        self._msg_id_ages.append((anyio.current_time(), entry.msg_id))
        return sequence

    def stored_as(self, entry: Entry) -> int | None:
        """Where this very entry stands, if it does: how a writer recognises its own first try."""
        return self._msg_ids.get(entry.msg_id)

    def last_of(self, filter_subject: str) -> int:
        for sequence in reversed(self._index.candidates(filter_subject)):
            if matches(filter_subject, self._records[sequence].subject):
                return sequence
        return 0

    def read(self, filter_subject: str, start: int) -> list[Record]:
        candidates = self._index.candidates(filter_subject)
        found = (self._records[n] for n in candidates[bisect_left(candidates, start) :])
        return [record for record in found if matches(filter_subject, record.subject)]

    def record(self, sequence: int) -> Record:
        try:
            return self._records[sequence]
        except KeyError:
            raise NotFound(f"the log holds no record {sequence}") from None

    def take_out(self, sequence: int) -> None:
        record = self._records.pop(sequence, None)
        if record is not None:
            self._index.remove(record.subject, sequence)

    def purge(self, filter_subject: str, through: int) -> None:
        for record in self.read(filter_subject, 1):
            if record.sequence <= through:
                self.take_out(record.sequence)

    def holds(self, sequence: int) -> bool:
        return sequence in self._records

    def subjects(self, filter_subject: str) -> list[str]:
        return sorted({record.subject for record in self.read(filter_subject, 1)})

    def _store(self, entry: Entry) -> int:
        self.last_sequence += 1
        record = Record(
            self.last_sequence,
            entry.subject,
            entry.data,
            self.now_ns(),
            imported=IMPORTED in entry.headers,
            headers=block_of(entry.headers),
        )
        self._records[record.sequence] = record
        self._index.add(entry.subject, record.sequence)
        for notify in tuple(self.on_record):
            notify(record)
        return record.sequence

    def _forget_old_msg_ids(self) -> None:
        oldest = anyio.current_time() - DUPLICATE_WINDOW_S
        while self._msg_id_ages and self._msg_id_ages[0][0] < oldest:
            self._msg_ids.pop(self._msg_id_ages.popleft()[1], None)
