"""Who thought in a debate, and what was asked of models for it."""

from collections.abc import Iterator

from parley.bus.contracts.base import Usage
from parley.console.reports.document import Block, Heading, Items, Paragraph, Table
from parley.console.transcript.costs import tell_savings, tell_total
from parley.console.transcript.worth import tell_worth
from parley.coordinator.core.accounting import brains_of, usage_by_persona, usage_of
from parley.coordinator.core.state import DebateState

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
