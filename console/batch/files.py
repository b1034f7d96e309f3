"""
What a batch leaves behind in its directory, one line an item, in the order of the data set.

    outputs.jsonl    what each debate came to
    debates.jsonl    every fact, for report, backtest, verify and import
    manifest.json    what was run, and its figures

A protocol may write more (`BatchKind.files`). What a resumed batch has run stands behind what it
found. The figures are computed from the files, so that it ends like one that never stopped.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self, TextIO

from pydantic import JsonValue

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import OperationalReason, Status
from parley.bus.contracts.panel import Panel
from parley.bus.subjects import DebateRef
from parley.coordinator.core.accounting import TurnError, errors_of
from parley.coordinator.core.endings import ending_of
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState
from parley.files.lines import DEBATES, Recorded, fact_lines

OUTPUTS, MANIFEST = "outputs.jsonl", "manifest.json"
OUT_OF_BUDGET = OperationalReason.BUDGET_EXHAUSTED.value

Values = Mapping[str, JsonValue]


class Debated(NamedTuple):
    """A debate that is closed, with everything that stands in its log."""

    ref: DebateRef
    state: DebateState
    recorded: tuple[Recorded, ...]


class OutputLine(Contract):
    """`answer` is a verdict, a conclusion; `result` everything, as the protocol tells it."""

    id: str
    debate_id: str
    reason: str
    answer: str | None
    confidence: float | None
    before_debate: str | None
    errors: tuple[TurnError, ...]
    result: dict[str, JsonValue]


class Figures(Contract):
    """Of all items in the directory: records, those out of budget, turns that nobody took."""

    samples: int
    out_of_budget: int
    abstentions: dict[str, int]


class AnswerFigures(Figures):
    answers: dict[str, int]
    changed_by_debate: int


class Column(NamedTuple):
    """Of the table that compares variants: a heading, and the key of a row that it shows."""

    heading: str
    key: str


class BatchFiles:
    """Lines are written and flushed item by item: what is there is whole."""

    # One line or more for each item, which counts by its line in the outputs.
    names: ClassVar[tuple[str, ...]] = (OUTPUTS,)
    columns: ClassVar[tuple[Column, ...]] = (Column("changed", "changed_by_debate"),)

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()
        self._open: dict[str, TextIO] = {}

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        for name in (*self.names, DEBATES):
            file = (self.directory / name).open("a", encoding="utf-8")
            self._open[name] = self._stack.enter_context(file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, index: int, item: str, debated: Debated) -> bool:
        """False for a debate that ended without a record."""
        lines = fact_lines(debated.ref, debated.recorded)
        self._open[DEBATES].writelines(f"{one}\n" for one in lines)
        self._open[DEBATES].flush()
        return self.record(index, item, debated)

    def line(self, name: str, content: Contract) -> None:
        file = self._open[name]
        file.write(content.model_dump_json() + "\n")
        file.flush()

    def record(self, _index: int, item: str, debated: Debated) -> bool:
        ref, state = debated.ref, debated.state
        ending = ending_of(state)
        if ending.status is not Status.COMPLETED:
            return False
        record = OutputLine(
            id=item,
            debate_id=ref.id,
            reason=ending.reason or "",
            answer=ending.answer.label if ending.answer else None,
            confidence=ending.confidence,
            before_debate=ending.before.label if ending.before else None,
            errors=errors_of(state),
            result=result_of(ref, state).model_dump(mode="json"),
        )
        self.line(OUTPUTS, record)
        return True

    def item_of(self, line: Values) -> str:
        return str(line["id"])

    def reason_of(self, line: Values) -> str | None:
        """Why the debate of an output closed, as far as it says."""
        return str(line["reason"])

    def items_of_debates(self) -> dict[str, str]:
        """By the id of the debate."""
        return {str(one["debate_id"]): self.item_of(one) for one in self.lines(OUTPUTS)}

    def figures(self) -> Figures:
        outputs = self._outputs()
        return AnswerFigures(
            samples=len(outputs),
            out_of_budget=sum(one.reason == OUT_OF_BUDGET for one in outputs),
            abstentions=dict(
                Counter(error.reason for one in outputs for error in one.errors).most_common()
            ),
            answers=dict(Counter(one.answer or "none" for one in outputs).most_common()),
            changed_by_debate=sum(
                one.before_debate is not None and one.answer != one.before_debate for one in outputs
            ),
        )

    def conclude(self, _panel: Panel) -> tuple[Figures, Sequence[str]]:
        """The figures, with what to complain of; writes what is computed from all lines."""
        return self.figures(), ()

    def about(self, panel: Panel) -> dict[str, JsonValue]:
        """What the manifest says of a panel."""
        return {"panel": panel.model_dump(mode="json")}

    def answers(self) -> dict[str, object]:
        """By item, to be compared with those of a variant."""
        return {one.id: one.answer for one in self._outputs()}

    def row(self) -> dict[str, JsonValue]:
        """What a comparison of variants says of this one."""
        return self.figures().model_dump(mode="json")

    def lines(self, name: str) -> Iterator[dict[str, JsonValue]]:
        yield from map(json.loads, whole_lines(self.directory / name))

    def _outputs(self) -> list[OutputLine]:
        return [OutputLine.model_validate(one) for one in self.lines(OUTPUTS)]


def whole_lines(path: Path) -> Iterator[str]:
    """Lines that end, and hold JSON."""
    if not path.is_file():
        return
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    yield from (line for line in whole if line)
