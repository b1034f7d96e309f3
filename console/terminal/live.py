"""The live board of one debate on a terminal: what was said scrolls by above, who stands where below."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Abstained, Closed, Decided, Fact, TurnTaken
from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.console.terminal.absa import absa_board
from parley.console.terminal.deliberation import deliberation_board
from parley.console.transcript.readout import MARKS, Readout, Seat, bar, read_out
from parley.console.transcript.text import one_line
from parley.console.transcript.words import tell, verdict
from parley.coordinator.core.state import DebateState, Phase
from parley.coordinator.protocols.verdicts.board import panel_of

COLOURS: dict[str, str] = {
    Verdict.AUTHENTIC: "green",
    Verdict.MANIPULATED: "magenta",
    Verdict.AI_GENERATED: "yellow",
    Verdict.UNCERTAIN: "bright_black",
}
WIDTH_OF_A_PIPE = 120


class LiveBoard:
    """Everything from outside goes in as `Text`, which is never read as markup."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._board: RenderableType = Text("")
        self._speaking: dict[str, Partial] = {}
        self._spoken: set[tuple[str, str]] = set()

    def show(self, ref: DebateRef, fact: Fact, before: DebateState, after: DebateState) -> None:
        for line in tell(fact, before, after):
            self._live.console.print(Text(line, style=_style_of(line)))
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
    if isinstance(state.panel, AbsaPanel):
        return absa_board(ref, state)
    if isinstance(state.panel, DeliberationPanel):
        return deliberation_board(ref, state)
    now = read_out(state)
    parts: list[RenderableType] = [_table(now)]
    if now.disagreement:
        parts.append(_disagreement(now.disagreement))
    if state.finding(Decided) is not None:
        parts.append(Text(f"verdict: {verdict(state.found(Decided))}", style="bold"))
    return Panel(Group(*parts), title=Text(_title(ref, state, now)), title_align="left")


def murmured(partial: Partial, width: int) -> str:
    """One line with the newest words, cleaned for a terminal."""
    said = one_line(partial.text)
    room = max(20, width - len(partial.persona) - 6)
    return f"  {partial.persona} … {said[-room:] if len(said) > room else said}"


def _title(ref: DebateRef, state: DebateState, now: Readout) -> str:
    return f"{ref.panel} · {ref.id} · {_moment(state, now)}"


def _moment(state: DebateState, now: Readout) -> str:
    if state.closed is not None:
        return f"closed: {state.closed.status.value} after {_rounds(max(0, now.round))}"
    if state.phase is Phase.TERMINATED:
        return "over, the manager decides"
    if now.round < 1:
        return "opening statements"
    return f"round {now.round} of at most {panel_of(state).max_rounds}"


def _rounds(number: int) -> str:
    return f"{number} round" if number == 1 else f"{number} rounds"


def _table(now: Readout) -> Table:
    table = Table(box=None, pad_edge=False, expand=True)
    for heading, ratio in (
        ("agent", None),
        ("", None),
        ("verdict", None),
        ("confidence", None),
        ("change", None),
        ("says", 1),
    ):
        table.add_column(heading, ratio=ratio, no_wrap=True, overflow="ellipsis")
    for seat in now.seats:
        table.add_row(*_row(seat))
    return table


def _row(seat: Seat) -> tuple[RenderableType, ...]:
    mark, colour = MARKS[seat.mark]
    stand = seat.standing
    if stand is None:
        return Text(seat.agent), Text(mark, style=colour), Text("-"), Text("-"), Text(""), Text("")
    return (
        Text(seat.agent),
        Text(mark, style=colour),
        Text(stand.verdict, style=COLOURS[stand.verdict]),
        Text(f"{bar(stand.confidence)} {stand.confidence:.2f}"),
        Text(_change(seat)),
        Text(one_line(stand.reasoning), style="dim"),
    )


def _change(seat: Seat) -> str:
    turn = seat.turn
    if turn is None or turn.confidence_before is None or turn.confidence_after is None:
        return ""
    if turn.verdict_changed and turn.verdict_before is not None:
        return f"was {turn.verdict_before}"
    shift = turn.confidence_after - turn.confidence_before
    return f"{shift:+.2f}" if round(shift, 2) else "="


def _disagreement(levels: tuple[float, ...]) -> Text:
    shown = " → ".join(f"{level:.2f}" for level in levels)
    return Text(f"disagreement {bar(levels[-1])} {shown}")


def _style_of(line: str) -> str:
    if line.startswith(("verdict:", "conclusion:")):
        return "bold"
    if line.startswith(("over:", "closed:", "cancelled:")):
        return "bold cyan"
    if line.startswith("  =>"):
        return "dim"
    return "" if line.startswith("  ") else "cyan"
