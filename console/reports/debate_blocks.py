"""One debate in full: the matrix, the declarations and what was said, whatever its protocol."""

from collections.abc import Iterator
from html import escape

from parley.bus.contracts.absa.findings import Moderated, Overridden
from parley.bus.contracts.absa.gate import Decision
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.protocol import AbsaContent
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity
from parley.bus.contracts.facts import TurnTaken
from parley.bus.subjects import DebateRef
from parley.console.images.chart import chart
from parley.console.reports.charts import Dot, curve, side_by_side
from parley.console.reports.cost_blocks import cost_blocks
from parley.console.reports.document import (
    Block,
    Callout,
    Heading,
    Items,
    Paragraph,
    Picture,
    Speech,
    Table,
)
from parley.console.reports.verdict_blocks import declared, in_words, missing_turns, transcript
from parley.console.terminal.absa_marks import marks_of
from parley.console.transcript.absa import gate_words, tell_answer
from parley.console.transcript.text import clean
from parley.coordinator.core.accounting import declarations_of, errors_of
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.deliberation.result import DeliberationResult
from parley.coordinator.protocols.verdicts.result import VerdictResult


def debate_blocks(ref: DebateRef, state: DebateState) -> Iterator[Block]:
    if isinstance(state.panel, AbsaPanel):
        yield from _aspects(state)
    else:
        result = result_of(ref, state)
        if isinstance(result, VerdictResult):
            yield from _verdicts(result, state)
        elif isinstance(result, DeliberationResult):
            yield from _deliberation(result)
    yield Heading("Why it went on and why it stopped")
    yield from declared(declarations_of(state))
    yield from cost_blocks(state)


def _verdicts(result: VerdictResult, state: DebateState) -> Iterator[Block]:
    if result.final_verdict is not None and result.confidence is not None:
        verdict = result.final_verdict
        yield Callout(verdict, f"{verdict.replace('_', ' ')}, confidence {result.confidence:.2f}")
        yield from in_words(result.manager_report)
        yield Paragraph(result.rationale)
    yield Heading("Verdicts by round")
    agents = state.running_panel.roster
    yield Picture(chart(result, agents), _matrix(result, agents))
    yield Heading("Transcript")
    yield from transcript(result)


def _matrix(result: VerdictResult, agents: tuple[str, ...]) -> Table:
    """The same in words, with changes marked."""
    rows = []
    for agent in agents:
        opening = [one for one in result.opening_statements if one.agent == agent]
        cells = [f"{opening[0].verdict} {opening[0].confidence:.2f}" if opening else "absent"]
        for number in range(1, result.total_rounds + 1):
            turns = [one for one in result.turns if (one.agent, one.round) == (agent, number)]
            after = turns[-1] if turns else None
            if after is None or after.verdict_after is None or after.confidence_after is None:
                cells.append("" if after is None else "absent")
                continue
            mark = " (changed)" if after.verdict_changed else ""
            cells.append(f"{after.verdict_after} {after.confidence_after:.2f}{mark}")
        rows.append((agent, *cells))
    levels = [f"{level:.2f}" for level in result.disagreement_history]
    levels += [""] * (result.total_rounds + 1 - len(levels))
    rows.append(("disagreement", *levels))
    rounds = [f"round {number}" for number in range(1, result.total_rounds + 1)]
    return Table(("", "opening", *rounds), tuple(rows))


def _aspects(state: DebateState) -> Iterator[Block]:
    text = state.input.text
    if state.finding(Overridden) is not None and state.finding(Moderated) is not None:
        outcome, moderated = state.found(Overridden).outcome, state.found(Moderated).output
        yield Callout(
            moderated.final_label, f"{moderated.final_label}, confidence {moderated.confidence:.2f}"
        )
        before = Reading(state).stage1.sentiments
        yield Heading("The sentence before and after")
        yield Picture(_marked(text, before) + _marked(text, outcome.adoption.final_sentiments))
        yield Items(
            (_tuples("before", before), _tuples("after", outcome.adoption.final_sentiments))
        )
        yield Heading("The override gate and the decision to adopt")
        yield Items(tuple(gate_words(one) for one in outcome.decisions) or ("no aspect came up",))
        applied = "applied" if outcome.gate_decision is Decision.APPLY else "applied nothing"
        adoption = outcome.adoption
        yield Paragraph(
            f"The gate {applied}; {adoption.adopt_decision.value.replace('_', ' ')}:"
            f" {adoption.adopt_reason}, evidence value {adoption.ev_score:.2f}."
        )
        yield Heading("The moderator's rules, in order")
        yield Items(tuple(moderated.applied_rules) or ("none",))
        yield Paragraph(moderated.rationale)
    yield Heading("Transcript")
    for step in state.steps:
        for heard in step.heard:
            said = heard.said
            if isinstance(said, TurnTaken) and isinstance(said.content, AbsaContent):
                lines = tell_answer(said.persona, said.content, text)
                words = "; ".join(line.strip().removeprefix(f"{said.persona}: ") for line in lines)
                yield Speech(f"{said.persona} ({step.name})", words)
    yield from missing_turns(errors_of(state))


def _marked(text: str, sentiments: tuple[AspectSentiment, ...]) -> str:
    """The sentence with its aspects in colour, each with its sign for those who see none."""
    parts, at = [], 0
    for mark in marks_of(text, sentiments):
        polarity = (mark.polarities[0] or Polarity.NEUTRAL).value
        words = escape(clean(text[mark.start : mark.end]))
        parts.append(escape(clean(text[at : mark.start])))
        parts.append(f'<mark class="{polarity}">{words} {mark.signs}</mark>')
        at = mark.end
    return f'<p class="sentence">{"".join(parts)}{escape(clean(text[at:]))}</p>'


def _tuples(name: str, sentiments: tuple[AspectSentiment, ...]) -> str:
    found = [
        f"{one.key} {one.polarity.value if one.polarity else '?'} {one.confidence:.2f}"
        for one in sentiments
    ]
    return f"{name}: {', '.join(found) or 'nothing'}"


def _deliberation(result: DeliberationResult) -> Iterator[Block]:
    sure = "" if result.confidence is None else f" (confidence {result.confidence:.2f})"
    yield Callout("note", f"{result.conclusion or 'no conclusion'}{sure}")
    yield Paragraph(result.rationale)
    if result.dissent:
        yield Items(tuple(f"{one.agent}: {one.position}. {one.reason}" for one in result.dissent))
    records = result.logical_axes
    if records:
        yield Heading("Axes by iteration")
        yield Table(
            ("iteration", "new axes", "orthogonality", "D", "D_min"),
            tuple(
                (
                    str(one.iteration),
                    ", ".join(one.new_axes),
                    "-" if one.orthogonality_score is None else f"{one.orthogonality_score:.2f}",
                    str(one.d_current),
                    str(one.d_min),
                )
                for one in records
            ),
            frozenset({0, 2, 3, 4}),
        )
        scored = [
            Dot(one.iteration, one.orthogonality_score, str(one.iteration))
            for one in records
            if one.orthogonality_score is not None
        ]
        grown = [Dot(one.iteration, one.d_current, str(one.iteration)) for one in records]
        charts = [curve(grown, "Dimension D by iteration")]
        charts += [curve(scored, "Orthogonality by iteration")] if scored else []
        yield Picture(side_by_side(charts))
    yield Heading("Transcript")
    for turn in result.turns:
        held = "" if turn.confidence is None else f" {turn.confidence:.2f}"
        who = f"{turn.agent}, iteration {turn.iteration}: {turn.position or 'no position'}{held}"
        yield Speech(who, turn.message, note=", ".join(turn.axes))
    yield from missing_turns(result.errors)
