"""What is on its way to one reader, in order, each as long as the seed says."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import anyio

from parley.bus.memory.faults import Chance

T = TypeVar("T")


class Inbox(Generic[T]):
    def __init__(self, chance: Chance, waiting: Iterable[T] = ()) -> None:
        self._chance = chance
        self._waiting: deque[tuple[float, T]] = deque()
        self._arrival = anyio.Event()
        self._latest = 0.0
        for item in waiting:
            self.put(item)

    def put(self, item: T) -> None:
        """Nothing overtakes what was sent before it."""
        self._latest = max(self._latest, anyio.current_time() + self._chance.travel_s())
        self._waiting.append((self._latest, item))
        self._arrival.set()

    async def get(self) -> T:
        while not self._waiting:
            self._arrival = anyio.Event()
            await self._arrival.wait()
        arrives, item = self._waiting[0]
        remaining = arrives - anyio.current_time()
        if remaining > 0:
            await anyio.sleep(remaining)
        self._waiting.popleft()
        return item

    async def get_all(self) -> list[T]:
        """At least one: whatever has arrived."""
        items = [await self.get()]
        while self._waiting and self._waiting[0][0] <= anyio.current_time():
            items.append(self._waiting.popleft()[1])
        return items


@contextmanager
def registered(listeners: list[T], listener: T) -> Iterator[None]:
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
