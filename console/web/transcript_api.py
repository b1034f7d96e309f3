"""Facts as the web tells them: with their ordinal in the debate, and in words."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from parley.bus.codec import encode
from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import AnyFact, Submitted, declarations_in
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.console.transcript.items import Item
from parley.console.transcript.transcript import item_of
from parley.console.transcript.words import lines
from parley.console.web.sse import event
from parley.coordinator.core.reducer import take
from parley.coordinator.core.state import DebateState
from parley.reading import Logged


class _Head(Contract):
    """`ordinal` counts the debate's facts from 0, `sequence` is the place in the whole log."""

    ordinal: int
    sequence: int
    time: str
    # The fact in words.
    lines: tuple[str, ...]


class DeclarationEvent(Contract):
    """`ordinal` is that of the fact that carries it."""

    id: str
    panel: str
    ordinal: int
    declaration: TerminationDeclaration


class _EventHead(_Head):
    id: str
    panel: str


class ToldFact(_Head):
    fact: AnyFact


class FactEvent(_EventHead):
    fact: AnyFact


class Told(NamedTuple):
    logged: Logged
    item: Item

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line.text for line in lines(self.item))

    @property
    def fact(self) -> ToldFact:
        return ToldFact.model_construct(
            ordinal=self.item.ordinal,
            sequence=self.logged.sequence,
            time=self.item.time,
            fact=self.logged.fact,
            lines=self.lines,
        )


class FactPresenter:
    """Folds one debate and tells its facts, each in the light of those before."""

    def __init__(self) -> None:
        self.state = DebateState()

    def tell(self, logged: Logged) -> Told | None:
        """None for what has no place in the debate."""
        walked = take(self.state, logged.fact)
        self.state = walked.after
        return Told(logged, item_of(walked, logged.time_ns)) if walked.has_place else None


def tell_all(logged: Iterable[Logged]) -> Iterator[Told]:
    teller = FactPresenter()
    return (told for one in logged if (told := teller.tell(one)) is not None)


def placed(logged: Iterable[Logged]) -> list[Logged]:
    """The facts that have a place in the debate: from its submission on."""
    entries = list(logged)
    first = next((n for n, one in enumerate(entries) if isinstance(one.fact, Submitted)), None)
    return entries[first:] if first is not None else []


def declared_in(ref: DebateRef, told: Told, number: int | Position) -> bytes:
    """One event with a `DeclarationEvent` for each declaration that rides in the fact."""
    return b"".join(
        event(
            "declaration",
            DeclarationEvent(id=ref.id, panel=ref.panel, ordinal=told.item.ordinal, declaration=one)
            .model_dump_json()
            .encode(),
            number,
        )
        for one in declarations_in(told.logged.fact)
    )


def event_json(ref: DebateRef, told: Told) -> bytes:
    """A `FactEvent` on one line; the fact as the log has it, without what is empty."""
    head = _EventHead(
        id=ref.id,
        panel=ref.panel,
        ordinal=told.item.ordinal,
        sequence=told.logged.sequence,
        time=told.item.time,
        lines=told.lines,
    )
    return head.model_dump_json().encode()[:-1] + b',"fact":' + encode(told.logged.fact) + b"}"
