"""One debate in full, whatever its protocol: what it came to, what was said, why it went on or stopped."""

from collections.abc import Iterable, Iterator, Sequence

from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Fact
from parley.bus.subjects import DebateRef
from parley.console.reports.document import Block, Heading, Items, Paragraph, Speech, Table
from parley.console.transcript.costs import tell_savings, tell_total
from parley.console.transcript.items import Check, Declared, Item
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.transcript import transcript
from parley.console.transcript.words import position
from parley.console.transcript.worth import tell_worth
from parley.coordinator.core.accounting import brains_of, usage_by_persona, usage_of
from parley.coordinator.core.state import DebateState

_SPEECH = {"turn", "failed", "late", "missed"}
_TOLD = {"finding", "decided", "cancel", "terminated", "closed", "ignored"}


def debate_blocks(ref: DebateRef, state: DebateState, facts: Iterable[Fact]) -> Iterator[Block]:
    items = transcript(facts)
    yield from presentation_of(state.running_panel.protocol).blocks(ref, state)
    yield Heading("Transcript")
    yield from transcript_blocks(items)
    yield Heading("Why it went on and why it stopped")
    yield from declared_blocks(items)
    yield from cost_blocks(state)


def transcript_blocks(items: Sequence[Item]) -> Iterator[Block]:
    part = ""
    for item in items:
        if item.kind == "step" and item.part != part:
            part = item.part
            yield Heading(f"{part[:1].upper()}{part[1:]}", 3)
        elif item.kind in _SPEECH:
            yield _speech(item)
        elif item.kind in _TOLD:
            yield Paragraph(item.headline)


def _speech(item: Item) -> Speech:
    said = ", ".join(one for one in (position(item), item.headline) if one)
    late = " (too late, counts for nothing)" if item.kind == "late" else ""
    words = "; ".join((*((item.text,) if item.text else ()), *item.points))
    who = f"{item.persona}: {said}" if said else item.persona
    return Speech(
        f"{who}{late}",
        words,
        item.tone or "",
        " · ".join((*((item.note,) if item.note else ()), *item.arguments)),
    )


def declared_blocks(items: Sequence[Item]) -> Iterator[Block]:
    """Every comparison, round by round; then each decision in words."""
    declared = [item.declaration for item in items if item.declaration is not None]
    if not declared:
        return
    yield _compared(declared)
    for one in declared:
        basis = ", ".join(map(str, one.basis))
        yield Speech(
            f"{_moment(one).capitalize()}: {one.status}",
            one.justification,
            note=f"rests on facts {basis}" if basis else "",
        )


def _moment(one: Declared) -> str:
    return f"round {one.iteration}" if one.iteration else "opening"


def _compared(declared: Sequence[Declared]) -> Table:
    names = dict.fromkeys(check.name for one in declared for check in one.checks)
    made = [{check.name: _cell(check) for check in one.checks} for one in declared]
    rows = [(name, *(checks.get(name, "") for checks in made)) for name in names]
    columns = (_moment(one) for one in declared)
    return Table(("", *columns), (*rows, ("decision", *(one.rule for one in declared))))


def _cell(check: Check) -> str:
    """`0.33 < 0.3: no`"""
    if check.held is None:
        return check.value or check.threshold
    return f"{check.value} {check.op} {check.threshold}: {'yes' if check.held else 'no'}"


_USAGE = ("model calls", "tokens read", "tokens written", "cost")


def cost_blocks(state: DebateState) -> Iterator[Block]:
    told = list(tell_worth(state))
    if told:
        yield Heading("What the debate was worth")
        yield Items(tuple(line.strip() for line in told))
    brains, used = brains_of(state), usage_by_persona(state)
    if not brains:
        return
    yield Heading("Who thought, and what it cost")
    for line in (*tell_savings(state), *tell_total(state)):
        yield Paragraph(f"{line[:1].upper()}{line[1:]}.")
    if not used:
        yield Table(("persona", "brain"), tuple(brains.items()))
        return
    rows = [(name, brain, *_cells(used.get(name, Usage()))) for name, brain in brains.items()]
    rows.append(("all", "", *_cells(usage_of(state))))
    yield Table(("persona", "brain", *_USAGE), tuple(rows), frozenset({2, 3, 4, 5}))


def _cells(usage: Usage) -> tuple[str, ...]:
    return (
        str(usage.model_calls),
        str(usage.input_tokens),
        str(usage.output_tokens),
        f"{usage.cost:.4g}",
    )
