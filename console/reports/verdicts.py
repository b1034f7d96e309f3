"""A debate of verdicts in a report: the verdict, and who stood where after each round."""

from collections.abc import Iterator, Sequence

from parley.bus.contracts.verdicts.content import Report
from parley.bus.subjects import DebateRef
from parley.console.reports.document import (
    Block,
    Callout,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
)
from parley.console.reports.verdict_chart import Row, chart, rounds_of
from parley.console.transcript.plain import spoken
from parley.console.transcript.verdicts import tones_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.result import VerdictResult, result_of


def blocks(ref: DebateRef, state: DebateState) -> Iterator[Block]:
    result = result_of(ref, state)
    panel = state.running_panel
    tones = tones_of(panel)
    verdict, confidence = result.final_verdict, result.confidence
    if verdict is not None and confidence is not None:
        yield Callout(tones.get(verdict, "calm"), f"{spoken(verdict)}, confidence {confidence:.2f}")
        yield from in_words(result.manager_report)
        yield Paragraph(result.rationale)
    yield Heading("Verdicts by round")
    yield Picture(chart(result, panel.roster, tones), _matrix(result, panel.roster))


def in_words(report: Report | None) -> Iterator[Block]:
    """What the manager says of the decision, where one was asked."""
    if report is not None:
        yield Paragraph(f"In the manager's words: {report.summary}")
        if report.key_evidence:
            yield Items(tuple(f"“{quote}”" for quote in report.key_evidence))


def _matrix(result: VerdictResult, agents: Sequence[str]) -> Table:
    """The same in words, with changes marked."""
    rounds = rounds_of(result)
    before = (rounds[0], *rounds)
    rows = [
        (agent, *(_cell(agent, was, now) for was, now in zip(before, rounds, strict=False)))
        for agent in agents
    ]
    levels = [f"{level:.2f}" for level in result.disagreement_history]
    levels += [""] * (len(rounds) - len(levels))
    columns = (f"round {number}" for number in range(1, len(rounds)))
    return Table(("", "opening", *columns), (*rows, ("disagreement", *levels)))


def _cell(agent: str, before: Row, now: Row) -> str:
    held, was = now.get(agent), before.get(agent)
    if held is None:
        return "absent"
    changed = was is not None and was[0] != held[0]
    return f"{held[0]} {held[1]:.2f}{' (changed)' if changed else ''}"
