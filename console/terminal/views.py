"""How a debate is shown while it happens: lines, a live board on a terminal, or nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.table import Table
from rich.text import Text

from parley.bus.contracts.facts import Fact
from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.console.cli.output import print_line
from parley.console.terminal.live import LiveBoard, live_board
from parley.console.terminal.styles import LINES
from parley.console.transcript.words import Line, told
from parley.coordinator.core.state import DebateState


class View(Protocol):
    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None: ...

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        """What somebody has said so far of a turn."""
        ...


class Silence:
    """For `--json`, whose result comes at the end."""

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        pass

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        pass


class Lines:
    """
    `named` puts the debate's id before each line, for when there are several.

    A terminal gets colours, and long lines wrapped between words; a pipe gets each line whole.
    """

    def __init__(self, *, named: bool, console: Console | None = None) -> None:
        self._named = named
        self._console = console or (Console() if sys.stdout.isatty() else None)

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        for line in told(fact, before, after):
            name = f"{ref.id}  " if self._named else ""
            if self._console is None:
                print_line(f"{name}{line.text}")
            else:
                self._console.print(_wrapped(name, line))

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        """Lines stay where they are: only what is said to the end is printed."""


def _wrapped(name: str, line: Line) -> Table:
    """What does not fit goes on below the line's own words."""
    said = line.text.lstrip(" ")
    row = Table.grid(padding=0)
    row.add_column(no_wrap=True)
    row.add_column(overflow="fold")
    indent = " " * (len(line.text) - len(said))
    row.add_row(Text(f"{name}{indent}", "dim"), Text(said, LINES.get(line.of, "")))
    return row


@contextmanager
def view_for(*, several: bool) -> Iterator[Lines | LiveBoard]:
    if several or not sys.stdout.isatty():
        yield Lines(named=several)
    else:
        with live_board() as board:
            yield board
