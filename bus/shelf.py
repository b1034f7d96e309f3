"""
A shelf: a bounded store beside the log, from which the oldest goes first.

What stands on it may be gone tomorrow; whoever decides by it writes down what was found.
"""

from typing import Protocol

from parley.bus.port import Record


class Shelf(Protocol):
    async def put(self, key: str, data: bytes) -> None:
        """Once ever for each key, while it stands there; putting it again changes nothing."""
        ...

    async def read(self, *, start: int = 1) -> list[Record]:
        """Everything from the sequence `start` on, oldest first."""
        ...

    async def first_sequence(self) -> int:
        """Of the oldest that still stands there; what came before it is gone."""
        ...
