"""Reading the log as it grows, no faster than somebody takes what is read."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup
from pydantic import ValidationError

from parley.bus.contracts.partial import Partial
from parley.bus.errors import DecodeError, ParleyError, Unavailable
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.connection import Warn, tell

# So many records are read ahead of whoever takes them; then reading pauses, to go on at half of it.
MOST_AHEAD = 1000

BEGINNING = Position()

# Hands on every record behind a position, until cancelled.
Tail: TypeAlias = Callable[[Position, Callable[[Sequence[Record]], None]], Awaitable[None]]
Overhear: TypeAlias = Callable[[DebateRef, Partial], None]


class Following:
    """
    The facts that `tail` hands on, behind a position; with `refs`, which may change meanwhile, of
    those debates only.

    A task of the client reads, so that whoever iterates may be cancelled or leave at any point.
    """

    def __init__(  # noqa: PLR0913 - each has a default
        self,
        journal: Journal,
        tail: Tail,
        start: Position = BEGINNING,
        *,
        warn: Warn = tell,
        refs: Collection[DebateRef] | None = None,
        most: int = MOST_AHEAD,
    ) -> None:
        self._journal = journal
        self._handed_on = tail
        self._seen = start
        self._warn = warn
        self._refs = refs
        self._most = most
        self._scope = anyio.CancelScope()
        # None ends it.
        self._read: deque[Record | ParleyError | None] = deque()
        self._news = anyio.Event()
        self._room = anyio.Event()
        self._pause = anyio.CancelScope()

    async def facts(self, tasks: TaskGroup) -> AsyncGenerator[Logged, None]:
        """Each once; what is no fact is left out. Raises what ended the reading."""
        tasks.start_soon(self._run)
        try:
            while True:
                one = await self._take_next()
                if self._refs is not None:
                    address = self._journal.subjects.parse(one.subject)
                    if address is None or address[0] not in self._refs:
                        continue
                try:
                    yield self._journal.decode(one)
                except DecodeError as error:
                    self._warn([f"record {one.sequence} is left out: {error}"])
        finally:
            self._scope.cancel()

    async def _take_next(self) -> Record:
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
        return one

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


def of_one(journal: Journal, ref: DebateRef) -> Tail:
    """One debate, wherever it stands."""

    async def tail(start: Position, on: Callable[[Sequence[Record]], None]) -> None:
        def fresh(records: Sequence[Record]) -> None:
            on([one for one in records if not start.covers(one.sequence)])

        await journal.follow(ref, on=fresh)

    return tail


def partial_of(journal: Journal, subject: str, data: bytes) -> tuple[DebateRef, Partial] | None:
    """None where the content names another author than the subject, which the server checks."""
    address = journal.subjects.parse_partial(subject)
    if address is None:
        return None
    try:
        said = Partial.model_validate_json(data)
    except ValidationError:
        return None
    ref, step, persona = address
    return (ref, said) if (said.step, said.persona) == (step, persona) else None


@asynccontextmanager
async def overhearing(journal: Journal, ref: DebateRef | None, on: Overhear) -> AsyncIterator[None]:
    """While the context lasts, `on` is told what is being said; whatever is no partial is left out."""

    def hear(subject: str, data: bytes) -> None:
        said = partial_of(journal, subject, data)
        if said is not None:
            on(*said)

    subjects = journal.subjects
    where = subjects.partials(ref.panel, ref.id) if ref is not None else subjects.partials()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journal.bus.listen, where, hear)
        yield
        tasks.cancel_scope.cancel()
