"""What the lab found, for a page, Markdown or a terminal."""

from collections.abc import Iterator

from parley.console.lab.run import Cell, Findings, Line, Row
from parley.console.reports.charts import Bar, Dot, bars, curve, side_by_side
from parley.console.reports.document import Block, Document, Heading, Paragraph, Picture, Table
from parley.console.reports.intervals import in_points

MOST_NAMED = 4
_WORDS = {
    "decide": "Which decide rule",
    "stop": "When to stop",
    "visibility": "Who sees whom",
    "switch": "Which part of the pipeline",
    "regime": "How open the question is",
}


def lab_document(found: Findings) -> Document:
    return Document(
        title=f"The lab: {found.panel}",
        subtitle=f"{found.personas} simulated personas, {found.debates} debates a variant, seed"
        f" {found.seed}; " + ", ".join(f"{name} {value:g}" for name, value in found.skill.items()),
        blocks=tuple(_blocks(found)),
    )


def _blocks(found: Findings) -> Iterator[Block]:
    yield Paragraph(
        f"Before anybody argues the answer is right in {found.vote:.3f} of the debates. Gains are in"
        " points over the panel as it is, in the same debates, with 95 % intervals."
    )
    for group in found.groups:
        yield Heading(_WORDS.get(group.name, group.name))
        drawn = [
            Bar(one.name, one.accuracy, f"{one.accuracy:.3f}", one.interval) for one in group.rows
        ]
        yield Picture(bars(drawn, f"accuracy by {group.name}"))
        yield Table(
            (group.name, "accuracy", "turns", "gain"),
            tuple(map(_row, group.rows)),
            frozenset({1, 2, 3}),
        )
    yield Heading("As personas become better")
    yield Picture(side_by_side([_curve(one) for one in found.curves]))
    yield Table(
        ("rules", *(f"{x:g}" for x, _ in found.curves[0].points)),
        tuple((one.name, *(f"{y:.3f}" for _, y in one.points)) for one in found.curves),
        frozenset(range(1, len(found.curves[0].points) + 1)),
    )
    yield Heading("What wins where")
    yield Paragraph(
        "Conformity is how readily personas follow the majority, insight how often one who is wrong"
        " sees that another is right. Named are the variants that the best one does not beat."
    )
    yield Table(
        ("conformity", "insight", "vote", "debate", "best"),
        tuple(map(_cell, found.map)),
        frozenset({0, 1, 2, 3}),
    )


def _row(row: Row) -> tuple[str, ...]:
    same = row.gain == row.gain_interval.low == row.gain_interval.high == 0
    gain = "" if same else in_points(row.gain, row.gain_interval)
    return row.name, f"{row.accuracy:.3f}", f"{row.turns:.1f}", gain


def _curve(line: Line) -> str:
    return curve([Dot(x, y, f"{x:g}") for x, y in line.points], line.name, "%")


def _cell(cell: Cell) -> tuple[str, ...]:
    return (
        f"{cell.conformity:g}",
        f"{cell.insight:g}",
        f"{cell.vote:.3f}",
        f"{cell.debate:.3f}",
        ", ".join(cell.best) if len(cell.best) <= MOST_NAMED else "no difference shown",
    )
