"""Following debates on the bus: fold what arrives, show it, notice when it is over."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
from pydantic import ValidationError

from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.partial import Partial
from parley.bus.errors import BadInput, DecodeError, Denied, NotFound, NotInstalled
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import EVERY_DEBATE, DebateRef, Subjects
from parley.console.cli.exits import complain
from parley.console.runtime.system import follow
from parley.console.terminal.views import View
from parley.console.transcript.text import is_token
from parley.coordinator.core.reducer import fold, take
from parley.coordinator.core.state import DebateState

# Of an id that is not given whole; a new id ends in four digits of chance.
SHORTEST_ID = 4
ALIKE_SHOWN = 5


class Audience:
    """The states of the debates seen so far."""

    def __init__(self, journal: Journal, view: View) -> None:
        self._journal = journal
        self._view = view
        self.states: dict[DebateRef, DebateState] = {}

    async def see(self, record: Record) -> Logged | None:
        """None for a record that counts for nothing."""
        try:
            logged = self._journal.decode(record)
        except DecodeError as error:
            complain(f"warning: record {record.sequence} is left out: {error}")
            return None
        before = await self._before(logged)
        if before is None:
            return logged
        walked = take(before, logged.fact)
        self.states[logged.ref] = walked.after
        if walked.refused is not None:
            complain(f"warning: record {record.sequence} is left out: {walked.refused}")
            return None
        self._view.show(logged.ref, logged.fact, before, walked.after)
        return logged

    async def _before(self, logged: Logged) -> DebateState | None:
        """What happened before we came is read back, but not shown; None if we may not read."""
        if logged.ref not in self.states and not isinstance(logged.fact, Submitted):
            try:
                earlier, _ = await self._journal.read(logged.ref)
            except Denied:
                return None
            past = (one.fact for one in earlier if one.sequence < logged.sequence)
            self.states[logged.ref] = fold(past)
        return self.states.get(logged.ref, DebateState())


def partial_of(subjects: Subjects, subject: str, data: bytes) -> tuple[DebateRef, Partial] | None:
    """None where the content names another author than the subject, which the server checks."""
    address = subjects.parse_partial(subject)
    if address is None:
        return None
    try:
        said = Partial.model_validate_json(data)
    except ValidationError:
        return None
    ref, step, persona = address
    return (ref, said) if (said.step, said.persona) == (step, persona) else None


@asynccontextmanager
async def overhearing(
    journal: Journal, ref: DebateRef | None, on: Callable[[DebateRef, Partial], None]
) -> AsyncIterator[None]:
    """While the context lasts, `on` is told what is being said; whatever is no partial is left out."""

    def hear(subject: str, data: bytes) -> None:
        said = partial_of(journal.subjects, subject, data)
        if said is not None:
            on(*said)

    subjects = journal.subjects
    where = subjects.partials(ref.panel, ref.id) if ref is not None else subjects.partials()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(journal.bus.listen, where, hear)
        yield
        tasks.cancel_scope.cancel()


async def follow_to_the_end(
    journal: Journal, refs: Sequence[DebateRef], view: View, *, start: Position
) -> dict[DebateRef, DebateState]:
    """The final states, once all of these debates are closed."""
    audience = Audience(journal, view)
    waiting = set(refs)

    async def see(record: Record) -> bool:
        address = journal.subjects.parse(record.subject)
        if address is None or address[0] not in waiting:
            return False
        await audience.see(record)
        if audience.states.get(address[0], DebateState()).closed is not None:
            waiting.discard(address[0])
        return not waiting

    alone = refs[0] if len(refs) == 1 else None
    async with overhearing(journal, alone, view.overhear):
        await follow(journal, alone or EVERY_DEBATE, start=start, see=see)
    return audience.states


async def find(journal: Journal, name: str) -> DebateRef:
    """
    The debate by its id, by `panel/id` where an id stands in several panels, or by the beginning
    or the end of its id where no other debate's is like it.
    """
    refs = sorted(await journal.find(*named(name)))
    if not refs and len(named(name).id) >= SHORTEST_ID:
        refs = await _alike(journal, named(name))
        if len(refs) > 1:
            some = ", ".join(map(str, refs[:ALIKE_SHOWN])) + (
                ", …" if len(refs) > ALIKE_SHOWN else ""
            )
            raise BadInput(f"{name!r} may be any of {len(refs)} debates: {some}")
    if not refs:
        await _refuse_foreign(journal, named(name))
        raise NotFound(f"no debate {name!r} on this server (parley list shows them)")
    if len(refs) > 1:
        raise BadInput(f"{name!r} stands in several panels: {', '.join(map(str, refs))}")
    return refs[0]


async def _alike(journal: Journal, wanted: DebateRef) -> list[DebateRef]:
    return sorted(
        ref
        for ref in await journal.find(wanted.panel)
        if ref.id.startswith(wanted.id) or ref.id.endswith(wanted.id)
    )


async def _refuse_foreign(journal: Journal, ref: DebateRef) -> None:
    """Raises NotInstalled where the debate is there, but of a protocol that this program lacks."""
    for record in await journal.bus.read(journal.subjects.submissions(*ref)):
        try:
            journal.decode(record)
        except NotInstalled as error:
            address = journal.subjects.parse(record.subject)
            raise NotInstalled(f"{address and address[0]}: {error}") from error
        except DecodeError:
            continue


def named(name: str) -> DebateRef:
    """What a person calls a debate; the panel is `*` where none is said."""
    panel, slash, debate = name.rpartition("/")
    _check_token(debate, name)
    if slash:
        _check_token(panel, name)
    return DebateRef(panel or "*", debate)


def _check_token(token: str, name: str) -> None:
    if not is_token(token):
        raise BadInput(f"{name!r} is no id of a debate: letters, digits, - and _ only")
