"""
What a batch of sentences takes from a line, and leaves behind beside what every batch does:

    scorecards.jsonl                  mapping, overrides, memory, integrity, and the whole record
    traces.jsonl                      who said what, and what the coordinator declared
    override_gate_debug.jsonl         the gate's decisions, aspect by aspect
    override_gate_debug_summary.json  the same, counted
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue, TypeAdapter, ValidationError
from typing_extensions import override

from parley.agents.absa.text import readable
from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.gate import (
    AdoptOutcome,
    EvDebugRecord,
    GateDebugRecord,
    GateDecision,
    GateOutcome,
    OverrideOutcome,
)
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import OverrideEffective, WarningThresholds
from parley.bus.contracts.absa.record import FinalOutput, SampleIdentity, TraceEntry
from parley.bus.contracts.absa.sentiment import SentenceLabel
from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.panel import Panel, PanelBase
from parley.bus.errors import BadInput
from parley.console.batch.files import (
    OUT_OF_BUDGET,
    OUTPUTS,
    BatchFiles,
    Column,
    Debated,
    Figures,
    Values,
    whole_lines,
)
from parley.console.batch.kind import BatchKind, Row
from parley.console.batch.scorecards import Scorecard, SentenceLine, scorecard_of
from parley.console.inputs.absa import as_sample
from parley.console.runtime.inputs import Material
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
from parley.coordinator.protocols.absa.result import AbsaUnfinished, result_of

SCORECARDS, TRACES = "scorecards.jsonl", "traces.jsonl"
GATE, GATE_SUMMARY = "override_gate_debug.jsonl", "override_gate_debug_summary.json"
GateLine = GateDebugRecord | EvDebugRecord
DEFAULT_LIMITS = WarningThresholds()
_GATE_LINE: TypeAdapter[GateLine] = TypeAdapter(GateLine)


class SentenceRow(Row):
    case_type: str = ""
    split: str = ""
    domain_id: str = ""
    suggested_label: SentenceLabel | None = None


def material(_panel: PanelBase, row: Row) -> Material:
    return Material(text=readable(row.text or ""))


def suit(panel: Panel, item: str, row: Row, text: str, language: str | None) -> Panel:
    assert isinstance(panel, AbsaPanel)
    assert isinstance(row, SentenceRow)
    if row.suggested_label is not None:
        params = panel.params.model_copy(update={"suggested_label": row.suggested_label})
        panel = panel.model_copy(update={"params": params})
    identity = SampleIdentity(
        text_id=readable(item),
        uid=readable("" if row.uid is None else str(row.uid)),
        case_type=readable(row.case_type),
        split=readable(row.split),
        domain_id=readable(row.domain_id),
    )
    return as_sample(panel, text, row.language_code or language, identity)


class Trace(Contract):
    text_id: str
    debate_id: str
    declarations: tuple[TerminationDeclaration, ...]
    process_trace: tuple[TraceEntry, ...]


class SentenceFigures(Figures):
    """Of all sentences in the directory."""

    debate: DebateMetrics
    adoption: AdoptionMetrics
    warnings: tuple[Warned, ...]
    integrity_failures: int
    notes: tuple[str, ...]


class SentenceFiles(BatchFiles):
    names = (OUTPUTS, SCORECARDS, TRACES, GATE)
    columns = (
        Column("overrides", "override_applied"),
        Column("adopted+applied", "applied_and_adopted_rate"),
        Column("changed", "guided_change_rate"),
    )

    @override
    def record(self, _index: int, item: str, debated: Debated) -> bool:
        ref, state = debated.ref, debated.state
        record = result_of(ref, state)
        if isinstance(record, AbsaUnfinished) or state.finding(Overridden) is None:
            return False
        text_id = record.meta.text_id
        view = _view(record)
        whole = SentenceLine.model_validate(record.model_dump(by_alias=True))
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
            _index,
            _gate_of(outcome),
            outcome.adoption,
            record.meta.debate_override_effective,
        )
        self.line(SCORECARDS, card)
        self.line(TRACES, trace)
        for one in debug_records(gate):
            self.line(GATE, one)
        self.line(OUTPUTS, record)
        return True

    @override
    def item_of(self, line: Values) -> str:
        meta = line.get("meta", line)
        assert isinstance(meta, Mapping)
        return str(meta["text_id"])

    @override
    def reason_of(self, line: Values) -> str | None:
        run = line.get("run")
        return str(run["reason"]) if isinstance(run, Mapping) and "reason" in run else None

    @override
    def items_of_debates(self) -> dict[str, str]:
        return {str(one["debate_id"]): str(one["text_id"]) for one in self.lines(TRACES)}

    @override
    def figures(self, limits: WarningThresholds = DEFAULT_LIMITS) -> SentenceFigures:
        records = self.records()
        cards = [
            Scorecard.model_validate_json(one) for one in whole_lines(self.directory / SCORECARDS)
        ]
        metrics = debate_metrics([card.debate for card in cards])
        runs = [one.run for one in records if one.run is not None]
        missed = Counter(error.reason for run in runs for error in run.errors)
        traces = sum(1 for _ in whole_lines(self.directory / TRACES))
        return SentenceFigures(
            samples=len(records),
            debate=metrics,
            adoption=adoption_metrics(records),
            warnings=warnings(metrics, limits),
            integrity_failures=sum(not card.integrity.passed for card in cards),
            notes=check_run(list(map(_view, records)), scorecards=len(cards), traces=traces),
            out_of_budget=sum(run.reason == OUT_OF_BUDGET for run in runs),
            abstentions=dict(missed.most_common()),
        )

    @override
    def conclude(self, _panel: Panel) -> tuple[Figures, Sequence[str]]:
        assert isinstance(_panel, AbsaPanel)
        summary = debug_summary(list(self._gates(self.records())))
        path = self.directory / GATE_SUMMARY
        path.write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")
        found = self.figures(_panel.warning_limits)
        told = [f"{w.level} {w.metric} {w.value:.2f}: {w.tip}" for w in found.warnings]
        if _panel.params.polarity_repair:
            kept, gone = summary.override_hint_repair_total, summary.override_hint_invalid_total
            told.append(f"polarity words: {kept} repaired, {gone} invalid")
        return found, told

    @override
    def about(self, panel: Panel) -> dict[str, JsonValue]:
        assert isinstance(panel, AbsaPanel)
        return {
            "params": panel.params.model_dump(mode="json"),
            "override": panel.override.model_dump(mode="json"),
            "warning_limits": panel.warning_limits.model_dump(mode="json"),
        }

    @override
    def answers(self) -> dict[str, object]:
        return {
            one.meta.text_id: (
                one.final_result.label,
                frozenset((item.key, item.polarity) for item in one.final_result.final_tuples),
            )
            for one in self.records()
        }

    @override
    def row(self) -> dict[str, JsonValue]:
        found = self.figures()
        return {
            "samples": found.samples,
            "override_applied": found.debate.debate_override_applied,
            "mapping_coverage": found.debate.debate_mapping_coverage,
            "applied_and_adopted_rate": found.adoption.override_applied_and_adopted_rate,
            "guided_change_rate": found.adoption.guided_change_rate,
            "risk_resolution_rate": found.adoption.risk_resolution_rate,
            "adopt_reason_counts": dict(found.adoption.adopt_reason_counts),
            "integrity_failures": found.integrity_failures,
        }

    def records(self) -> list[SentenceLine]:
        path = self.directory / OUTPUTS
        try:
            return [SentenceLine.model_validate_json(one) for one in whole_lines(path)]
        except ValidationError as error:
            raise BadInput(f"{path}: {error.errors()[0]['msg']}") from error

    def _gates(self, records: Iterable[FinalOutput]) -> Iterator[SampleGate]:
        """The gate's decisions as the debug lines have them, with four decimals."""
        lines: dict[str, list[GateLine]] = {}
        for text in whole_lines(self.directory / GATE):
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


def _gate_of(outcome: OverrideOutcome) -> GateOutcome:
    shared = set(GateOutcome.model_fields) & set(OverrideOutcome.model_fields)
    return GateOutcome(**{name: getattr(outcome, name) for name in shared})


def _decision(line: GateDebugRecord) -> GateDecision:
    shared = set(GateDecision.model_fields) & set(GateDebugRecord.model_fields)
    return GateDecision(
        aspect=line.aspect_term,
        action=line.override_action,
        **{name: getattr(line, name) for name in shared},
    )


def _view(record: FinalOutput) -> RecordView:
    return RecordView.model_validate(record.model_dump(by_alias=True, exclude={"run"}))


BATCH = BatchKind(SentenceRow, material, suit, SentenceFiles)
