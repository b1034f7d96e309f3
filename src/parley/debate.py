"""
A debate from Python: its facts as they happen, its result, its proof.

A debate belongs to the log, not to whoever follows it: cancelling a call here ends the call, and
the debate goes on.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import CancelRequested, Fact, Status, declarations_in
from parley.bus.errors import BadInput, Conflict, NotFound
from parley.bus.journal import Journal
from parley.bus.plugins import Plugins
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import Discrepancy, audit
from parley.coordinator.core.ledger import Ledger, ledger_of
from parley.coordinator.core.protocol import PROTOCOLS, protocol_of
from parley.coordinator.core.reducer import take
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.following import Following
from parley.lines import Recorded, blob_line, blobs_in, fact_lines
from parley.wording import Wording

WORDINGS: Mapping[str, Wording] = Plugins("parley.wording", Wording)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Event:
    """
    One fact of a debate, with its place in it and in words; `sequence` is its place in the log, and
    `position` that of whoever watches all debates and has seen it: where to go on.
    """

    debate: str
    panel: str
    ordinal: int
    sequence: int
    fact: Fact
    lines: tuple[str, ...]
    position: str = ""

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


class Step(NamedTuple):
    """One fact, and the debate around it."""

    sequence: int
    fact: Fact
    before: DebateState
    after: DebateState

    def event(self, ref: DebateRef, position: str = "") -> Event:
        lines = tuple(_wording().lines(self.fact, self.before, self.after))
        return Event(
            ref.id, ref.panel, self.before.facts, self.sequence, self.fact, lines, position
        )


class Debate:
    def __init__(self, journal: Journal, ref: DebateRef, tasks: TaskGroup) -> None:
        self._journal = journal
        self._tasks = tasks
        self.ref = ref

    @property
    def id(self) -> str:
        return self.ref.id

    @property
    def panel(self) -> str:
        return self.ref.panel

    async def events(self, after: int = -1) -> AsyncIterator[Event]:
        """
        Every fact behind the ordinal `after`, as it happens, until the debate is closed.

        Whoever comes back says with `after` what it has seen. Raises what ended the following.
        """
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                if step.before.facts > after:
                    yield step.event(self.ref)

    async def declarations(self, after: int = -1) -> AsyncIterator[TerminationDeclaration]:
        """What the debate and each of its steps declare, as it happens, until the debate is closed."""
        async with aclosing(self._steps()) as steps:
            async for step in steps:
                if step.before.facts > after:
                    for one in declarations_in(step.fact):
                        yield one

    async def result(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 - the caller's words
        """Wait for the end. Raises TimeoutError after `timeout` seconds; the debate goes on."""
        with anyio.fail_after(timeout):
            state = DebateState()
            async with aclosing(self._steps()) as steps:
                async for step in steps:
                    state = step.after
        return _result(self.ref, state)

    async def _steps(self) -> AsyncGenerator[Step, None]:
        def tail(
            start: Position, on: Callable[[Sequence[Record]], None]
        ) -> Coroutine[Any, Any, None]:
            def fresh(records: Sequence[Record]) -> None:
                on([one for one in records if not start.covers(one.sequence)])

            return self._journal.follow(self.ref, on=fresh)

        following = Following(self._journal, tail)
        state = DebateState()
        async with aclosing(following.facts(self._tasks)) as facts:
            async for one in facts:
                before, state = state, take(state, one.fact).after
                if state is not before:
                    yield Step(one.sequence, one.fact, before, state)
                if state.closed is not None:
                    return

    async def facts(self) -> list[Fact]:
        """Those that stand in the log at this moment. Raises NotFound."""
        return [one.fact for one in await self._recorded()]

    async def _recorded(self) -> list[Recorded]:
        logged, _ = await self._journal.read(self.ref)
        if not logged:
            raise NotFound(f"no debate {str(self.ref)!r} on this server")
        return [Recorded(one.fact, one.time_ns) for one in logged]

    async def cancel(self, why: str = "") -> None:
        """Ask for the end; the coordinator writes it. Once is enough."""
        try:
            await self._journal.cancel(self.ref, CancelRequested(why=why))
        except Conflict:
            log.debug("cancelled_already", debate=str(self.ref))

    async def verify(self) -> Verification:
        found = audit(await self.facts())
        return Verification(
            found.holds, found.checked, found.discrepancies, found.foreign, found.unverified
        )

    async def export(self, path: str | Path) -> None:
        """
        Write the debate to a file, images included, as `parley export` does (JSON Lines).

        `parley replay`, `verify` and `import` read it. Raises BadInput for a place it cannot go to.
        """
        recorded = await self._recorded()
        lines = list(fact_lines(self.ref, recorded))
        for ref in blobs_in(one.fact for one in recorded):
            try:
                lines.append(blob_line(ref, await self._journal.bus.get_blob(ref)))
            except NotFound as error:
                log.warning("blob_left_out", debate=str(self.ref), reason=str(error))
        text = "".join(f"{line}\n" for line in lines)
        try:
            await anyio.Path(path).write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise BadInput(f"{path}: cannot be written: {error.strerror}") from error


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
