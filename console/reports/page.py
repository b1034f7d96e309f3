"""
One HTML file that needs nothing else: no network, no other file, no more script than its own.

The policy in its head lets exactly the styles and the script run that are written here, by their
digests; whatever else found its way into the page would stay text.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files

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
from parley.console.transcript.text import clean

_NUMBER = ' class="number"'


def safe(text: str) -> str:
    """What others wrote (file names, metadata, agents) can neither mark up nor reorder the page."""
    return escape(clean(text))


def bullets(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{safe(item)}</li>' for item in items)}</ul>"


def image(data: bytes, media_type: str, description: str) -> str:
    content = base64.b64encode(data).decode("ascii")
    return f'<img alt="{safe(description)}" src="data:{safe(media_type)};base64,{content}">'


def said(kind: str, who: str, text: str, note: str) -> str:
    why = f'<p class="why">{safe(note)}</p>' if note else ""
    return (
        f'<div class="said {safe(kind)}"><p class="who">{safe(who)}</p>'
        f"{why}<p>{safe(text)}</p></div>"
    )


def page(title: str, body: str, *, script: bool = False) -> str:
    style, code = _static("report.css"), _static("report.js") if script else ""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            *([f"script-src '{_digest(code)}'"] if script else []),
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{safe(title)}</title><style>{style}</style></head>\n<body>\n{body}\n"
        f"{f'<script>{code}</script>' if script else ''}</body></html>\n"
    )


def to_html(document: Document) -> str:
    head = f'<h1>{safe(document.title)}</h1><p class="facts">{safe(document.subtitle)}</p>'
    body = "\n".join([head, *markup(document.blocks)])
    return page(document.title, body, script=True)


def markup(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:  # noqa: C901 - one case a block is the clearest table
    match block:
        case Heading():
            yield f"<h{block.level}>{safe(block.text)}</h{block.level}>"
        case Paragraph():
            kind = ' class="why"' if block.remark else ""
            yield f"<p{kind}>{safe(block.text)}</p>"
        case Callout():
            yield f'<p class="callout {safe(block.level)}">{safe(block.text)}</p>'
        case Cards():
            yield _cards(block)
        case Table():
            yield from _table(block)
        case Picture():
            yield block.markup
        case Speech():
            yield said(block.kind, block.who, block.text, block.note)
        case Items():
            yield bullets(block.items)
        case Folded():
            yield f"<details><summary>{safe(block.summary)}</summary>"
            yield from markup(block.blocks)
            yield "</details>"


def _cards(block: Cards) -> str:
    cards = "".join(
        f'<div class="card"><dt>{safe(one.label)}</dt><dd>{safe(one.value)}'
        f"{f'<small>{safe(one.note)}</small>' if one.note else ''}</dd></div>"
        for one in block.cards
    )
    return f'<dl class="cards">{cards}</dl>'


def _table(table: Table) -> Iterator[str]:
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "".join(
            f"<{tag}{_NUMBER if place in table.numbers else ''}>{safe(cell)}</{tag}>"
            for place, cell in enumerate(row)
        )

    kind = ' class="wide"' if table.wide else ""
    head = cells(table.head, "th")
    yield f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>'
    for row in table.rows:
        yield f"<tr>{cells(row, 'td')}</tr>"
    yield "</tbody></table></div>"


@cache
def _static(name: str) -> str:
    return (files("parley.console.reports") / "static" / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
