"""A person at the terminal: what they are asked, and the fields of the form one by one."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
from pydantic import JsonValue

from parley.bus.contracts.facts import Asked, Fact
from parley.bus.contracts.partial import Partial
from parley.bus.errors import BadInput, ParleyError
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.console.cli.exits import complain
from parley.console.cli.output import print_line
from parley.console.terminal.views import View
from parley.console.transcript.asked import content_for, show_ask, tell_ask
from parley.console.transcript.form import Field, checked
from parley.coordinator.core.state import DebateState
from parley.seat import OpenAsk

Read = Callable[[str], str]


class NobodyAnswers(BadInput):
    """The terminal was closed, or never was one."""


async def ask_in_terminal(ask: OpenAsk, by: str = "") -> None:
    """Raises NobodyAnswers, and what `OpenAsk.answer` raises."""
    shown = show_ask(ask)
    for line in ("", *tell_ask(shown), ""):
        print_line(line)
    try:
        values = await anyio.to_thread.run_sync(fill_in, shown.fields, abandon_on_cancel=True)
    except EOFError as error:
        raise NobodyAnswers(
            f"{ask.ref}: nobody answers for {ask.persona} here: parley sit {ask.ref.panel}/"
            f"{ask.persona} --debate {ask.ref.id} takes the answer as options"
        ) from error
    await ask.answer(content_for(ask, values), by=by)


def fill_in(fields: Sequence[Field], read: Read = input) -> dict[str, JsonValue]:
    """Asks again until the answer can be used. Raises EOFError where nobody answers any more."""
    given = {field.name: _ask(field, read) for field in fields}
    return {name: value for name, value in given.items() if value is not None}


def _ask(field: Field, read: Read) -> JsonValue:
    _explain(field)
    while True:
        given = _lines(field, read) if field.kind == "lines" else _line(field, read)
        try:
            return checked([field], {field.name: given}).get(field.name)
        except BadInput as error:
            print_line(f"  {error}")


def _explain(field: Field) -> None:
    for one in field.choices:
        print_line(f"  {one.value}" + (f": {one.means}" if one.means else ""))
    if field.help:
        print_line(f"  {field.help}")


def _line(field: Field, read: Read) -> str:
    shown = "" if field.value is None else f" [{field.value}]"
    given = read(f"{field.label}{shown}: ").strip()
    if not given and field.value is not None:
        return str(field.value)
    begun = [one.value for one in field.choices if given and one.value.startswith(given)]
    return begun[0] if len(begun) == 1 else given


def _lines(field: Field, read: Read) -> str:
    """An empty line ends it."""
    lines: list[str] = []
    while line := read(f"{field.label}{' (more)' if lines else ''}: ").strip():
        lines.append(line)
    return "\n".join(lines)


class _Listening:
    """A view that also notices when people are asked."""

    def __init__(self, view: View, on: Callable[[DebateRef, Asked], None]) -> None:
        self._view = view
        self._on = on

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        self._view.show(ref, fact, before, after)
        if isinstance(fact, Asked) and fact.people:
            self._on(ref, fact)

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        self._view.overhear(ref, partial)


@asynccontextmanager
async def people_here(
    client: Client, refs: Collection[DebateRef], view: View
) -> AsyncIterator[View]:
    """Whoever of these debates is a person is asked at this terminal, one after the other."""
    send, receive = anyio.create_memory_object_stream[tuple[DebateRef, str, str]](100_000)

    def note(ref: DebateRef, ask: Asked) -> None:
        if ref in refs:
            for persona in ask.people:
                send.send_nowait((ref, ask.step, persona))

    async def ask_all() -> None:
        async for ref, step, persona in receive:
            await _ask_here(client, ref, step, persona)

    with send, receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_all)
            yield _Listening(view, note)
            tasks.cancel_scope.cancel()


async def _ask_here(client: Client, ref: DebateRef, step: str, persona: str) -> None:
    """Until the answer stands in the log; a debate that nobody answers for is cancelled."""
    while True:
        try:
            await ask_in_terminal(await client.ask(ref, step, persona))
        except NobodyAnswers as error:
            complain(str(error))
            await client.at(ref).cancel(f"nobody answered for {persona}")
        except BadInput as error:
            complain(str(error))
            continue
        except ParleyError as error:
            complain(str(error))
        return
