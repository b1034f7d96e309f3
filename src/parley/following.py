"""Reading the log as it grows, no faster than somebody takes what is read."""

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeAlias

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.errors import DecodeError, ParleyError, Unavailable
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.position import Position

# So many records are read ahead of whoever takes them; then reading pauses, to go on at half of it.
MOST_AHEAD = 1000

BEGINNING = Position()

log = structlog.get_logger()


# Hands on every record behind a position, until cancelled.
Tail: TypeAlias = Callable[[Position, Callable[[Sequence[Record]], None]], Awaitable[None]]


class Following:
    """
    The facts that `tail` hands on, behind a position.

    A task of the client reads, so that whoever iterates may be cancelled or leave at any point.
    """

    def __init__(
        self,
        journal: Journal,
        tail: Tail,
        start: Position = BEGINNING,
        most: int = MOST_AHEAD,
    ) -> None:
        self._journal = journal
        self._handed_on = tail
        self._seen = start
        self._most = most
        self._scope = anyio.CancelScope()
        # None ends it.
        self._read: deque[Record | ParleyError | None] = deque()
        self._news = anyio.Event()
        self._room = anyio.Event()
        self._pause = anyio.CancelScope()

    async def facts(self, tasks: TaskGroup) -> AsyncGenerator[Logged, None]:
        """What is no fact is left out. Raises what ended the reading."""
        tasks.start_soon(self._run)
        try:
            while True:
                while not self._read:
                    self._news = anyio.Event()
                    await self._news.wait()
                one = self._read.popleft()
                if len(self._read) <= self._most // 2:
                    self._room.set()
                if one is None:
                    raise Unavailable("the client was closed before the debate was")
                if isinstance(one, ParleyError):
                    raise one
                try:
                    yield self._journal.decode(one)
                except DecodeError as error:
                    log.warning("record_left_out", sequence=one.sequence, reason=str(error))
        finally:
            self._scope.cancel()

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._tail()
        except ParleyError as error:
            self._read.append(error)
        finally:
            self._read.append(None)
            self._news.set()

    async def _tail(self) -> None:
        """A bus hands on what comes; one that is ahead too far is left, and asked again later."""
        while True:
            self._pause = anyio.CancelScope()
            with self._pause:
                await self._handed_on(self._seen, self._take)
            self._room = anyio.Event()
            if len(self._read) > self._most // 2:
                await self._room.wait()

    def _take(self, records: Sequence[Record]) -> None:
        """What there is no room for is left: it is read again from there on."""
        if self._pause.cancel_called:
            return
        kept = records[: self._most - len(self._read)]
        self._read += kept
        for one in kept:
            self._seen = self._seen.past(one.sequence)
        self._news.set()
        if len(self._read) >= self._most:
            self._pause.cancel()
