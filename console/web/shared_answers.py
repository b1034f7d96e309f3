"""Answers that many viewers ask for at the same moment, made once."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable

import anyio

# Of answers that are kept, together; the oldest go first.
KEPT_BYTES = 32 * 2**20

Make = Callable[[], Awaitable[bytes]]


class Answers:
    """A key stands for one answer for ever: whatever changes it must be part of the key."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._being_made: dict[Hashable, anyio.Lock] = {}

    async def get(self, key: Hashable, make: Make) -> bytes:
        """Who asks while it is being made waits for it; if that fails, the next one tries."""
        lock = self._being_made.setdefault(key, anyio.Lock())
        async with lock:
            try:
                if key not in self._kept:
                    self._keep(key, await make())
                return self._kept[key]
            finally:
                if not lock.statistics().tasks_waiting:
                    self._being_made.pop(key, None)

    def _keep(self, key: Hashable, data: bytes) -> None:
        self._kept[key] = data
        self._size += len(data)
        while self._size > self._kept_bytes and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest)
