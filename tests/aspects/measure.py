"""
How well aspects are read, on all sets at once and against another version of the program.

    python -m tests.aspects.measure --data DIR [--split dev|test] --keep answers.json
    python -m tests.aspects.measure --data DIR --against answers.json

Run the first line with PYTHONPATH set to another version's `src`, the second with one's own. DIR
holds `mams` and `text`. A tuple is right when its term is spelt as annotated and its polarity is the
annotated one. Intervals are paired bootstraps over sentences (95 %).
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from parley.bus.contracts.absa.findings import Overridden
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.sentiment import AspectSentiment
from parley.bus.subjects import DebateRef
from parley.console.batch.pure import Stopwatch, played
from parley.console.runtime.plan import Wishes, wished_panel
from parley.coordinator.protocols.absa.result import AbsaUnfinished, result_of
from parley.coordinator.protocols.absa.sample import Reading
from tests.aspects import sets

_RESAMPLES = 2000
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """`label` and `first_label`: of the sentence, after the debate and by Stage 1's tuples."""

    first: Pairs
    final: Pairs
    label: str


def all_sets(data: Path, split: str) -> dict[str, list[sets.Row]]:
    named: dict[str, Callable[[], list[sets.Row]]] = {
        "own ko": lambda: sets.own("ko", split),
        "own en": lambda: sets.own("en", split),
        "hard ko": lambda: sets.own("ko", "hard"),
        "hard en": lambda: sets.own("en", "hard"),
        "plain ko": lambda: sets.own("ko", "plain"),
        "plain en": lambda: sets.own("en", "plain"),
        "mams": lambda: sets.mams(data, "val" if split == "dev" else "test"),
        "dmaste electronics": lambda: sets.marked(data, "en_dmaste", split, "electronics"),
        "dmaste pet": lambda: sets.marked(data, "en_dmaste", split, "pet"),
        "tsa_md": lambda: sets.marked(data, "en_tsa_md", "dev"),
        "ko sentineg": lambda: sets.sentineg(data, split),
        "ko nsmc": lambda: sets.nsmc(data, "train" if split == "dev" else "test", 400),
    }
    return {name: rows() for name, rows in named.items()}


def answers(panel: AbsaPanel, rows: Sequence[sets.Row]) -> list[Answer]:
    found = []
    for number, state in enumerate(played(panel, [row.text for row in rows], Stopwatch())):
        if state.finding(Overridden) is None:
            found.append(Answer([], [], "neutral"))
            continue
        first = Reading(state).stage1.sentiments
        final = state.found(Overridden).outcome.adoption.final_sentiments
        record = result_of(DebateRef(panel.name, str(number)), state)
        assert not isinstance(record, AbsaUnfinished)
        found.append(Answer(_pairs(first), _pairs(final), str(record.final_result.label)))
    return found


def _pairs(sentiments: Iterable[AspectSentiment]) -> Pairs:
    return sorted({(s.key.lower(), s.polarity.value) for s in sentiments if s.polarity is not None})


def f1(found: Iterable[Pairs], rows: Sequence[sets.Row], *, terms: bool = False) -> float:
    right = said = there = 0
    for pairs, row in zip(found, rows, strict=True):
        one, gold = {(t, p) for t, p in pairs}, set(row.tuples or ())
        if terms:
            one, gold = {(t, "") for t, _ in one}, {(t, "") for t, _ in gold}
        right, said, there = right + len(one & gold), said + len(one), there + len(gold)
    return 2 * right / max(1, said + there)


def given_term(found: Iterable[Pairs], rows: Sequence[sets.Row]) -> float:
    right = there = 0
    for pairs, row in zip(found, rows, strict=True):
        gold = dict(row.tuples or ())
        hits = [(term, polarity) for term, polarity in pairs if term in gold]
        there += len(hits)
        right += sum(gold[term] == polarity for term, polarity in hits)
    return right / max(1, there)


def macro_f1(said: Sequence[str], gold: Sequence[str]) -> float:
    scores = []
    for label in set(gold):
        hits = sum(a == b == label for a, b in zip(said, gold, strict=True))
        scores.append(2 * hits / max(1, said.count(label) + gold.count(label)))
    return sum(scores) / len(scores)


def gain(one: Sequence[Answer], rows: Sequence[sets.Row]) -> tuple[float, float, float]:
    """Right tuples the debate gains, all in all, with its interval."""
    gains = [
        len(set(map(tuple, a.final)) & set(r.tuples or ()))
        - len(set(map(tuple, a.first)) & set(r.tuples or ()))
        for a, r in zip(one, rows, strict=True)
    ]
    low, high = interval(lambda picked: sum(gains[i] for i in picked), len(gains))
    return sum(gains), low, high


def interval(measure: Callable[[list[int]], float], number: int) -> tuple[float, float]:
    draw = random.Random(1)
    seen = sorted(
        measure([draw.randrange(number) for _ in range(number)]) for _ in range(_RESAMPLES)
    )
    return seen[int(0.025 * _RESAMPLES)], seen[int(0.975 * _RESAMPLES) - 1]


def report(
    name: str, rows: Sequence[sets.Row], mine: Sequence[Answer], other: Sequence[Answer] | None
) -> None:
    labels = [row.label for row in rows]
    if rows[0].tuples is not None:
        for who, found in (("now", mine), ("other", other)):
            if found is None:
                continue
            first, final = [a.first for a in found], [a.final for a in found]
            got, low, high = gain(found, rows)
            said = [a.label for a in found]
            hits = sum(a == b for a, b in zip(said, labels, strict=True)) / len(rows)
            _tell(
                f"{name:19} {who:5} n {len(rows):4} tuples {f1(first, rows):.3f} → {f1(final, rows):.3f}"
                f"  terms {f1(first, rows, terms=True):.3f} → {f1(final, rows, terms=True):.3f}"
                f"  polarity {given_term(final, rows):.3f}  label {hits:.3f}/{macro_f1(said, labels):.3f}"
                f"  gain {got:+d} [{low:+.0f}, {high:+.0f}]"
            )
        if other is not None:
            _tell(" " * 25, _against(rows, mine, other))
        _by_kind(rows, mine, other)
        return
    for who, found in (("now", mine), ("other", other)):
        if found is not None:
            said = [a.label for a in found]
            hits = sum(a == b for a, b in zip(said, labels, strict=True)) / len(rows)
            wrong = sum(
                a != b and a in ("positive", "negative") for a, b in zip(said, labels, strict=True)
            ) / len(rows)
            _tell(f"{name:19} {who:5} n {len(rows):4} label right {hits:.3f}, opposite {wrong:.3f}")


def _against(rows: Sequence[sets.Row], mine: Sequence[Answer], other: Sequence[Answer]) -> str:
    def better(picked: list[int]) -> float:
        chosen = [rows[i] for i in picked]
        return f1([mine[i].final for i in picked], chosen) - f1(
            [other[i].final for i in picked], chosen
        )

    low, high = interval(better, len(rows))
    return (
        f"tuples {better(list(range(len(rows)))):+.3f} [{low:+.3f}, {high:+.3f}] against the other"
    )


def _by_kind(
    rows: Sequence[sets.Row], mine: Sequence[Answer], other: Sequence[Answer] | None
) -> None:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    if len(kinds) == 1:
        return
    told = []
    for kind in kinds:
        picked = [i for i, row in enumerate(rows) if row.kind == kind]
        chosen = [rows[i] for i in picked]
        line = f"{kind} {f1([mine[i].final for i in picked], chosen):.2f}"
        if other is not None:
            line += f" ({f1([other[i].final for i in picked], chosen):.2f})"
        told.append(line)
    _tell(" " * 25, ", ".join(told))


def _tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure aspects on all sets.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    panel = wished_panel("absa", Wishes()).panel
    assert isinstance(panel, AbsaPanel)
    kept = json.loads(chosen.against.read_text()) if chosen.against else {}
    found: dict[str, list[Answer]] = {}
    for name, rows in all_sets(chosen.data, chosen.split).items():
        if not name.startswith(chosen.only):
            continue
        began = time.perf_counter()
        found[name] = answers(panel, rows)
        speed = len(rows) / (time.perf_counter() - began)
        other = [Answer(**one) for one in kept[name]] if name in kept else None
        report(name, rows, found[name], other)
        sys.stderr.write(f"{name}: {speed:.0f} sentences/s\n")
    if chosen.keep:
        chosen.keep.write_text(
            json.dumps({name: [asdict(a) for a in one] for name, one in found.items()})
        )


if __name__ == "__main__":
    main()
