"""The board of a deliberation: who stands where, which axes were explored, why it goes on or ended."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parley.bus.contracts.deliberation.regimes import Regime
from parley.bus.contracts.facts import Decided
from parley.bus.subjects import DebateRef
from parley.console.terminal.plain import framed, seat, seats
from parley.console.transcript.deliberation import axes_by_iteration, declared, sparkline
from parley.console.transcript.marks import bar
from parley.console.transcript.text import one_line
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.flow import panel_of
from parley.coordinator.protocols.deliberation.result import (
    DeliberationResult,
    DeliberationTurn,
    result_of,
)

_POSITION_WIDTH = 40


def board(ref: DebateRef, state: DebateState) -> RenderableType:
    """Once it is decided, the story tells the axes and the reason, and the board leaves them out."""
    now = result_of(ref, state)
    parts: list[RenderableType] = [_table(state, now)]
    if state.finding(Decided) is None:
        parts += [Text(line) for line in axes_by_iteration(now.axes)]
    parts += [Text(line) for line in _measured(now)]
    if state.finding(Decided) is None and now.declarations:
        last = now.declarations[-1]
        parts.append(Text(f"=> {declared(last)}", style="dim"))
    if state.finding(Decided) is not None:
        sure = "" if now.confidence is None else f", confidence {now.confidence:.2f}"
        parts.append(Text(f"conclusion: {one_line(now.conclusion) or 'none'}{sure}", style="bold"))
    return framed(ref, f"{now.theta.value} {now.regime.value} · {_moment(state, now)}", parts)


def _moment(state: DebateState, now: DeliberationResult) -> str:
    at_most = f"at most {now.params.max_iterations} iterations"
    if state.closed is not None:
        return f"closed: {state.closed.status.value} after {now.total_iterations} of {at_most}"
    if state.terminated is not None:
        return "over, the judge sums up"
    return f"iteration {now.total_iterations + 1} of {at_most}"


def _table(state: DebateState, now: DeliberationResult) -> Table:
    table = seats("debater", ("position", None), ("confidence", None), ("says", 1))
    latest = {turn.agent: turn for turn in now.turns}
    for persona in panel_of(state).debaters:
        table.add_row(*_row(state, persona.name, latest.get(persona.name)))
    return table


def _row(state: DebateState, agent: str, turn: DeliberationTurn | None) -> tuple[Text, ...]:
    who = seat(state, agent)
    if turn is None:
        return (*who, Text("-"), Text("-"), Text(""))
    sure = "-" if turn.confidence is None else f"{bar(turn.confidence)} {turn.confidence:.2f}"
    position = one_line(turn.position, _POSITION_WIDTH) or "-"
    return (*who, Text(position), Text(sure), Text(one_line(turn.message), style="dim"))


def _measured(now: DeliberationResult) -> Iterator[str]:
    if now.logical_axes:
        last = now.logical_axes[-1]
        curve = sparkline(now.orthogonality_history)
        yield f"orthogonality {curve}  (saturated below {now.params.orthogonality_epsilon:g})"
        reached = bar(min(1.0, last.d_current / max(1, last.d_min)))
        yield f"D {reached} {last.d_current} of D_min {last.d_min}"
    if now.regime is Regime.CONVERGENT and now.declarations:
        changes = [one.conclusion_moved for one in now.declarations]
        sure = [one.details.confidence for one in now.declarations]
        yield f"change {sparkline(changes)}  confidence {sparkline(sure)}"
    for one in sorted(now.candidates, key=lambda one: -one.score):
        yield f"candidate {one_line(one.id, _POSITION_WIDTH)} {bar(one.score)} {one.score:.2f}"
