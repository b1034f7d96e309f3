"""How a debate is shown while it happens: lines, a live board on a terminal, or nothing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from parley.bus.contracts.facts import Fact
from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.console.terminal.live import LiveBoard, live_board
from parley.console.terminal.styles import LINES
from parley.console.terminal.writing import console_of_terminal, write
from parley.console.transcript.words import told
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
    """`named` puts the debate's id before each line, for when there are several."""

    def __init__(self, *, named: bool, console: Console | None = None) -> None:
        self._named = named
        self._console = console or console_of_terminal()

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        for line in told(fact, before, after):
            name = f"{ref.id}  " if self._named else ""
            write(self._console, line.text, LINES.get(line.of, ""), name)

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        """Lines stay where they are: only what is said to the end is printed."""


@contextmanager
def view_for(*, several: bool) -> Iterator[Lines | LiveBoard]:
    if several or not sys.stdout.isatty():
        yield Lines(named=several)
    else:
        with live_board() as board:
            yield board
