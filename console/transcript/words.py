"""Items as lines of text, for a terminal and for events. Pure; a line is short enough to be read."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from parley.bus.contracts.facts import (
    Fact,
)
from parley.console.transcript.items import Item
from parley.console.transcript.presentation import later
from parley.console.transcript.text import one_line
from parley.console.transcript.transcript import item_of, transcript
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState
from parley.wording import Wording

QUOTE_WIDTH = 160
_NOT_WORTH_A_LINE = {"opened"}
# Of a debate as a whole only what was declared and what went wrong.
_TURNS_AND_STEPS = {"step", "note", "turn", "late", "deadline"}
_WITHIN = {"note", "deadline", "ignored"}


class Line(NamedTuple):
    """`of` is what the line is about: the item's kind, or a declaration that rides in it."""

    text: str
    of: str


def tell(fact: Fact, before: DebateState, after: DebateState) -> Iterator[str]:
    """The lines that tell one fact; `before` and `after` are the states around it."""
    yield from (line.text for line in told(fact, before, after))


def told(fact: Fact, before: DebateState, after: DebateState) -> Iterator[Line]:
    """Nothing of what stands before a submission."""
    if after.panel is not None:
        yield from lines(item_of(Walked(fact, before, after)))


def lines(item: Item) -> Iterator[Line]:
    if item.declaration is not None:
        yield Line(f"  => {item.declaration.summary}", "declaration")
    if item.kind in _NOT_WORTH_A_LINE:
        return
    if item.persona:
        for said in _spoken(item):
            yield Line(f"  {item.persona}: {said}", item.kind)
        return
    if item.headline:
        indent = "  " if item.kind in _WITHIN else ""
        yield Line(f"{indent}{one_line(item.headline, 2 * QUOTE_WIDTH)}", item.kind)
    if item.text:
        name = "about: " if item.kind == "submitted" else "  "
        yield Line(f"{name}{one_line(item.text, QUOTE_WIDTH)}", item.kind)
    for point in item.points:
        yield Line(f"  {one_line(point)}", "point")


def _spoken(item: Item) -> Iterator[str]:
    if item.kind == "late":
        yield f"spoke too late in {item.step}, which counts for nothing"
        return
    said = ", ".join(part for part in (position(item), item.headline) if part)
    quoted = one_line(item.text, QUOTE_WIDTH)
    if said or quoted:
        yield f'{said} — "{quoted}"' if said and quoted else said or f'"{quoted}"'
    elif not item.points:
        yield "nothing"
    yield from item.points


def position(item: Item) -> str:
    """Where somebody stands after a turn, and where they stood before."""
    if item.verdict is None:
        return ""
    sure = "" if item.confidence is None else f" {item.confidence:.2f}"
    now, before = f"{item.verdict}{sure}", item.before
    if before is None:
        return now
    if item.changed:
        return f"{before.verdict} {before.confidence:.2f} -> {now}"
    shift = round((item.confidence or 0.0) - before.confidence, 2)
    return f"stays with {now}" + (f" ({shift:+.2f})" if shift else "")


def tell_outcome(state: DebateState) -> Iterator[str]:
    """How it ended, as far as it has."""
    for fact in (state.terminated, *state.findings.values(), state.closed):
        if fact is not None:
            yield from tell(fact, state, state)


def tell_course(facts: Iterable[Fact]) -> Iterator[str]:
    """What was asked, every declaration, who could not answer and why, how it ended."""
    for item in transcript(facts):
        for line in lines(item):
            if item.kind not in _TURNS_AND_STEPS or line.of == "declaration":
                yield line.text


WORDING = Wording(tell, page=later("parley.console.listing.debates:page_of"))
