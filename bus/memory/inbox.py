"""What arrived for one reader and waits to be read."""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Inbox(Generic[T]):
    def __init__(self, waiting: Iterable[T] = ()) -> None:
        self._waiting = deque(waiting)
        self._arrival = anyio.Event()

    def put(self, item: T) -> None:
        self._waiting.append(item)
        self._arrival.set()

    async def get(self) -> T:
        while not self._waiting:
            self._arrival = anyio.Event()
            await self._arrival.wait()
        return self._waiting.popleft()


@contextmanager
def registered(listeners: list[T], listener: T) -> Iterator[None]:
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
