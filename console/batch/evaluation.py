"""
What a panel's debates are worth on labelled data: debates, and as many openings as they cost.

The openings are repeated with other seeds, so that a vote among them has had as many calls as the
debates; of brains that say the same each time there is nothing to repeat.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings
from parley.console.batch.items import DataSet
from parley.console.batch.run import Batch, Variant, run_batch
from parley.console.reports.gold import ITEM, MANIFEST, Gold
from parley.console.reports.sources import read_groups
from parley.console.reports.worth import Case, Worth, worth_of
from parley.console.runtime.brains import MODEL, BrainChoice
from parley.console.runtime.system import run_async
from parley.coordinator.core.ledger import ledger_of
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.state import DebateState
from parley.logs import Log

DEBATES, OPENINGS = "debates", "openings"
# More repetitions of the opening are not asked for, however dear the debates were.
MOST_REPEATS = 20

Debated = Mapping[str, tuple[DebateRef, DebateState]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    settings: Settings
    choice: BrainChoice
    batch: Batch
    gold: Gold

    @property
    def _directory(self) -> Path:
        return self.batch.variants[0].directory.parent

    def run(self, *, equal_calls: bool) -> tuple[Worth | None, bool]:
        """What the debates were worth, and whether every one of them was decided."""
        complete = self._run(self.batch, None)
        debated = self._states(DEBATES)
        repeated = list(self._openings(debated)) if equal_calls else []
        cases = []
        for name, (ref, state) in debated.items():
            truth = self.gold.of(ref, state)
            if truth is not None:
                further = [one[name][1] for one in repeated if name in one]
                cases.append(Case(state, truth, further))
        self.gold.check(lambda _unused: None)
        return worth_of(cases), complete

    def _openings(self, debated: Debated) -> Iterator[Debated]:
        """Of as many repetitions as cost together what the debates have cost."""
        panel = self.batch.variants[0].panel
        alone = PROTOCOLS[panel.protocol].without_debate
        if alone is None or self.choice.kind != MODEL:
            return
        for number in range(1, _repeats([state for _, state in debated.values()]) + 1):
            name = f"{OPENINGS}-{number}"
            variant = Variant(name, alone(panel), self._directory / name)
            self._run(replace(self.batch, variants=(variant,)), number)
            yield self._states(name)

    def _run(self, batch: Batch, seed: int | None) -> bool:
        settings = self.settings
        if seed is not None:
            model = settings.model.model_copy(update={"seed": seed})
            settings = settings.model_copy(update={"model": model})
        return run_async(lambda: run_batch(settings, batch, self.choice))

    def _states(self, name: str) -> Debated:
        (group,) = read_groups(self.settings, [str(self._directory / name)])
        return {_item(log): (log.ref, log.state) for log in group.logs}


def _item(log: Log) -> str:
    return log.state.input.labels[ITEM]


def _repeats(states: Sequence[DebateState]) -> int:
    """Beyond the opening that each debate has had."""
    ledgers = [ledger_of(state) for state in states]
    openings = sum(one.opening.calls for one in ledgers)
    calls = openings + sum(one.debate.calls for one in ledgers)
    return min(MOST_REPEATS, ceil(calls / openings) - 1) if openings else 0


def labelled(data: DataSet, gold: Gold, limit: int | None) -> DataSet:
    """The inputs of which something is known. Raises BadInput where there are none."""
    known = tuple(one for one in data.items if one.name in gold.names)
    if not known:
        raise BadInput("no input has a label: see docs/panels.md for what gold labels look like")
    return replace(data, items=known[:limit])


def source_of_gold(data: Path, gold: Path | None) -> Path:
    if gold is not None or not data.is_dir():
        return gold or data
    if not (data / MANIFEST).is_file():
        raise BadInput(f"{data}: no {MANIFEST} with labels in this folder: name one with --gold")
    return data / MANIFEST


def first_folder(directory: Path) -> Path:
    """Where the debates go. Raises BadInput where something stands already."""
    if directory.exists() and any(directory.iterdir()):
        raise BadInput(f"{directory}: is not empty: name another directory")
    return directory / DEBATES


def variant_of(panel: Panel, directory: Path) -> Variant:
    return Variant(DEBATES, panel, first_folder(directory))
