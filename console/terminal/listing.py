"""Debates as a table: cut to the width of a terminal, whole in a pipe."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley.console.cli.output import print_line
from parley.console.listing.rows import Row
from parley.console.terminal.styles import TONES
from parley.console.terminal.writing import console_of_terminal
from parley.console.transcript.plain import spoken
from parley.console.transcript.text import one_line

_TOPIC_WIDTH = 60
_OUTCOME_WIDTH = 22
# Below it the panel, which a debate's page names, makes room for what is debated.
_ROOMY = 100


def print_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    console = console or console_of_terminal()
    if console is not None:
        if rows:
            console.print(_table(rows, panels=console.width >= _ROOMY))
        return
    told = [_in_words(row) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*told, strict=True)]
    for line in told:
        cells = (
            text + " " * (wide - cell_len(text)) for text, wide in zip(line, widths, strict=True)
        )
        print_line("  ".join(cells).rstrip())


def _table(rows: Sequence[Row], *, panels: bool) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    table.add_column("debate", no_wrap=True, min_width=12, overflow="fold")
    if panels:
        table.add_column("panel", no_wrap=True)
    table.add_column("since", no_wrap=True)
    table.add_column("outcome", no_wrap=True, max_width=_OUTCOME_WIDTH)
    table.add_column("about", no_wrap=True, ratio=1)
    for row in rows:
        cells = [Text(row.id), Text(_moment(row, "%m-%d %H:%M"), "dim"), _outcome(row)]
        if panels:
            cells.insert(1, Text(row.panel))
        table.add_row(*cells, Text(row.topic or row.panel))
    return table


def _outcome(row: Row) -> Text:
    if row.status == "completed":
        return Text(_answer(row) or "completed", TONES[row.tone])
    return Text(_state(row), {"failed": "red", "cancelled": "yellow"}.get(row.status, "cyan"))


def _in_words(row: Row) -> tuple[str, ...]:
    when = _moment(row, "%Y-%m-%d %H:%M:%S")
    why = f"({spoken(row.reason)})" if row.reason is not None else ""
    topic = one_line(row.topic, _TOPIC_WIDTH)
    return row.id, row.panel, when, row.status, _answer(row), why, topic


def _moment(row: Row, form: str) -> str:
    return datetime.fromisoformat(row.submitted_at).astimezone().strftime(form)


def _answer(row: Row) -> str:
    if row.verdict is None:
        return ""
    sure = "" if row.confidence is None else f" {row.confidence:.2f}"
    return f"{spoken(row.verdict)}{sure}"


def _state(row: Row) -> str:
    if row.reason in {None, row.status}:
        return row.status
    return f"{row.status}: {spoken(row.reason or '')}"
