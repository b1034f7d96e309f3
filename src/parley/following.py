"""Reading the log as it grows, no faster than somebody takes what is read."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup
from pydantic import ValidationError

from parley.bus.archive import Listed
from parley.bus.contracts.partial import Partial
from parley.bus.errors import DecodeError, ParleyError, Unavailable
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.connection import Warn, tell

# So many records are read ahead of whoever takes them; then reading pauses, to go on at half of it.
MOST_AHEAD = 1000

# Hands on every record from a sequence on, until cancelled.
Tail: TypeAlias = Callable[[int, Callable[[Sequence[Record]], None]], Awaitable[None]]
Overhear: TypeAlias = Callable[[DebateRef, Partial], None]


class Following:
    """
    The facts that `tail` hands on, from a sequence on; with `refs`, which may change, of those
    debates only, and once more from the archive for whoever was cut off while they ended.

    A task of the client reads, so that whoever iterates may be cancelled or leave at any point.
    """

    def __init__(  # noqa: PLR0913 - each has a default
        self,
        journal: Journal,
        tail: Tail,
        start: int = 1,
        *,
        warn: Warn = tell,
        refs: Collection[DebateRef] | None = None,
        most: int = MOST_AHEAD,
    ) -> None:
        self._journal = journal
        self._handed_on = tail
        self._next = start
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
        reached: dict[DebateRef, int] = {}
        try:
            while True:
                one = await self._take_next()
                address = self._journal.subjects.parse(one.subject)
                ref = address[0] if address is not None else None
                if self._refs is not None:
                    if ref is None or ref not in self._refs or one.sequence <= reached.get(ref, 0):
                        continue
                    reached[ref] = one.sequence
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
                async with anyio.create_task_group() as tasks:
                    if self._refs is not None:
                        tasks.start_soon(self._follow_archive, self._refs)
                    await self._tail()
        except* ParleyError as group:
            self._read.append(_first(group))
        finally:
            self._read.append(None)
            self._news.set()

    async def _tail(self) -> None:
        """A bus hands on what comes; one that is ahead too far is left, and asked again later."""
        while True:
            self._pause = anyio.CancelScope()
            with self._pause:
                await self._handed_on(self._next, self._take)
            self._room = anyio.Event()
            if len(self._read) > self._most // 2:
                await self._room.wait()

    def _take(self, records: Sequence[Record]) -> None:
        """What there is no room for is left: it is read again from there on."""
        fresh = [one for one in records if one.sequence >= self._next]
        if self._pause.cancel_called or not fresh:
            return
        kept = fresh[: self._most - len(self._read)]
        self._read += kept
        self._next = kept[-1].sequence + 1
        self._news.set()
        if len(self._read) >= self._most:
            self._pause.cancel()

    async def _follow_archive(self, refs: Collection[DebateRef]) -> None:
        """Those that are archived already, then those that will be."""
        journal = self._journal
        last = (await journal.bus.archive.extent()).last
        found: deque[DebateRef] = deque()
        news = anyio.Event()

        def note(listed: Sequence[Listed], _reached: int) -> None:
            found.extend(one.ref for one in listed if one.ref in refs)
            news.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(journal.archive.follow, start=last + 1, on=note))
            for ref in tuple(refs):
                if await journal.bus.archive.holds([journal.subjects.archive(ref)]):
                    found.append(ref)
            while True:
                while found:
                    archived = await journal.archive.get(found.popleft())
                    if archived is not None:
                        self._read += archived.records
                        self._news.set()
                news = anyio.Event()
                await news.wait()


def _first(group: BaseExceptionGroup[ParleyError]) -> ParleyError:
    one = group.exceptions[0]
    return _first(one) if isinstance(one, BaseExceptionGroup) else one


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
