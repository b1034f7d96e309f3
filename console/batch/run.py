"""A data set through debates over the bus, variant by variant, with everything it leaves behind."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parley import __version__
from parley.bus.contracts.base import Contract, Usage, sum_of
from parley.bus.contracts.facts import Status
from parley.bus.contracts.panel import Panel
from parley.client import Client
from parley.configs.settings import Settings
from parley.console.batch.files import MANIFEST, OUT_OF_BUDGET, BatchFiles, Debated, Figures
from parley.console.batch.items import DataSet, Item
from parley.console.batch.kind import batch_kind_of
from parley.console.batch.resume import finished, put_back, recorded_in
from parley.console.batch.runner import Job, debate_all
from parley.console.cli.exits import complain
from parley.console.cli.output import print_line
from parley.console.reports.figures import count
from parley.console.reports.gold import ITEM
from parley.console.runtime.brains import MODEL, BrainChoice
from parley.console.runtime.host import host_with_agents
from parley.console.runtime.inputs import Material, short_topic
from parley.console.runtime.seats import as_seated
from parley.console.terminal.progress import progress_of
from parley.console.transcript.costs import usage_in_words
from parley.coordinator.core.accounting import TurnError, errors_of, usage_by_persona
from parley.coordinator.core.state import DebateState


@dataclass(frozen=True, slots=True)
class Variant:
    """One run over the data set: a panel, and the directory of what it leaves behind."""

    name: str
    panel: Panel
    directory: Path

    @property
    def files(self) -> BatchFiles:
        return batch_kind_of(self.panel).files(self.directory)


@dataclass(frozen=True, slots=True)
class Batch:
    """`language` None finds it out, text by text."""

    path: Path
    data: DataSet
    variants: tuple[Variant, ...]
    language: str | None
    at_once: int
    sets: tuple[str, ...]
    # Only complaints are printed.
    quiet: bool = False


class Failed(Contract):
    """A debate that ended without a record."""

    id: str
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

    def __init__(self, files: BatchFiles, tally: Metrics, items: dict[int, Item]) -> None:
        self._files = files
        self._metrics = tally
        self._items = items
        self._order = iter(items)
        self._next = next(self._order, None)
        self._ready: dict[int, Debated] = {}

    def take(self, index: int, debated: Debated) -> None:
        self._ready[index] = debated
        while self._next is not None and self._next in self._ready:
            one, name = self._ready.pop(self._next), self._items[self._next].name
            if not self._files.write(self._next, name, one):
                self._metrics.failures.append(_failure(name, one))
            self._next = next(self._order, None)


async def run_batch(settings: Settings, wanted: Batch, choice: BrainChoice) -> bool:
    """Whether every item has its record, and the whole one."""
    if choice.kind == MODEL:
        # More would only wait for the models, with their deadlines running.
        wanted = replace(wanted, at_once=min(wanted.at_once, settings.model.concurrency))
    panels = [one.panel for one in wanted.variants]
    async with host_with_agents(settings, choice, panels) as host:
        if not host.is_ours:
            suited = await as_seated(host.client, panels, wanted.sets)
            variants = zip(wanted.variants, suited, strict=True)
            wanted = replace(wanted, variants=tuple(replace(one, panel=p) for one, p in variants))
        return all([await _run(host.client, wanted, one, choice) for one in wanted.variants])


async def _run(client: Client, wanted: Batch, variant: Variant, choice: BrainChoice) -> bool:
    files, panel = variant.files, variant.panel
    done = finished(files)
    items = {index: one for index, one in enumerate(wanted.data.items) if one.name not in done}
    suit = batch_kind_of(panel).suit

    def prepare(index: int) -> tuple[Panel, Material]:
        item = items[index]
        about = replace(item.read(), labels={ITEM: short_topic(item.name)})
        return suit(panel, item.name, item.row, about.text, wanted.language), about

    tally = Metrics(ran=len(items))
    try:
        with files, progress_of(variant.name, len(items)) as step:
            results = InOrder(files, tally, items)

            def note(index: int, debated: Debated) -> None:
                tally.charge(debated.state)
                results.take(index, debated)
                step()

            began = time.monotonic()
            jobs = Job(panel.name, tuple(items), prepare, wanted.at_once, choice.script)
            await debate_all(client, jobs, note)
            tally.seconds = time.monotonic() - began
    finally:
        put_back(files)
    found = _conclude(wanted, variant, tally)
    if not wanted.quiet:
        _tell(variant, tally, found)
    return not tally.failures and not found.out_of_budget


def _failure(name: str, debated: Debated) -> Failed:
    state = debated.state
    assert state.closed is not None
    why = state.closed.detail or state.closed.reason
    complain(f"{name}: {state.closed.status.value}: {why}")
    return Failed(
        id=name,
        debate_id=debated.ref.id,
        status=state.closed.status,
        reason=state.closed.reason,
        detail=state.closed.detail,
        errors=errors_of(state),
    )


def _conclude(wanted: Batch, variant: Variant, tally: Metrics) -> Figures:
    files = variant.files
    found, complaints = files.conclude(variant.panel)
    speed = round(tally.ran / tally.seconds, 1) if tally.seconds else None
    manifest = {
        "parley": __version__,
        "run_id": variant.directory.name,
        "variant": variant.name,
        "input": wanted.path.name,
        "input_sha256": _digest(wanted.path),
        "dataset": {"processing_count": len(wanted.data.items)},
        **files.about(variant.panel),
        "bad_lines": list(wanted.data.problems),
        "failures": [one.model_dump(mode="json") for one in tally.failures],
        "ran": tally.ran,
        "usage": tally.total.model_dump(mode="json"),
        "usage_by_persona": {
            name: used.model_dump(mode="json") for name, used in tally.usage.items()
        },
        "seconds": round(tally.seconds, 3),
        "debates_per_s": speed,
        "figures": found.model_dump(mode="json"),
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (variant.directory / MANIFEST).write_text(text + "\n", encoding="utf-8")
    for one in complaints:
        complain(one)
    return found


def _tell(variant: Variant, tally: Metrics, found: Figures) -> None:
    speed = round(tally.ran / tally.seconds, 1) if tally.seconds else None
    print_line(
        f"{variant.name}: {found.samples} records in {variant.directory}"
        f" ({tally.ran} run now, {speed or 0} debates/s, {len(tally.failures)} failed)"
    )
    for line in _shortcomings(found, tally.failures, variant.files):
        print_line(f"  {line}")
    if tally.usage:
        print_line(f"  models: {usage_in_words(tally.total)}")


def _digest(path: Path) -> str | None:
    """None for a folder."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _shortcomings(found: Figures, failures: Sequence[Failed], files: BatchFiles) -> Iterator[str]:
    broke = {one.id for one in failures if one.reason == OUT_OF_BUDGET}
    lost = len(broke - recorded_in(files)) if broke else 0
    if found.out_of_budget or lost:
        without = f", {lost} of them without a record" if lost else ""
        ended = f"{found.out_of_budget + lost} ended by {OUT_OF_BUDGET}{without}"
        yield f"{ended}: --resume runs them again"
    missed = Counter(found.abstentions)
    missed.update(error.reason for one in failures for error in one.errors)
    if missed:
        why = ", ".join(f"{reason} {number}" for reason, number in missed.most_common())
        yield f"{count(missed.total(), 'turn')} abstained: {why}"
