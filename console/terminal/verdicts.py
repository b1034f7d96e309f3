"""The board of a debate of verdicts: who holds what, how sure, and how far they disagree."""

from rich.console import RenderableType
from rich.text import Text

from parley.bus.contracts.facts import Decided
from parley.bus.subjects import DebateRef
from parley.console.terminal.plain import framed, seats
from parley.console.terminal.styles import MARKS, TONES
from parley.console.transcript.items import Tone
from parley.console.transcript.marks import bar
from parley.console.transcript.text import one_line
from parley.console.transcript.verdicts import (
    Readout,
    Seat,
    decision_in,
    read_out,
    tones_of,
    verdict_words,
)
from parley.coordinator.core.state import DebateState, Phase
from parley.coordinator.protocols.verdicts.board import panel_of


def board(ref: DebateRef, state: DebateState) -> RenderableType:
    now = read_out(state)
    tones = tones_of(state.running_panel)
    columns: tuple[tuple[str, int | None], ...] = (
        ("verdict", None),
        ("confidence", None),
        ("change", None),
        ("says", 1),
    )
    table = seats("agent", *columns)
    for seat in now.seats:
        table.add_row(*_row(seat, tones))
    parts: list[RenderableType] = [table]
    if now.disagreement:
        shown = " → ".join(f"{level:.2f}" for level in now.disagreement)
        parts.append(Text(f"disagreement {bar(now.disagreement[-1])} {shown}"))
    decision = decision_in(state.finding(Decided))
    if decision is not None:
        parts.append(Text(f"verdict: {verdict_words(decision)}", style="bold"))
    return framed(ref, _moment(state, now), parts)


def _moment(state: DebateState, now: Readout) -> str:
    if state.closed is not None:
        rounds = max(0, now.round)
        number = f"{rounds} round" if rounds == 1 else f"{rounds} rounds"
        return f"closed: {state.closed.status.value} after {number}"
    if state.phase is Phase.TERMINATED:
        return "over, the manager decides"
    if now.round < 1:
        return "opening statements"
    return f"round {now.round} of at most {panel_of(state).params.max_rounds}"


def _row(seat: Seat, tones: dict[str, Tone]) -> tuple[RenderableType, ...]:
    mark, colour = MARKS[seat.mark]
    who = (Text(seat.agent), Text(mark, style=colour))
    stand = seat.standing
    if stand is None:
        return *who, Text("-"), Text("-"), Text(""), Text("")
    return (
        *who,
        Text(stand.verdict, style=TONES[tones.get(stand.verdict)]),
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
