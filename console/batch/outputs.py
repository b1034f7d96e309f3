"""
What a batch leaves behind in its directory, one line a sentence, in the order of the data set.

    outputs.jsonl                     the output records, and how each came about (`run`)
    scorecards.jsonl                  mapping, overrides, memory, integrity; `runtime.parsed_output` is
                                      the whole record
    traces.jsonl                      who said what, and what the coordinator declared
    debates.jsonl                     every fact, for report, backtest, verify and import
    override_gate_debug.jsonl         the gate's decisions, aspect by aspect
    override_gate_debug_summary.json  the same, counted
    manifest.json                     what was run, and its figures

What a resumed batch has run stands behind what it found. The figures are computed from the files, so
that it ends like one that never stopped.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from pydantic import JsonValue, TypeAdapter, ValidationError

from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.gate import (
    AdoptOutcome,
    EvDebugRecord,
    GateDebugRecord,
    GateDebugSummary,
    GateDecision,
    GateOutcome,
    OverrideOutcome,
)
from parley.bus.contracts.absa.params import OverrideEffective, WarningThresholds
from parley.bus.contracts.absa.record import FinalOutput, TraceEntry
from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.errors import BadInput
from parley.console.archive.lines import DEBATES, fact_lines
from parley.console.batch.runner import Debated
from parley.console.batch.scorecards import OutputLine, Scorecard, scorecard_of
from parley.coordinator.core.accounting import declarations_of
from parley.coordinator.protocols.absa.output.gate_debug import (
    SampleGate,
    debug_records,
    debug_summary,
)
from parley.coordinator.protocols.absa.output.integrity import (
    RecordView,
    check_record,
    check_run,
)
from parley.coordinator.protocols.absa.output.metrics import (
    AdoptionMetrics,
    DebateMetrics,
    Warned,
    adoption_metrics,
    debate_metrics,
    warnings,
)
from parley.coordinator.protocols.absa.result import (
    OUT_OF_BUDGET,
    AbsaUnfinished,
    result_of,
)

OUTPUTS, SCORECARDS, TRACES = "outputs.jsonl", "scorecards.jsonl", "traces.jsonl"
GATE, GATE_SUMMARY, MANIFEST = (
    "override_gate_debug.jsonl",
    "override_gate_debug_summary.json",
    "manifest.json",
)
LINES = (OUTPUTS, SCORECARDS, TRACES, GATE)
GateLine = GateDebugRecord | EvDebugRecord
_GATE_LINE: TypeAdapter[GateLine] = TypeAdapter(GateLine)


class Trace(Contract):
    text_id: str
    debate_id: str
    declarations: tuple[TerminationDeclaration, ...]
    process_trace: tuple[TraceEntry, ...]


class Figures(Contract):
    """Of all sentences in the directory."""

    samples: int
    debate: DebateMetrics
    adoption: AdoptionMetrics
    warnings: tuple[Warned, ...]
    integrity_failures: int
    notes: tuple[str, ...]
    # Records that ended for want of budget, and turns that nobody took, by the reason.
    out_of_budget: int
    abstentions: dict[str, int]


class Outputs:
    """Lines are written and flushed sentence by sentence: what is there is whole."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()
        self._files: dict[str, TextIO] = {}

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        for name in (*LINES, DEBATES):
            file = (self.directory / name).open("a", encoding="utf-8")
            self._files[name] = self._stack.enter_context(file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stack.close()

    def write(self, index: int, debated: Debated) -> bool:
        """False for a debate that ended without a record."""
        ref, state = debated.ref, debated.state
        self._files[DEBATES].writelines(f"{one}\n" for one in fact_lines(ref, debated.recorded))
        self._files[DEBATES].flush()
        record = result_of(ref, state)
        if isinstance(record, AbsaUnfinished) or state.finding(Overridden) is None:
            return False
        text_id = record.meta.text_id
        view = _view(record)
        whole = OutputLine.model_validate(record.model_dump(by_alias=True))
        card = scorecard_of(whole, check_record(view), state.input.text, self.directory.name)
        trace = Trace(
            text_id=text_id,
            debate_id=ref.id,
            declarations=declarations_of(state),
            process_trace=record.process_trace,
        )
        outcome = state.found(Overridden).outcome
        gate = SampleGate(
            text_id,
            index,
            _gate_of(outcome),
            outcome.adoption,
            record.meta.debate_override_effective,
        )
        self._line(SCORECARDS, card)
        self._line(TRACES, trace)
        for one in debug_records(gate):
            self._line(GATE, one)
        self._line(OUTPUTS, record)
        return True

    def _line(self, name: str, content: Contract) -> None:
        file = self._files[name]
        file.write(content.model_dump_json() + "\n")
        file.flush()


def records_in(directory: Path) -> list[OutputLine]:
    try:
        return [OutputLine.model_validate_json(one) for one in whole_lines(directory / OUTPUTS)]
    except ValidationError as error:
        raise BadInput(f"{directory / OUTPUTS}: {error.errors()[0]['msg']}") from error


def figures(directory: Path, limits: WarningThresholds) -> tuple[Figures, GateDebugSummary]:
    records = records_in(directory)
    cards = [Scorecard.model_validate_json(one) for one in whole_lines(directory / SCORECARDS)]
    metrics = debate_metrics([card.debate for card in cards])
    runs = [one.run for one in records if one.run is not None]
    missed = Counter(error.reason for run in runs for error in run.errors)
    traces = sum(1 for _ in whole_lines(directory / TRACES))
    found = Figures(
        samples=len(records),
        debate=metrics,
        adoption=adoption_metrics(records),
        warnings=warnings(metrics, limits),
        integrity_failures=sum(not card.integrity.passed for card in cards),
        notes=check_run(list(map(_view, records)), scorecards=len(cards), traces=traces),
        out_of_budget=sum(run.reason == OUT_OF_BUDGET for run in runs),
        abstentions=dict(missed.most_common()),
    )
    return found, debug_summary(list(_sample_gates(directory, records)))


def write_summary(
    directory: Path, gate: GateDebugSummary, manifest: Mapping[str, JsonValue]
) -> None:
    (directory / GATE_SUMMARY).write_text(gate.model_dump_json(indent=2) + "\n", encoding="utf-8")
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _gate_of(outcome: OverrideOutcome) -> GateOutcome:
    return GateOutcome(
        decisions=outcome.decisions,
        stats=outcome.stats,
        skip_reasons=outcome.skip_reasons,
        gate_decision=outcome.gate_decision,
        representative_skip=outcome.representative_skip,
        l3_types=outcome.l3_types,
        log=outcome.log,
    )


def _sample_gates(directory: Path, records: Iterable[FinalOutput]) -> Iterator[SampleGate]:
    """The gate's decisions as the debug lines have them, with four decimals."""
    lines: dict[str, list[GateLine]] = {}
    for text in whole_lines(directory / GATE):
        line = _GATE_LINE.validate_json(text)
        lines.setdefault(line.text_id, []).append(line)
    for index, record in enumerate(records):
        meta = record.meta
        own = lines.get(meta.text_id, [])
        adoption = AdoptOutcome(
            adopt_decision=meta.adopt_decision,
            adopt_reason=meta.adopt_reason,
            ev_score=meta.ev_score,
        )
        decisions = tuple(_decision(one) for one in own if isinstance(one, GateDebugRecord))
        thresholds: OverrideEffective = meta.debate_override_effective
        gate = GateOutcome(decisions=decisions)
        yield SampleGate(meta.text_id, index, gate, adoption, thresholds)


def _decision(line: GateDebugRecord) -> GateDecision:
    shared = set(GateDecision.model_fields) & set(GateDebugRecord.model_fields)
    return GateDecision(
        aspect=line.aspect_term,
        action=line.override_action,
        **{name: getattr(line, name) for name in shared},
    )


def _view(record: FinalOutput) -> RecordView:
    return RecordView.model_validate(record.model_dump(by_alias=True, exclude={"run"}))


def whole_lines(path: Path) -> Iterator[str]:
    """Lines that end, and hold JSON."""
    if not path.is_file():
        return
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    yield from (line for line in whole if line)
