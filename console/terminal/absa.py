"""The live board of one sentence: before and after the debate, who proposes what, what came of it."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.gate import Decision
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, AtsaOutput
from parley.bus.subjects import DebateRef
from parley.console.terminal.absa_marks import coloured, marks_of
from parley.console.transcript.absa import edit_words, gate_words
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import (
    ATSA,
    S1_ATSA,
    S1_VALIDATOR,
    VALIDATOR,
    heard_turns,
)


def absa_board(ref: DebateRef, state: DebateState) -> RenderableType:
    parts: list[RenderableType] = [
        _sentences(state),
        *_edits(state),
        *_gate(state),
        *_moderator(state),
    ]
    title = f"{ref.panel} · {ref.id} · {_moment(state)}"
    return Panel(Group(*parts), title=Text(title), title_align="left")


def _moment(state: DebateState) -> str:
    if state.closed is not None:
        return f"closed: {state.closed.status.value}"
    step = state.open_step
    return f"waiting for {', '.join(step.waiting_for)} ({step.name})" if step else state.phase.value


def _sentences(state: DebateState) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    text = state.input.text
    before = _stage1(state)
    if before is None:
        table.add_row("text", coloured(text, ()))
    else:
        table.add_row("before", coloured(text, marks_of(text, *before)))
    if state.finding(Overridden) is not None:
        after = state.found(Overridden).outcome.adoption.final_sentiments
        table.add_row("after", coloured(text, marks_of(text, after)))
    return table


def _stage1(
    state: DebateState,
) -> tuple[tuple[AspectSentiment, ...], tuple[AspectItem, ...]] | None:
    reading = Reading(state)
    heard = reading.answers.said(S1_ATSA, ATSA, AtsaOutput)
    if heard is None:
        return None
    validated = reading.answers.turn(S1_VALIDATOR, VALIDATOR) is not None
    if reading.panel.params.enable_validator and not validated:
        return heard.aspect_sentiments, ()
    return reading.stage1.sentiments, reading.stage1.aspects


def _edits(state: DebateState) -> list[Text]:
    lines = []
    for heard in heard_turns(state, Reading(state).panel):
        who = f"{heard.round}. {heard.turn.author}: "
        said = [edit_words(edit) for edit in heard.turn.proposed_edits]
        lines += [Text(who + line) for line in said or [heard.turn.message[:160] or "no edits"]]
    return lines


def _gate(state: DebateState) -> list[Text]:
    if state.finding(Overridden) is None:
        return []
    outcome = state.found(Overridden).outcome
    lines = [
        Text(
            f"gate {gate_words(one)}",
            style="green" if one.decision is Decision.APPLY else "yellow",
        )
        for one in outcome.decisions
    ]
    adoption = outcome.adoption
    decided = f"{adoption.adopt_decision.value}: {adoption.adopt_reason}"
    return [*lines, Text(f"{decided} (evidence value {adoption.ev_score:.2f})", style="bold")]


def _moderator(state: DebateState) -> list[Text]:
    if state.finding(Moderated) is None:
        return []
    output = state.found(Moderated).output
    label = f"moderator: {output.final_label}, confidence {output.confidence:.2f}"
    return [Text(label, style="bold"), Text(output.rationale, style="dim")]
