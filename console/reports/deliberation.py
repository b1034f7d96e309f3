"""A deliberation in a report: its conclusion, who dissents, and the axes it explored."""

from collections.abc import Iterator

from parley.bus.subjects import DebateRef
from parley.console.reports.charts import Dot, curve, side_by_side
from parley.console.reports.document import (
    Block,
    Callout,
    Heading,
    Items,
    Paragraph,
    Picture,
    Table,
)
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.result import result_of


def blocks(ref: DebateRef, state: DebateState) -> Iterator[Block]:
    result = result_of(ref, state)
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
