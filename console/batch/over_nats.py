"""A data set through the pipeline over the bus, variant by variant, with everything it leaves behind."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parley import __version__
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.base import Contract, Usage, sum_of
from parley.bus.contracts.facts import Status
from parley.bus.journal import Journal
from parley.configs.settings import Settings
from parley.console.batch.outputs import Figures, Outputs, figures, write_summary
from parley.console.batch.resume import finished, put_back, recorded_in
from parley.console.batch.runner import Debated, Job, debate_all
from parley.console.batch.samples import DataSet, SampleLine
from parley.console.cli.exits import complain
from parley.console.cli.output import print_line
from parley.console.inputs.absa import as_sample
from parley.console.reports.figures import count
from parley.console.runtime.brains import MODEL, BrainChoice
from parley.console.runtime.host import host_with_agents
from parley.console.runtime.seats import as_seated
from parley.console.terminal.progress import progress_of
from parley.console.transcript.costs import usage_in_words
from parley.coordinator.core.accounting import TurnError, errors_of, usage_by_persona
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.result import OUT_OF_BUDGET


@dataclass(frozen=True, slots=True)
class Variant:
    """One run over the data set: a panel, and the directory of what it leaves behind."""

    name: str
    panel: AbsaPanel
    directory: Path


@dataclass(frozen=True, slots=True)
class Batch:
    """`language` None finds it out, sentence by sentence."""

    file: Path
    data: DataSet
    variants: tuple[Variant, ...]
    language: str | None
    at_once: int
    sets: tuple[str, ...]


class Failed(Contract):
    """A debate that ended without a record."""

    text_id: str
    debate_id: str
    status: Status
    reason: str
    detail: str | None
    errors: tuple[TurnError, ...]


@dataclass(slots=True)
class Metrics:
    seconds: float = 0.0
    ran: int = 0
    failures: list[Failed] = field(default_factory=list)
    # What models were asked for the debates that ran, by persona.
    usage: dict[str, Usage] = field(default_factory=dict)

    def charge(self, state: DebateState) -> None:
        for name, used in usage_by_persona(state).items():
            self.usage[name] = sum_of([self.usage.get(name, Usage()), used])

    @property
    def total(self) -> Usage:
        return sum_of(self.usage.values())


class InOrder:
    """Writes results in the order of the data set, whichever comes first."""

    def __init__(self, outputs: Outputs, tally: Metrics, order: Sequence[int]) -> None:
        self._outputs = outputs
        self._metrics = tally
        self._order = iter(order)
        self._next = next(self._order, None)
        self._ready: dict[int, Debated] = {}

    def take(self, index: int, debated: Debated) -> None:
        self._ready[index] = debated
        while self._next is not None and self._next in self._ready:
            one = self._ready.pop(self._next)
            if not self._outputs.write(self._next, one):
                self._metrics.failures.append(_failure(one))
            self._next = next(self._order, None)


async def run_batch(settings: Settings, wanted: Batch, choice: BrainChoice) -> bool:
    """Whether every sentence has its record, and the whole one."""
    if choice.kind == MODEL:
        # More would only wait for the models, with their deadlines running.
        wanted = replace(wanted, at_once=min(wanted.at_once, settings.model.concurrency))
    panels = [one.panel for one in wanted.variants]
    async with host_with_agents(settings, choice, panels) as host:
        if not host.is_ours:
            suited = await as_seated(host.journal, panels, wanted.sets)
            variants = zip(wanted.variants, suited, strict=True)
            wanted = replace(wanted, variants=tuple(replace(one, panel=p) for one, p in variants))
        return all([await _run(host.journal, wanted, one, choice) for one in wanted.variants])


async def _run(journal: Journal, wanted: Batch, variant: Variant, choice: BrainChoice) -> bool:
    done = finished(variant.directory)
    jobs = [
        _job(index, one, variant.panel, wanted.language)
        for index, one in enumerate(wanted.data.samples)
        if one.identity.text_id not in done
    ]
    tally = Metrics(ran=len(jobs))
    try:
        with Outputs(variant.directory) as outputs, progress_of(variant.name, len(jobs)) as step:
            results = InOrder(outputs, tally, [job.index for job in jobs])

            def note(job: Job, debated: Debated) -> None:
                tally.charge(debated.state)
                results.take(job.index, debated)
                step()

            began = time.monotonic()
            await debate_all(journal, jobs, note, at_once=wanted.at_once, script=choice.script)
            tally.seconds = time.monotonic() - began
    finally:
        put_back(variant.directory)
    found = _conclude(wanted, variant, tally)
    return not tally.failures and not found.out_of_budget


def _failure(debated: Debated) -> Failed:
    state, panel = debated.state, debated.state.running_panel
    assert isinstance(panel, AbsaPanel)
    assert state.closed is not None
    why = state.closed.detail or state.closed.reason
    complain(f"{panel.sample.text_id}: {state.closed.status.value}: {why}")
    return Failed(
        text_id=panel.sample.text_id,
        debate_id=debated.ref.id,
        status=state.closed.status,
        reason=state.closed.reason,
        detail=state.closed.detail,
        errors=errors_of(state),
    )


def _job(index: int, one: SampleLine, panel: AbsaPanel, language: str | None) -> Job:
    if one.suggested_label is not None:
        params = panel.params.model_copy(update={"suggested_label": one.suggested_label})
        panel = panel.model_copy(update={"params": params})
    return Job(index, as_sample(panel, one.text, one.language or language, one.identity), one.text)


def _conclude(wanted: Batch, variant: Variant, tally: Metrics) -> Figures:
    found, gate = figures(variant.directory, variant.panel.warning_limits)
    speed = round(tally.ran / tally.seconds, 1) if tally.seconds else None
    write_summary(
        variant.directory,
        gate,
        {
            "parley": __version__,
            "run_id": variant.directory.name,
            "variant": variant.name,
            "input": wanted.file.name,
            "input_sha256": hashlib.sha256(wanted.file.read_bytes()).hexdigest(),
            "dataset": {"processing_count": len(wanted.data.samples)},
            "params": variant.panel.params.model_dump(mode="json"),
            "override": variant.panel.override.model_dump(mode="json"),
            "warning_limits": variant.panel.warning_limits.model_dump(mode="json"),
            "bad_lines": list(wanted.data.problems),
            "failures": [one.model_dump(mode="json") for one in tally.failures],
            "ran": tally.ran,
            "usage": tally.total.model_dump(mode="json"),
            "usage_by_persona": {
                name: used.model_dump(mode="json") for name, used in tally.usage.items()
            },
            "seconds": round(tally.seconds, 3),
            "sentences_per_s": speed,
            "figures": found.model_dump(mode="json"),
        },
    )
    for warned in found.warnings:
        complain(f"{warned.level} {warned.metric} {warned.value:.2f}: {warned.tip}")
    print_line(
        f"{variant.name}: {found.samples} records in {variant.directory}"
        f" ({tally.ran} run now, {speed or 0} sentences/s, {len(tally.failures)} failed)"
    )
    for line in _shortcomings(found, tally.failures, variant.directory):
        print_line(f"  {line}")
    if variant.panel.params.polarity_repair:
        gone, kept = gate.override_hint_invalid_total, gate.override_hint_repair_total
        print_line(f"  polarity words: {kept} repaired, {gone} invalid")
    if tally.usage:
        print_line(f"  models: {usage_in_words(tally.total)}")
    return found


def _shortcomings(found: Figures, failures: Sequence[Failed], directory: Path) -> Iterator[str]:
    broke = {one.text_id for one in failures if one.reason == OUT_OF_BUDGET}
    lost = len(broke - recorded_in(directory)) if broke else 0
    if found.out_of_budget or lost:
        without = f", {lost} of them without a record" if lost else ""
        ended = f"{found.out_of_budget + lost} ended by {OUT_OF_BUDGET}{without}"
        yield f"{ended}: --resume runs them again"
    missed = Counter(found.abstentions)
    missed.update(error.reason for one in failures for error in one.errors)
    if missed:
        why = ", ".join(f"{reason} {number}" for reason, number in missed.most_common())
        yield f"{count(missed.total(), 'turn')} abstained: {why}"
