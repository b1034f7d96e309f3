"""
The table for a paper: variants over repeated seeds, with scores, spread and significance.

A group named `seed-3` or `default/seed-3` is the third repetition of its variant. Scores need gold;
without it the table says how much the debates changed.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from math import comb
from random import Random
from statistics import fmean, stdev

from parley.bus.contracts.base import Contract
from parley.console.reports.gold import Gold
from parley.console.reports.intervals import RESAMPLES, SEED, Interval, paired_difference
from parley.console.reports.outcomes import Outcome, outcomes_of
from parley.console.reports.sources import Group
from parley.console.reports.variants import WHOLE

SEED_FOLDER = re.compile(r"^(?:(?P<variant>.+)/)?seed-(?P<seed>\d+)$")
FORMATS = ("md", "csv", "tex")
_LATEX = str.maketrans({one: f"\\{one}" for one in "&%$#_{}"})


class Spread(Contract):
    """Over the seeds; `std` is None of a single one."""

    mean: float
    std: float | None


class Against(Contract):
    """The difference to the first variant, of the inputs that both judged."""

    pairs: int
    difference: float
    interval: Interval
    p_bootstrap: float
    # Inputs that only the first, and only this variant got right in most of the seeds.
    only_first: int
    only_this: int
    p_mcnemar: float


class PaperRow(Contract):
    variant: str
    seeds: int
    inputs: int
    # None without gold.
    accuracy: Spread | None
    # Micro-averaged over the tuples of all inputs; None without gold tuples.
    precision: Spread | None
    recall: Spread | None
    f1: Spread | None
    changed: Spread | None
    against: Against | None


@dataclass(slots=True)
class _Runs:
    """A variant: the outcomes of each seed."""

    name: str
    seeds: dict[int, Sequence[Outcome]] = field(default_factory=dict)

    def correct(self) -> dict[str, float]:
        """The share of the seeds in which an input was judged rightly."""
        found: dict[str, list[bool]] = {}
        for one in self.outcomes():
            if one.row.correct is not None:
                found.setdefault(one.subject, []).append(one.row.correct)
        return {subject: fmean(judged) for subject, judged in found.items()}

    def outcomes(self) -> Iterator[Outcome]:
        for some in self.seeds.values():
            yield from some


def paper_rows(groups: Sequence[Group], gold: Gold) -> tuple[PaperRow, ...]:
    """The first row is what the others are compared with."""
    runs: dict[str, _Runs] = {}
    for group in groups:
        if not group.logs:
            continue
        found = SEED_FOLDER.match(group.name)
        name = ((found["variant"] or WHOLE) if found else group.name) or WHOLE
        own = runs.setdefault(name, _Runs(name))
        seed = int(found["seed"]) if found else len(own.seeds)
        own.seeds[seed] = outcomes_of(group.logs, gold, name)
    ordered = sorted(runs.values(), key=lambda one: one.name != WHOLE)
    return tuple(
        _row(one, ordered[0] if place else None, gold) for place, one in enumerate(ordered)
    )


def _row(runs: _Runs, first: _Runs | None, gold: Gold) -> PaperRow:
    counts = [_counts(some, gold) for some in runs.seeds.values()]
    judged = [
        [one.row.correct for one in some if one.row.correct is not None]
        for some in runs.seeds.values()
    ]
    changed = [
        [one.row.changed_by_debate for one in some if one.row.changed_by_debate is not None]
        for some in runs.seeds.values()
    ]
    by_tuples = [one for one in counts if one is not None]
    return PaperRow(
        variant=runs.name,
        seeds=len(runs.seeds),
        inputs=len({one.subject for one in runs.outcomes()}),
        accuracy=_spread([fmean(one) for one in judged if one]),
        precision=_spread([_share(right, said) for right, said, _ in by_tuples]),
        recall=_spread([_share(right, there) for right, _, there in by_tuples]),
        f1=_spread([_share(2 * right, said + there) for right, said, there in by_tuples]),
        changed=_spread([fmean(one) for one in changed if one]),
        against=_against(first.correct(), runs.correct()) if first is not None else None,
    )


def _counts(outcomes: Sequence[Outcome], gold: Gold) -> tuple[int, int, int] | None:
    """Right, said and true tuples; None where gold names none."""
    right = said = there = 0
    known = False
    for one in outcomes:
        truth = gold.of(one.log.ref, one.log.state) if one.is_readable else None
        if truth is None or truth.tuples is None:
            continue
        known = True
        parts = one.ending.answer.parts if one.ending.answer is not None else None
        own = frozenset(parts or ())
        right += len(own & truth.tuples)
        said += len(own)
        there += len(truth.tuples)
    return (right, said, there) if known else None


def _against(first: Mapping[str, float], own: Mapping[str, float]) -> Against | None:
    differences = [own[name] - first[name] for name in own if name in first]
    found = paired_difference(differences)
    if found is None:
        return None
    half = 0.5
    votes = [(first[name] > half, own[name] > half) for name in own if name in first]
    only_first = sum(before and not after for before, after in votes)
    only_this = sum(after and not before for before, after in votes)
    return Against(
        pairs=len(differences),
        difference=found.mean,
        interval=found.interval,
        p_bootstrap=bootstrap_p(differences),
        only_first=only_first,
        only_this=only_this,
        p_mcnemar=mcnemar(only_first, only_this),
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    return Spread(mean=fmean(values), std=stdev(values) if len(values) > 1 else None)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def table(rows: Sequence[PaperRow], form: str) -> str:
    """In one of FORMATS; a column that nobody fills is left out."""
    head, *lines = _cells(rows, plus_minus={"md": "±", "csv": "+-", "tex": r"$\pm$"}[form])
    if form == "csv":
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows([head, *lines])
        return text.getvalue()
    if form == "md":
        rule = ["---", *("---:" for _ in head[1:])]
        return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))
    body = [" & ".join(_latex(cell) for cell in line) + r" \\" for line in lines]
    return "\n".join(
        [
            r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}",
            r"\toprule",
            " & ".join(map(_latex, head)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _cells(rows: Sequence[PaperRow], plus_minus: str) -> list[list[str]]:
    columns: dict[str, list[str]] = {
        "variant": [one.variant for one in rows],
        "seeds": [str(one.seeds) for one in rows],
        "inputs": [str(one.inputs) for one in rows],
    }
    for name in ("accuracy", "precision", "recall", "f1", "changed"):
        columns[name] = [_spoken(getattr(one, name), plus_minus) for one in rows]
    gains = [one.against for one in rows]
    columns["difference"] = [f"{one.difference:+.3f}" if one else "" for one in gains]
    columns["95% interval"] = [
        f"[{one.interval.low:+.3f}, {one.interval.high:+.3f}]" if one else "" for one in gains
    ]
    columns["p (bootstrap)"] = [f"{one.p_bootstrap:.4f}" if one else "" for one in gains]
    columns["p (McNemar)"] = [f"{one.p_mcnemar:.4f}" if one else "" for one in gains]
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    return [list(kept), *map(list, zip(*kept.values(), strict=True))]


def _spoken(found: Spread | None, plus_minus: str) -> str:
    if found is None:
        return ""
    return f"{found.mean:.3f}" + (f" {plus_minus} {found.std:.3f}" if found.std is not None else "")


def _latex(cell: str) -> str:
    """Mathematics of our own stays."""
    return r"$\pm$".join(part.translate(_LATEX) for part in cell.split(r"$\pm$"))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact and two-sided: `only_first` inputs were right in the first variant alone."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def bootstrap_p(differences: Sequence[float]) -> float:
    """
    Two-sided: how often the mean of differences drawn anew from the same lies on the other side of zero.

    Never 0: the drawing itself counts as one more resample.
    """
    if not differences or fmean(differences) == 0:
        return 1.0
    chance = Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    sign = 1 if fmean(differences) > 0 else -1
    beyond = sum(
        sign * fmean(chance.choices(differences, k=len(differences))) <= 0 for _ in range(RESAMPLES)
    )
    return min(1.0, 2 * (beyond + 1) / (RESAMPLES + 1))
