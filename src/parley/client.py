"""
Parley from Python: connect, serve a panel, submit a debate, follow it, await its result.

A debate belongs to the log, not to whoever follows it: cancelling a call here ends the call, and
the debate goes on.
"""

import math
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import CancelRequested, Fact, Status
from parley.bus.contracts.panel import DebateInput, PanelBase
from parley.bus.errors import (
    BadInput,
    Conflict,
    DecodeError,
    NotFound,
    ParleyError,
)
from parley.bus.journal import Journal
from parley.bus.plugins import Plugins
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.configs.panels import resolve
from parley.configs.settings import Settings, load
from parley.connection import new_id, open_host
from parley.coordinator.core.audit import Discrepancy, audit
from parley.coordinator.core.protocol import PROTOCOLS, protocol_of
from parley.coordinator.core.reducer import take
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.panel import Panel
from parley.staff import beside, staffed
from parley.submission import submit
from parley.wording import Wording

if TYPE_CHECKING:
    from parley.agents.brain import Brain

WORDINGS: Mapping[str, Wording] = Plugins("parley.wording", Wording)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Event:
    """One fact of a debate, with its place in it and in words."""

    ordinal: int
    fact: Fact
    lines: tuple[str, ...]

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
    def __init__(self, journal: Journal, ref: DebateRef, tasks: TaskGroup) -> None:
        self._journal = journal
        self._tasks = tasks
        self.ref = ref

    @property
    def id(self) -> str:
        return self.ref.id

    async def events(self, after: int = -1) -> AsyncIterator[Event]:
        """
        Every fact behind the ordinal `after`, as it happens, until the debate is closed.

        Whoever comes back says with `after` what it has seen. Raises what ended the following.
        """
        state, wording = DebateState(), _wording()
        async for fact in self._follow():
            before = state
            state = take(before, fact).after
            if state is not before and before.facts > after:
                yield Event(before.facts, fact, tuple(wording.lines(fact, before, state)))
            if state.closed is not None:
                return

    async def _follow(self) -> AsyncIterator[Fact]:
        """The log is read by a task of the client: this generator may be left at any point."""
        send, receive = anyio.create_memory_object_stream[Sequence[Record] | ParleyError](math.inf)
        scope = anyio.CancelScope()

        async def read() -> None:
            with scope, send:
                try:
                    await self._journal.follow(self.ref, on=send.send_nowait)
                except ParleyError as error:
                    send.send_nowait(error)

        self._tasks.start_soon(read)
        try:
            with receive:
                async for records in receive:
                    if isinstance(records, ParleyError):
                        raise records
                    for fact in self._decoded(records):
                        yield fact
        finally:
            scope.cancel()

    def _decoded(self, records: Sequence[Record]) -> Iterable[Fact]:
        """What is no fact is left out."""
        for record in records:
            try:
                yield self._journal.decode(record).fact
            except DecodeError as error:
                log.warning("record_left_out", sequence=record.sequence, reason=str(error))

    async def facts(self) -> list[Fact]:
        """Those that stand in the log at this moment. Raises NotFound."""
        logged, _ = await self._journal.read(self.ref)
        if not logged:
            raise NotFound(f"no debate {str(self.ref)!r} on this server")
        return [one.fact for one in logged]

    async def result(self, timeout: float | None = None) -> Result:  # noqa: ASYNC109 - the caller's words
        """Wait for the end. Raises TimeoutError after `timeout` seconds; the debate goes on."""
        with anyio.fail_after(timeout):
            state = DebateState()
            async for event in self.events():
                state = take(state, event.fact).after
        return _result(self.ref, state)

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


class Client:
    """Opened by `connect`. Everything it starts ends with it; debates in the log stay."""

    def __init__(self, journal: Journal, settings: Settings, tasks: TaskGroup) -> None:
        self._journal = journal
        self._settings = settings
        self._tasks = tasks

    async def submit(
        self,
        panel: Panel | PanelBase | str,
        text: str = "",
        *,
        image: bytes | None = None,
        id: str | None = None,  # noqa: A002 - the name that the log uses
    ) -> Debate:
        """
        Submit a debate to whoever serves the panel: a Panel, a resolved panel, or a panel's name.

        Raises BadInput for a panel with mistakes, an id that is taken, or nothing to debate.
        """
        resolved = self._resolved(panel)
        if not text.strip() and image is None:
            raise BadInput("nothing to debate: give a text or an image")
        ref = DebateRef(resolved.name, id or new_id())
        blobs = {}
        if image is not None:
            blobs["image"] = await self._journal.bus.put_blob(image, "application/octet-stream")
        about = DebateInput(text=text, blobs=blobs)
        await submit(self._journal, ref, resolved, about, fresh=id is None)
        return Debate(self._journal, ref, self._tasks)

    async def debate(self, id: str) -> Debate:  # noqa: A002 - as above
        """The debate by its id, or by `panel/id`. Raises NotFound."""
        panel, _, name = id.rpartition("/")
        found = await self._journal.find(panel or "*", name)
        if not found:
            raise NotFound(f"no debate {id!r} on this server")
        if len(found) > 1:
            named = ", ".join(map(str, found))
            raise BadInput(f"{id!r} stands in several panels: {named}")
        return Debate(self._journal, found[0], self._tasks)

    async def debates(self, panel: str = "*") -> list[Debate]:
        """Those that the server holds, oldest first."""
        found = await self._journal.find(panel)
        return [Debate(self._journal, ref, self._tasks) for ref in found]

    @asynccontextmanager
    async def serve(
        self,
        panel: Panel,
        *,
        coordinator: bool = True,
        seats: Iterable[str] | None = None,
        brains: "Mapping[str, Brain] | None" = None,
    ) -> AsyncIterator[None]:
        """
        Speak for the personas of a panel while the context lasts.

        `seats` names those who are served here (all that have a function, otherwise); `brains`
        seats other brains. With `coordinator` the debates are coordinated here as well.
        """
        given = dict(brains or {})
        names = tuple(seats) if seats is not None else (*panel.speakers, *given)
        unknown = [one for one in names if one not in panel.speakers and one not in given]
        if unknown:
            raise BadInput(f"panel {panel.name}: nobody speaks for {', '.join(unknown)}")
        panel.resolved()
        sitting = [
            (panel.name, one, given.get(one) or panel.brain(one)) for one in dict.fromkeys(names)
        ]
        async with staffed(self._journal, self._settings, sitting, coordinator=coordinator):
            yield

    def _resolved(self, panel: Panel | PanelBase | str) -> PanelBase:
        match panel:
            case Panel():
                return panel.resolved()
            case str():
                return resolve(panel, panels_dir=self._settings.panels).panel
            case _:
                return panel


@asynccontextmanager
async def connect(
    url: str | None = None,
    *,
    settings: Settings | None = None,
    store: str | Path | None = None,
) -> AsyncIterator[Client]:
    """
    A client of the server at `url`, or of a private one where neither it nor the settings name one.

    `store` keeps the private server's log in a folder; without it the log is gone afterwards.
    Raises Unreachable for a server that does not answer.
    """
    chosen = settings or load(flags={"nats.url": url})
    kept = Path(store) if store is not None else None
    async with open_host(chosen, warn=_warn, store=kept) as host, beside() as tasks:
        yield Client(host.journal, host.settings, tasks)


def _warn(differences: Iterable[str]) -> None:
    for one in differences:
        log.warning("server_differs", difference=one)


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
        detail=result_of(ref, state),
    )
