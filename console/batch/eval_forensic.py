"""
How good are the forensic agents, alone, as a vote and in a debate under the coordinator's rules?

`python -m parley.console.batch.eval_forensic --data DIR`; `make eval-forensic` calls it. The folder holds
labelled images and a `manifest.csv`. With `--folds source` no image is judged by weights that were
fitted to an image of its source; `shipped` takes the weights as they are, for images that had no
part in fitting them.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from parley.agents.forensic.debate import Position as Held
from parley.agents.forensic.evaluate import Folds, Trust, cost_lines, judge_all, report
from parley.agents.forensic.training.data import VARIANTS, load_samples
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.console.runtime.plan import Wishes, wished_panel
from parley.coordinator.protocols.verdicts.decide import Case
from parley.coordinator.protocols.verdicts.manager import decide_verdict
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.termination import evaluate, stops_of


class RulesOf:
    """A panel's termination rules and manager as a judge; counts why debates ended."""

    def __init__(self, panel: VerdictPanel) -> None:
        self._panel = panel
        self.reasons: Counter[str] = Counter()

    def __call__(
        self, history: Sequence[tuple[Held, ...]], _measured: Trust
    ) -> tuple[str, float] | None:
        rounds = [tuple(Position(*held) for held in row) for row in history]
        reason = evaluate(rounds, stops_of(self._panel)).reason
        if reason is None:
            return None
        self.reasons[reason.value] += 1
        decision = decide_verdict(reason, Case(self._panel, rounds))
        return decision.final_verdict, decision.confidence


def lines_of(
    folders: Sequence[Path], cache: Path | None, folds: Folds, rules: RulesOf
) -> Iterator[str]:
    samples = load_samples(folders, cache)
    yield f"{len(samples)} samples in {len(VARIANTS)} variants; folds: {folds}"
    yield from report(judge_all(samples, folds, rules))
    ended = ", ".join(f"{reason} {count}" for reason, count in rules.reasons.most_common())
    yield f"debates ended by: {ended}"
    yield from cost_lines(folders, samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, nargs="+", help="folders with manifest.csv"
    )
    parser.add_argument("--cache", type=Path, help="file that keeps the features between runs")
    parser.add_argument("--folds", choices=get_args(Folds), default="source")
    parser.add_argument("--preset", help="of the forensic panel")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="trust.noise=.9")
    options = parser.parse_args()
    folders = [folder for folder in options.data if (folder / "manifest.csv").is_file()]
    if not folders:
        print(f"eval-forensic: skipped, no labelled images in {', '.join(map(str, options.data))}")
        sys.exit(0)
    panel = wished_panel("forensic", Wishes(preset=options.preset, sets=options.set)).panel
    assert isinstance(panel, VerdictPanel)
    rules = RulesOf(panel)
    for line in lines_of(folders, options.cache, options.folds, rules):
        print(line, flush=True)


if __name__ == "__main__":
    main()
