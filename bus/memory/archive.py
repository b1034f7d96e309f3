"""An archive in memory: as on a server, it outlives the clients that use it."""

from collections.abc import Callable, Sequence

from parley.bus.errors import Conflict, Unavailable
from parley.bus.memory.faults import Chance
from parley.bus.memory.inbox import Inbox, registered
from parley.bus.memory.log import MemoryLog, block_of
from parley.bus.port import Extent, Record
from parley.bus.wildcards import matches


class MemoryArchive:
    def __init__(self, log: MemoryLog, chance: Chance) -> None:
        self._log = log
        self._chance = chance
        self._records: dict[str, Record] = {}
        self._count = 0
        self._on_record: list[Callable[[Record], None]] = []

    async def put(
        self, subject: str, data: bytes, headers: Sequence[str], *, after: int = 0
    ) -> None:
        await self._chance.delay()
        if self._chance.happens(self._chance.faults.lost_writes):
            raise Unavailable(f"no word about {subject}")
        known = self._records.get(subject)
        if after != (known.sequence if known is not None else 0):
            raise Conflict(f"somebody else wrote {subject} first")
        self._records.pop(subject, None)
        self._count += 1
        now, block = self._log.now_ns(), block_of(headers)
        self._records[subject] = Record(self._count, subject, data, now, headers=block)
        for notify in tuple(self._on_record):
            notify(self._records[subject])
        await self._chance.delay()
        if self._chance.happens(self._chance.faults.lost_answers):
            raise Unavailable(f"no word about {subject}")

    def record_of(self, subject: str) -> Record | None:
        """Without a delay: for whoever watches the server."""
        return self._records.get(subject)

    async def get(self, subject: str) -> Record | None:
        await self._chance.delay()
        return self.record_of(subject)

    async def holds(self, subjects: Sequence[str]) -> set[str]:
        await self._chance.delay()
        return self._records.keys() & set(subjects)

    async def find(self, filter_subject: str) -> list[Record]:
        await self._chance.delay()
        return [one for one in self._records.values() if matches(filter_subject, one.subject)]

    async def follow(
        self, filter_subject: str, *, start: int, on: Callable[[Sequence[Record]], None]
    ) -> None:
        def wanted(record: Record) -> bool:
            return record.sequence >= start and matches(filter_subject, record.subject)

        inbox = Inbox[Record](self._chance, filter(wanted, self._records.values()))

        def note(record: Record) -> None:
            if wanted(record):
                inbox.put(record)

        with registered(self._on_record, note):
            while True:
                on([one._replace(data=b"") for one in await inbox.get_all()])

    async def extent(self) -> Extent:
        await self._chance.delay()
        kept = self._records.values()
        first = next((one.sequence for one in kept), 0)
        return Extent(len(kept), sum(len(one.data) for one in kept), first, self._count)
