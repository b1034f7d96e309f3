"""A register in memory: as on a server, it outlives the clients that use it."""

from parley.bus.errors import Conflict
from parley.bus.memory.faults import Chance
from parley.bus.memory.log import MemoryLog
from parley.bus.port import Guard, Record
from parley.bus.wildcards import matches


class MemoryRegister:
    def __init__(self, log: MemoryLog, chance: Chance) -> None:
        self._log = log
        self._chance = chance
        self._records: dict[str, Record] = {}
        self._count = 0

    async def replace(self, key: str, data: bytes, guard: Guard) -> int:
        await self._chance.delay()
        if self._last_of(guard.subject) != guard.sequence:
            raise Conflict(f"somebody else wrote {key} first")
        self._count += 1
        self._records.pop(key, None)
        self._records[key] = Record(self._count, key, data, self._log.now_ns())
        await self._chance.delay()
        return self._records[key].sequence

    async def read(self, keys: str, *, start: int = 1) -> list[Record]:
        await self._chance.delay()
        return [
            record
            for key, record in self._records.items()
            if record.sequence >= start and matches(keys, key)
        ]

    async def newest(self, key: str) -> Record | None:
        await self._chance.delay()
        return self._records.get(key)

    def _last_of(self, keys: str) -> int:
        found = (one.sequence for key, one in self._records.items() if matches(keys, key))
        return max(found, default=0)
