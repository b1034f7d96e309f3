"""A document as Markdown, and as text for a terminal: the same without escapes."""

import re
from collections.abc import Callable, Iterator

from parley.console.reports.document import (
    Block,
    Callout,
    Cards,
    Document,
    Folded,
    Heading,
    Items,
    Paragraph,
    Picture,
    Speech,
    Table,
)
from parley.console.transcript.text import one_line

# Makes a text harmless, on one line.
Safe = Callable[[str], str]

_MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def to_markdown(document: Document) -> str:
    return _rendered(document, _escaped)


def to_text(document: Document) -> str:
    return _rendered(document, one_line)


def _rendered(document: Document, safe: Safe) -> str:
    lines = [f"# {safe(document.title)}", "", safe(document.subtitle), ""]
    for block in document.blocks:
        lines += _block(block, safe)
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(block: Block, safe: Safe) -> Iterator[str]:  # noqa: C901 - one case a block is the clearest table
    match block:
        case Picture():
            if block.instead is None:
                return
            yield from _table(block.instead, safe)
        case Heading():
            yield f"{'#' * block.level} {safe(block.text)}"
        case Paragraph() | Callout():
            mark = f"**{block.level}** " if isinstance(block, Callout) else ""
            yield f"{mark}{safe(block.text)}"
        case Cards():
            for card in block.cards:
                note = f" ({safe(card.note)})" if card.note else ""
                yield f"- {safe(card.label)}: **{safe(card.value)}**{note}"
        case Table():
            yield from _table(block, safe)
        case Speech():
            yield f"- **{safe(block.who)}** {safe(block.note)}".rstrip()
            yield f"  {safe(block.text)}"
        case Items():
            yield from (f"- {safe(item)}" for item in block.items)
        case Folded():
            yield f"## {safe(block.summary)}"
            yield ""
            for inner in block.blocks:
                yield from _block(inner, safe)
            return
    yield ""


def _table(table: Table, safe: Safe) -> Iterator[str]:
    rows = [tuple(map(safe, row)) for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if place in table.numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            rules = [
                "-" * (width - 1) + ":" if place in table.numbers else "-" * width
                for place, width in enumerate(max(width, 2) for width in widths)
            ]
            yield f"| {' | '.join(rules)} |"


def _escaped(text: str) -> str:
    """What others wrote stays text: no markup, no line of its own."""
    return _MEANINGFUL.sub(r"\\\1", one_line(text))
