"""
A debate from Python: its facts as they happen, its result, its proof.

A debate belongs to the log, not to whoever follows it: cancelling a call here ends the call, and
the debate goes on.
"""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import CancelRequested, Deleted, Fact, Status, declarations_in
from parley.bus.errors import Conflict, NotFound
from parley.bus.journal import Journal
from parley.bus.plugins import Plugins
from parley.bus.subjects import DebateRef
from parley.connection import Warn
from parley.coordinator.core.audit import Discrepancy, audit
from parley.coordinator.core.ledger import Ledger, ledger_of
from parley.coordinator.core.protocol import PROTOCOLS, protocol_of
from parley.coordinator.core.reducer import take
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.following import Following, of_one
from parley.logs import Log, log_of, refuse_deleted
from parley.moving import export
from parley.wording import Wording

if TYPE_CHECKING:
    from parley.console.listing.rows import Row

WORDINGS: Mapping[str, Wording] = Plugins("parley.wording", Wording)


@dataclass(frozen=True, slots=True)
class Event:
    """
    One fact of a debate, and the debate before and after it.

    `sequence` is the fact's place in the log, `ordinal` its place in the debate.
    """

    ref: DebateRef
    sequence: int
    time_ns: int
    fact: Fact
    before: DebateState = field(repr=False)
    state: DebateState = field(repr=False)
    # Of whoever watches all debates and has seen it: where to go on.
    position: str = ""

    @property
    def debate(self) -> str:
        return self.ref.id

    @property
    def panel(self) -> str:
        return self.ref.panel

    @property
    def ordinal(self) -> int:
        return self.before.facts

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.time_ns / 1e9, UTC)

    @property
    def lines(self) -> tuple[str, ...]:
        """The fact in words; none where what came before it could not be read."""
        if self.state.panel is None:
            return ()
        return tuple(_wording().lines(self.fact, self.before, self.state))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class Result:
    """How a debate ended; `detail` is the whole result as its protocol tells it."""

    id: str
    panel: str
    status: Status
    reason: str
    verdict: str | None
    confidence: float | None
    # What a vote on the opening statements would have said.
    opening: str | None
    rounds: int
    # Whether the debate earned its cost.
    ledger: Ledger
    detail: Contract

    @property
    def changed_by_debate(self) -> bool:
        return self.opening is not None and self.verdict != self.opening


@dataclass(frozen=True, slots=True)
class Verification:
    """What recomputing every decision from the log alone came to."""

    holds: bool
    checked: int
    problems: tuple[Discrepancy, ...] = ()
    # Records that have no place in the debate and change nothing in it.
    foreign: tuple[Discrepancy, ...] = ()
    # Why this program cannot recompute the decisions: they were made by other rules.
    unverified: str | None = None


class Debate:
    def __init__(
        self,
        journal: Journal,
        ref: DebateRef,
        tasks: TaskGroup,
        warn: Warn,
        row: "Row | None" = None,
    ) -> None:
        # What the list tells of it, where it comes from `Client.debates`.
        self.row = row
        self._journal = journal
        self._tasks = tasks
        self._warn = warn
        self.ref = ref

    @property
    def id(self) -> str:
        return self.ref.id

    @property
    def panel(self) -> str:
        return self.ref.panel

    async def events(self, after: int = -1) -> AsyncGenerator[Event, None]:
        """
        Every fact behind the ordinal `after`, as it happens, until the debate is closed.

        Whoever comes back says with `after` what it has seen. Raises what ended the following.
        """
        async with aclosing(self._events()) as events:
            async for one in events:
                if one.ordinal > after:
                    yield one

    async def declarations(self, after: int = -1) -> AsyncGenerator[TerminationDeclaration, None]:
        """What the debate and each of its steps declare, as it happens, until the debate is closed."""
        async with aclosing(self._events()) as events:
            async for event in events:
                if event.ordinal > after:
                    for one in declarations_in(event.fact):
                        yield one

    async def result(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 - the caller's words
        """Wait for the end. Raises TimeoutError after `timeout` seconds; the debate goes on."""
        with anyio.fail_after(timeout):
            state = DebateState()
            async with aclosing(self._events()) as events:
                async for one in events:
                    state = one.state
        return _result(self.ref, state)

    async def _events(self) -> AsyncGenerator[Event, None]:
        following = Following(self._journal, of_one(self._journal, self.ref), warn=self._warn)
        state = DebateState()
        async with aclosing(following.facts(self._tasks)) as facts:
            async for one in facts:
                if state.panel is None:
                    refuse_deleted([one])
                walked = take(state, one.fact)
                before, state = state, walked.after
                if walked.refused is not None:
                    self._warn([f"record {one.sequence} is left out: {walked.refused}"])
                elif walked.has_place:
                    yield Event(self.ref, one.sequence, one.time_ns, one.fact, before, state)
                if state.closed is not None:
                    return

    async def facts(self) -> list[Fact]:
        """Those that stand in the log at this moment. Raises NotFound."""
        return list((await self.log()).facts)

    async def log(self) -> Log:
        """All that is recorded of it at this moment, the times included. Raises NotFound."""
        return await log_of(self._journal, self.ref, self._warn)

    async def cancel(self, why: str = "") -> bool:
        """
        Ask for the end; the coordinator writes it, and a debate that ends at this moment may win.

        False where it was closed or cancelled before. Raises NotFound.
        """
        if (await self.log()).state.closed is not None:
            return False
        try:
            await self._journal.cancel(self.ref, CancelRequested(why=why))
        except Conflict:
            return False
        return True

    async def delete(self, why: str = "") -> None:
        """
        Take a closed debate out of the log and the archive for good; only a tombstone stays.

        Idempotent; its id is never used again. Blobs, which others may share, go by their age.
        Raises Conflict for one that is open, Denied where only others may, NotFound.
        """
        if not await self._journal.records(self.ref):
            raise NotFound(f"no debate {str(self.ref)!r} on this server")
        await self._journal.delete(self.ref, Deleted(why=why), time.time_ns())

    async def verify(self) -> Verification:
        found = audit(await self.facts())
        return Verification(
            found.holds, found.checked, found.discrepancies, found.foreign, found.unverified
        )

    async def export(self, path: str | Path) -> None:
        """
        Write the debate to a file, images included, as `parley export` does: JSON Lines, or a
        bundle where its name ends in .zip.

        `parley replay`, `verify` and `import` read it. Raises BadInput for a place it cannot go to.
        """
        await export([await self.log()], self._journal.bus, Path(path), warn=self._warn)


def _wording() -> Wording:
    return next(iter(WORDINGS.values()), Wording())


def _result(ref: DebateRef, state: DebateState) -> Result:
    assert state.closed is not None
    course = protocol_of(state, PROTOCOLS).course(state)
    return Result(
        id=ref.id,
        panel=ref.panel,
        status=state.closed.status,
        reason=state.terminated.reason if state.terminated else state.closed.reason,
        verdict=course.answer.label if course.answer else None,
        confidence=course.confidence,
        opening=course.before.label if course.before else None,
        rounds=course.rounds,
        ledger=ledger_of(state),
        detail=result_of(ref, state),
    )
