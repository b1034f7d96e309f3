"""The live board of one sentence: before and after the debate, who proposes what, what came of it."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.gate import Decision
from parley.bus.subjects import DebateRef
from parley.console.terminal.plain import framed, moment
from parley.console.transcript.absa import TONES, adoption_words, edit_words, gate_words, stage1_of
from parley.console.transcript.absa_marks import SHOWN, Mark, marks_of
from parley.console.transcript.items import Tone
from parley.console.transcript.text import clean
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import heard_turns

COLOURS: dict[Tone, str] = {
    "good": "black on green",
    "bad": "white on red",
    "calm": "black on bright_black",
}


def board(ref: DebateRef, state: DebateState) -> RenderableType:
    parts: list[RenderableType] = [
        _sentences(state),
        *_edits(state),
        *_gate(state),
        *_moderator(state),
    ]
    return framed(ref, moment(state), parts)


def _sentences(state: DebateState) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    text = state.input.text
    before = stage1_of(state)
    if before is None:
        table.add_row("text", coloured(text, ()))
    else:
        table.add_row("before", coloured(text, marks_of(text, *before)))
    if state.finding(Overridden) is not None:
        after = state.found(Overridden).outcome.adoption.final_sentiments
        table.add_row("after", coloured(text, marks_of(text, after)))
    return table


def coloured(text: str, marks: Iterable[Mark]) -> Text:
    shown, at = Text(), 0
    for mark in marks:
        if mark.end > SHOWN:
            break
        shown.append(clean(text[at : mark.start]))
        said = mark.polarities[0]
        tone = TONES[said.value if said is not None else "unknown"]
        shown.append(f"{clean(text[mark.start : mark.end])} {mark.signs}", COLOURS[tone])
        at = mark.end
    shown.append(clean(text[at:SHOWN]) + ("…" if len(text) > SHOWN else ""))
    return shown


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
            f"override gate: {gate_words(one)}",
            style="green" if one.decision is Decision.APPLY else "yellow",
        )
        for one in outcome.decisions
    ]
    return [*lines, Text(adoption_words(outcome.adoption), style="bold")]


def _moderator(state: DebateState) -> list[Text]:
    if state.finding(Moderated) is None:
        return []
    output = state.found(Moderated).output
    label = f"moderator: {output.final_label}, confidence {output.confidence:.2f}"
    return [Text(label, style="bold"), Text(output.rationale, style="dim")]
