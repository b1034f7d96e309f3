"""The live board of one debate on a terminal: what was said scrolls by above, who stands where below."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from parley.bus.contracts.facts import Abstained, Closed, Fact, TurnTaken
from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.console.terminal.styles import LINES
from parley.console.terminal.writing import write
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.text import one_line
from parley.console.transcript.words import told
from parley.coordinator.core.state import DebateState

WIDTH_OF_A_PIPE = 120


class LiveBoard:
    """Everything from outside goes in as `Text`, which is never read as markup."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._board: RenderableType = Text("")
        self._speaking: dict[str, Partial] = {}
        self._spoken: set[tuple[str, str]] = set()

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        for line in told(fact, before, after):
            write(self._live.console, line.text, LINES.get(line.of, ""))
        if isinstance(fact, TurnTaken | Abstained):
            self._spoken.add((fact.step, fact.persona))
            self._speaking.pop(fact.persona, None)
        if isinstance(fact, Closed):
            self._speaking.clear()
        self._board = board(ref, after)
        self._refresh()

    def overhear(self, ref: DebateRef, partial: Partial) -> None:
        """A turn that stands in the log already may still be heard of."""
        del ref
        if (partial.step, partial.persona) not in self._spoken:
            self._speaking[partial.persona] = partial
            self._refresh()

    def _refresh(self) -> None:
        width = self._live.console.width
        murmurs = [
            Text(murmured(one, width), style="dim italic", no_wrap=True, overflow="crop")
            for one in self._speaking.values()
        ]
        self._live.update(Group(self._board, *murmurs), refresh=True)


@contextmanager
def live_board(console: Console | None = None) -> Iterator[LiveBoard]:
    with Live(console=console or Console(), auto_refresh=False, transient=False) as live:
        yield LiveBoard(live)


def print_board(ref: DebateRef, state: DebateState) -> None:
    Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE).print(board(ref, state))


def board(ref: DebateRef, state: DebateState) -> RenderableType:
    if state.panel is None:
        return Text(f"{ref.panel} · {ref.id}")
    return presentation_of(state.panel.protocol).board(ref, state)


def murmured(partial: Partial, width: int) -> str:
    """One line with the newest words, cleaned for a terminal."""
    said = one_line(partial.text)
    room = max(20, width - len(partial.persona) - 6)
    return f"  {partial.persona} … {said[-room:] if len(said) > room else said}"
