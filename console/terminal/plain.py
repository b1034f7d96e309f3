"""The board of any debate: who was heard, what was found, what it came to."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from parley.bus.subjects import DebateRef
from parley.console.terminal.styles import MARKS
from parley.console.transcript.marks import latest_mark
from parley.console.transcript.plain import pairs
from parley.console.transcript.text import one_line
from parley.coordinator.core.protocol import protocol_of
from parley.coordinator.core.state import DebateState


def board(ref: DebateRef, state: DebateState) -> RenderableType:
    table = seats("persona", ("last answer", 1))
    for name in state.running_panel.everybody:
        table.add_row(*seat(state, name), Text(one_line(last_answer(state, name)), style="dim"))
    parts: list[RenderableType] = [table]
    course = protocol_of(state).course(state)
    if course.answer is not None:
        sure = "" if course.confidence is None else f", confidence {course.confidence:.2f}"
        parts.append(Text(f"outcome: {one_line(course.answer.label)}{sure}", style="bold"))
    return framed(ref, moment(state), parts)


def framed(ref: DebateRef, now: str, parts: list[RenderableType]) -> Panel:
    """The moment stands inside: a title is cut where the window is narrow."""
    title = Text(f"{ref.panel} · {ref.id}")
    return Panel(Group(Text(now, style="dim"), *parts), title=title, title_align="left")


def moment(state: DebateState) -> str:
    if state.closed is not None:
        return f"closed: {state.closed.status.value}"
    step = state.open_step
    return f"waiting for {', '.join(step.waiting_for)} ({step.name})" if step else state.phase.value


def seats(who: str, *columns: tuple[str, int | None]) -> Table:
    """A line a persona: its name, its mark, and the columns given with their share of the width."""
    table = Table(box=None, pad_edge=False, expand=True)
    for heading, ratio in ((who, None), ("", None), *columns):
        table.add_column(heading, ratio=ratio, no_wrap=True, overflow="ellipsis")
    return table


def seat(state: DebateState, name: str) -> tuple[Text, Text]:
    mark, colour = MARKS[latest_mark(state, name)]
    return Text(name), Text(mark, style=colour)


def last_answer(state: DebateState, persona: str) -> str:
    for step in reversed(state.steps):
        heard = step.heard_from(persona)
        content = getattr(heard.said, "content", None) if heard is not None else None
        if content is not None:
            return ", ".join(pairs(content))
    return ""
