"""
Parley from Python: connect, serve a panel, submit a debate, follow it, await its result.

Everything a client starts ends with it; debates in the log stay.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import structlog
from anyio.abc import TaskGroup

from parley.bus.backlog import follow_everything
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput, PanelBase
from parley.bus.errors import BadInput, NotFound
from parley.bus.journal import Journal, Logged
from parley.bus.position import starting
from parley.bus.subjects import DebateRef
from parley.configs.names import name_unknown
from parley.configs.panels import resolve
from parley.configs.settings import Settings, load
from parley.connection import new_id, open_host
from parley.coordinator.core.reducer import take
from parley.coordinator.core.state import DebateState
from parley.debate import Debate, Event, Step
from parley.following import Following
from parley.panel import Panel
from parley.seat import OpenAsk, Seats
from parley.staff import beside, staffed
from parley.submission import submit

log = structlog.get_logger()


class Client:
    """Opened by `connect`."""

    def __init__(self, journal: Journal, settings: Settings, tasks: TaskGroup) -> None:
        self._journal = journal
        self._settings = settings
        self._tasks = tasks
        self._seats = Seats(journal)

    @property
    def url(self) -> str | None:
        """Of the server; others join it there while this client lives."""
        return self._settings.nats.url

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
        ref = DebateRef(resolved.name, new_id() if id is None else id)
        if not ref.is_name:
            raise BadInput(f"the id {ref.id!r} should be letters, digits, - and _, at most 64")
        blobs = {}
        if image is not None:
            blobs["image"] = await self._journal.bus.put_blob(image, "application/octet-stream")
        about = DebateInput(text=text, blobs=blobs)
        await submit(self._journal, ref, resolved, about, fresh=id is None)
        return self._debate(ref)

    async def debate(self, id: str) -> Debate:  # noqa: A002 - as above
        """The debate by its id, or by `panel/id`. Raises NotFound."""
        panel, _, name = id.rpartition("/")
        if not DebateRef(panel or "any", name).is_name:
            raise BadInput(f"{id!r} is no id of a debate: letters, digits, - and _ only")
        found = await self._journal.find(panel or "*", name)
        if not found:
            raise NotFound(f"no debate {id!r} on this server")
        if len(found) > 1:
            named = ", ".join(map(str, found))
            raise BadInput(f"{id!r} stands in several panels: {named}")
        return self._debate(found[0])

    async def debates(self, panel: str = "*") -> list[Debate]:
        """Those that the server holds, oldest first."""
        return [self._debate(ref) for ref in await self._journal.find(panel)]

    async def watch(
        self, panel: str = "*", *, after: int | str | None = None
    ) -> AsyncIterator[Event]:
        """
        What happens in all debates, of one panel or of every panel, until it is left.

        From now on, or from behind the `position` of an event that was seen before; 0 is the
        beginning. What was archived since comes from the archive.
        """
        now = await self._journal.bus.position()
        position = now if after is None else starting(str(after), now)
        states: dict[DebateRef, DebateState] = {}
        following = Following(
            self._journal,
            lambda start, on: follow_everything(self._journal, panel, start=start, on=on),
            position,
        )
        async with aclosing(following.facts(self._tasks)) as facts:
            async for one in facts:
                position = position.past(one.sequence)
                before = await self._before(states, one)
                state = take(before, one.fact).after
                states[one.ref] = state
                if state is not before:
                    yield Step(one.sequence, one.fact, before, state).event(one.ref, str(position))
                if state.closed is not None:
                    del states[one.ref]

    async def _before(self, states: Mapping[DebateRef, DebateState], one: Logged) -> DebateState:
        """What happened in the debate before it was watched is read back."""
        if one.ref in states or isinstance(one.fact, Submitted):
            return states.get(one.ref, DebateState())
        state = DebateState()
        for earlier in (await self._journal.read(one.ref))[0]:
            if earlier.sequence < one.sequence:
                state = take(state, earlier.fact).after
        return state

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
            at_work = staffed(self._journal, self._settings, sitting, coordinator=coordinator)
            await stack.enter_async_context(at_work)
            yield

    def _debate(self, ref: DebateRef) -> Debate:
        return Debate(self._journal, ref, self._tasks)

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
    Raises BadInput for an address that is none, Unreachable for a server that does not answer.
    """
    if url is not None and store is not None:
        raise BadInput("give a server's address or the store of a private one, not both")
    chosen = settings or load(flags={"nats.url": url})
    if chosen.names_a_server and store is not None:
        raise BadInput(f"the settings name a server ({chosen.nats.url}): it has its own store")
    embedded = chosen.embedded.model_copy(update={"store": store and Path(store)})
    chosen = chosen.model_copy(update={"embedded": embedded})
    async with open_host(chosen, warn=_warn) as host, beside() as tasks:
        yield Client(host.journal, host.settings, tasks)


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


def _warn(differences: Iterable[str]) -> None:
    for one in differences:
        log.warning("server_differs", difference=one)
