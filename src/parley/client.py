"""
Parley from Python: connect, serve a panel, submit a debate, follow it, await its result.

Everything a client starts ends with it; debates in the log stay.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from anyio.abc import TaskGroup
from pydantic import ValidationError

from parley.bus.backlog import follow_everything
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Deleted, Submitted
from parley.bus.contracts.panel import DebateInput, PanelBase
from parley.bus.errors import BadInput, Denied
from parley.bus.journal import Journal, Logged
from parley.bus.position import Position, starting
from parley.bus.subjects import DebateRef
from parley.configs.names import name_unknown
from parley.configs.panels import resolve
from parley.configs.settings import Settings, load
from parley.connection import Warn, new_id, only_warnings, open_host, open_journal, tell
from parley.coordinator.core.reducer import take
from parley.coordinator.core.state import DebateState
from parley.debate import WORDINGS, Debate, Event
from parley.files.reader import Archive
from parley.following import Following, Overhear, Tail, of_one, overhearing
from parley.listing import State, wanted
from parley.logs import Log, every_log, find, refuse_deleted
from parley.moving import export, import_, read_whole
from parley.operations import Operations
from parley.panel import Panel
from parley.reading import Reading
from parley.seat import OpenAsk, Seats, ask_at
from parley.staff import beside, staffed
from parley.submission import submit

if TYPE_CHECKING:
    from parley.agents.brain import Brain
    from parley.agents.worker import Worker
    from parley.coordinator.service.coordinator import Coordinator


# Of those who give no limit.
MOST_LISTED = 2**31


class Debates(list[Debate]):
    """`total` is how many match, within the limit or beyond it."""

    def __init__(self, found: Iterable[Debate], *, total: int) -> None:
        super().__init__(found)
        self.total = total


class Client:
    """Opened by `connect`, or by `join`."""

    def __init__(
        self, journal: Journal, settings: Settings, tasks: TaskGroup, warn: Warn = tell
    ) -> None:
        # For what one runs oneself beside it: a Worker, a Coordinator.
        self.journal = journal
        self.settings = settings
        self.operations = Operations(journal)
        # For a read model of one's own.
        self.reading = Reading(journal)
        self._tasks = tasks
        self._warn = warn
        self._seats = Seats(journal)

    @property
    def url(self) -> str | None:
        """Of the server; others join it there while this client lives."""
        return self.settings.nats.url

    async def submit(  # noqa: PLR0913 - each has a default
        self,
        panel: Panel | PanelBase | str,
        about: str | DebateInput = "",
        *,
        image: bytes | None = None,
        id: str | None = None,  # noqa: A002 - the name that the log uses
        topic: str = "",
        labels: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> Debate:
        """
        Submit a debate to whoever serves the panel: a Panel, a resolved panel, or a panel's name.

        `about` is a text, or a whole input (with blobs from `put_blob`). `topic` and `labels` are
        for people and lists. An id that was just made is `fresh`: it is not looked for.

        Raises BadInput for a panel with mistakes, an id that is taken, or nothing to debate.
        """
        resolved = self._resolved(panel)
        if isinstance(about, str) and not about.strip() and image is None:
            raise BadInput("nothing to debate: give a text or an image")
        ref = DebateRef(resolved.name, new_id() if id is None else id)
        if not ref.is_name:
            raise BadInput(f"the id {ref.id!r} should be letters, digits, - and _, at most 64")
        if isinstance(about, str):
            blobs = {} if image is None else {"image": await self.put_blob(image)}
            try:
                about = DebateInput(text=about, blobs=blobs, topic=topic, labels=dict(labels or {}))
            except ValidationError as error:
                wrong = error.errors()[0]
                where = ".".join(map(str, wrong["loc"]))
                raise BadInput(f"{where}: {wrong['msg']}") from error
        await submit(self.journal, ref, resolved, about, fresh=fresh or id is None)
        return self.at(ref)

    async def put_blob(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        """Idempotent: the same content has the same name."""
        return await self.journal.bus.put_blob(data, media_type)

    async def get_blob(self, ref: BlobRef) -> bytes:
        """Raises NotFound."""
        return await self.journal.bus.get_blob(ref)

    async def debate(self, id: str) -> Debate:  # noqa: A002 - as above
        """
        The debate by its id, by `panel/id`, or by the beginning or end of an id, four characters
        at least. Raises NotFound.
        """
        return self.at(await find(self.journal, id))

    async def debates(  # noqa: PLR0913 - each has a default
        self,
        panel: str = "*",
        *,
        status: State | None = None,
        search: str = "",
        since: datetime | str | None = None,
        limit: int | None = None,
        deleted: bool = False,
    ) -> Debates:
        """
        Those that the server holds, newest first, each with its `row`: topic, status, outcome.

        `status` closed is however it ended; `search` looks into what is debated and the id; `since`
        is a moment, in your own time where it says none. Those that were `deleted` are tombstones.
        Raises BadInput for what nothing can be like.
        """
        asked = wanted(
            panel, status=status, search=search, since=since, limit=limit, deleted=deleted
        )
        page = next(one.page for one in WORDINGS.values() if one.page is not None)
        found = await page(self.reading, self.settings, asked, limit or MOST_LISTED)
        rows = ((DebateRef(row.panel, row.id), row) for row in found.rows)
        listed = (Debate(self.journal, ref, self._tasks, self._warn, row) for ref, row in rows)
        return Debates(listed, total=found.total)

    def at(self, ref: DebateRef) -> Debate:
        """Whether it is there or not."""
        return Debate(self.journal, ref, self._tasks, self._warn)

    async def logs(self, panel: str = "*") -> list[Log]:
        """Every debate with all its facts."""
        return await every_log(self.journal, panel, self._warn)

    async def export(self, logs: Iterable[Log], out: str | Path | BinaryIO) -> None:
        """Several debates into one file, as `Debate.export` does."""
        where = Path(out) if isinstance(out, str) else out
        await export(logs, self.journal.bus, where, warn=self._warn)

    async def import_(self, file: str | Path, *, go_on: bool = False) -> list[Debate]:
        """
        Read exported debates in; nobody is asked anything because of that. Twice changes nothing.

        Those that are not closed are refused, unless they may `go_on` here, with their agents
        asked. Raises BadInput for a file that is not what was exported.
        """
        archive = read_whole(Path(file), self._warn)
        return [self.at(ref) async for ref, _ in self.take_in(archive, go_on=go_on)]

    def take_in(self, archive: Archive, *, go_on: bool) -> AsyncIterator[tuple[DebateRef, str]]:
        """The same for a file that was read already: each debate, and what was done about it."""
        return import_(self.journal, archive, go_on=go_on, warn=self._warn)

    async def watch(
        self,
        panel: str = "*",
        *,
        after: Position | int | str | None = None,
        debates: Collection[DebateRef] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """
        What happens in all debates, of one panel or of every panel, until it is left.

        From now on, or from behind the `position` of an event that was seen before; 0 is the
        beginning. What was archived since comes from the archive. `debates`, a collection that may
        change meanwhile, are those that are wanted. A login that may not read the log hears what
        happens from now on, without what came before.
        """
        alone = (
            next(iter(debates)) if isinstance(debates, frozenset) and len(debates) == 1 else None
        )
        position, tail = await self._tail(panel, alone, after)
        following = Following(self.journal, tail, position, warn=self._warn, refs=debates)
        states: dict[DebateRef, DebateState] = {}
        async with aclosing(following.facts(self._tasks)) as facts:
            async for one in facts:
                if debates is not None:
                    refuse_deleted([one])
                position = position.past(one.sequence)
                walked = take(await self._before(states, one), one.fact)
                before, state = walked.before, walked.after
                states[one.ref] = state
                if walked.refused is not None:
                    self._warn([f"record {one.sequence} is left out: {walked.refused}"])
                elif walked.has_place or not (state.panel or isinstance(one.fact, Deleted)):
                    where = one.ref, one.sequence, one.time_ns
                    yield Event(*where, one.fact, before, state, str(position))
                if state.closed is not None:
                    states.pop(one.ref, None)

    async def _tail(
        self, panel: str, alone: DebateRef | None, after: Position | int | str | None
    ) -> tuple[Position, Tail]:
        """From where, and by what, the log is read; heard, where it may not be read."""
        journal = self.journal
        try:
            now = await journal.bus.position()
        except Denied:
            where = alone or DebateRef(panel, "*")
            return Position(), lambda _, on: journal.bus.hear(journal.subjects.debate(where), on=on)
        if after is None:
            after = now
        start = after if isinstance(after, Position) else starting(str(after), now)
        if alone is not None:
            return start, of_one(journal, alone)
        return start, lambda start, on: follow_everything(journal, panel, start=start, on=on)

    async def _before(self, states: Mapping[DebateRef, DebateState], one: Logged) -> DebateState:
        """What happened in the debate before it was watched is read back, where that is allowed."""
        if one.ref in states or isinstance(one.fact, Submitted):
            return states.get(one.ref, DebateState())
        state = DebateState()
        try:
            earlier, _ = await self.journal.read(one.ref)
        except Denied:
            return state
        for logged in earlier:
            if logged.sequence < one.sequence:
                state = take(state, logged.fact).after
        return state

    def overhearing(
        self, on: Overhear, debate: DebateRef | None = None
    ) -> AbstractAsyncContextManager[None]:
        """While the context lasts, `on` is told what personas have said of their turns so far."""
        return overhearing(self.journal, debate, on)

    async def ask(self, ref: DebateRef, step: str, persona: str) -> OpenAsk:
        """One ask. Raises NotFound, Answered and TooLate where it does not wait for anybody."""
        return await ask_at(self.journal, ref, step, persona)

    async def asks(self, panel: Panel | PanelBase | str = "*", persona: str = "*") -> list[OpenAsk]:
        """The asks that wait for people, the one that is due first in front."""
        return await self._seats.asks(panel if isinstance(panel, str) else panel.name, persona)

    @asynccontextmanager
    async def serve(
        self,
        panel: Panel | PanelBase | str,
        *,
        coordinator: bool = True,
        seats: Iterable[str] | None = None,
        brains: Mapping[str, object] | None = None,
    ) -> AsyncIterator[None]:
        """
        Speak for the personas of a panel while the context lasts.

        `seats` names those who are served here (everybody, otherwise), `brains` who thinks for
        them where that is not the panel's own function: a function, an object with `speak`, or an
        agent of another framework. With `coordinator` the debates are coordinated here as well.

        Raises BadInput for a persona that nobody thinks for, before anything is opened.
        """
        from parley.brains import opened  # noqa: PLC0415 - only who serves

        resolved = self._resolved(panel)
        own = panel.brains if isinstance(panel, Panel) else {}
        rules = panel.rules if isinstance(panel, Panel) else None
        thinking = _thinking(resolved, {**own, **(brains or {})}, seats, rules)
        async with AsyncExitStack() as stack:
            sitting = [
                (resolved.name, one, await stack.enter_async_context(opened(what)))
                for one, what in thinking.items()
            ]
            at_work = self.staffed(sitting, coordinator=coordinator)
            await stack.enter_async_context(at_work)
            yield

    def staffed(
        self, seats: "Iterable[tuple[str, str, Brain]]", *, coordinator: bool = True
    ) -> "AbstractAsyncContextManager[Sequence[Coordinator | Worker]]":
        """With an agent for each (panel, persona, brain) at work, ready before the body runs."""
        return staffed(self.journal, self.settings, seats, coordinator=coordinator)

    def _resolved(self, panel: Panel | PanelBase | str) -> PanelBase:
        match panel:
            case Panel():
                return panel.resolved()
            case str():
                return resolve(panel, panels_dir=self.settings.panels).panel
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
    Raises BadInput for an address that is none, Unreachable for a server that does not answer.
    """
    only_warnings()
    if url is not None and store is not None:
        raise BadInput("give a server's address or the store of a private one, not both")
    chosen = settings or load(flags={"nats.url": url})
    if chosen.names_a_server and store is not None:
        raise BadInput(f"the settings name a server ({chosen.nats.url}): it has its own store")
    async with host(chosen, store=Path(store) if store is not None else None) as client:
        yield client


@asynccontextmanager
async def host(
    settings: Settings,
    *,
    private: bool = False,
    port: int | None = None,
    store: Path | None = None,
    warn: Warn = tell,
) -> AsyncIterator[Client]:
    """As `connect`; a `private` server whatever the settings name, at a port of one's choice."""
    opened = open_host(settings, warn=warn, private=private, port=port, store=store)
    async with opened as (journal, pointed), beside() as tasks:
        yield Client(journal, pointed, tasks, warn)


@asynccontextmanager
async def join(
    settings: Settings, *, create: bool = False, warn: Warn = tell
) -> AsyncIterator[Client]:
    """
    A client of the server that the settings name, or of the usual one; never of a private one.

    Raises Unsuitable where nobody runs Parley there, unless it is to `create` what is missing.
    """
    async with open_journal(settings, create=create, warn=warn) as journal, beside() as tasks:
        yield Client(journal, settings, tasks, warn)


def _thinking(
    panel: PanelBase,
    given: Mapping[str, object],
    seats: Iterable[str] | None,
    chosen: str | None,
) -> dict[str, object]:
    """Who thinks for each persona that is served; `chosen` names other rules. Raises BadInput with one line a mistake."""
    from parley.agents.registry import AutoBrain, thinks_offline  # noqa: PLC0415 - as in `serve`
    from parley.brains import check_brain  # noqa: PLC0415

    everybody = panel.everybody
    served = panel.agents if seats is None else seats
    names = dict.fromkeys(served)
    mistakes = [f"panel {panel.name}: {one} is a person" for one in names if one in panel.people]
    mistakes += [
        f"panel {panel.name}: {name_unknown('persona', one, everybody)}"
        for one in dict.fromkeys((*names, *given))
        if one not in everybody
    ]
    rules = AutoBrain({panel.name: chosen} if chosen else {})
    offline = thinks_offline(panel.name, panel.protocol, chosen)
    # Who stands outside of the roster reports by rule, whatever the panel.
    silent = [one for one in names if one in panel.roster and one not in given and not offline]
    mistakes += [
        f"panel {panel.name}: nobody thinks for {one}: seat a brain with @panel.persona({one!r}) or"
        f" brains={{{one!r}: …}}, or leave it to agents elsewhere with seats=[…]"
        for one in silent
    ]
    for one in names:
        try:
            check_brain(given.get(one, rules), one)
        except BadInput as error:
            mistakes.append(f"panel {panel.name}: {error}")
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return {one: given.get(one, rules) for one in names}
