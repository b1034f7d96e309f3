"""A shelf in memory: as on a server, it outlives the clients that use it."""

from parley.bus.port import Record


class MemoryShelf:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._records: dict[str, Record] = {}
        self._count = 0

    async def put(self, key: str, data: bytes) -> None:
        if key in self._records:
            return
        self._count += 1
        self._records[key] = Record(self._count, key, data, 0)
        if len(self._records) > self._limit:
            del self._records[next(iter(self._records))]

    async def read(self, *, start: int = 1) -> list[Record]:
        return [record for record in self._records.values() if record.sequence >= start]

    async def first_sequence(self) -> int:
        return next((record.sequence for record in self._records.values()), self._count + 1)
