"""
Learns what Korean words say of a review from reviews with a rating (`korean.json.gz`).

    python -m parley.agents.absa.training.korean --data DIR [--out FILE]

DIR holds `ko_nsmc_train.tsv.gz` (CC0) and `ko_kote_emotions.tsv.gz` (MIT). Logistic regression in
pure Python with a fixed seed; weights that a handful of reviews suggest are left out.
"""

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from math import exp
from pathlib import Path

from parley.agents.absa.korean.gist import WEIGHTS_FILE, gist_names
from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.morphology import analyse
from parley.agents.absa.korean.units import build_units
from parley.agents.absa.training.lexicons import rows
from parley.agents.absa.training.sparse import SparseRows

_OUT = Path(__file__).resolve().parent.parent / "weights" / WEIGHTS_FILE
_LEAST_COUNT, _SMALLEST = 12, 0.25
_EPOCHS, _AVERAGE_FROM, _RATE, _PENALTY, _SEED = 6, 2, 0.1, 2.0, 1
_LABELS = {"1": 1, "0": 0, "positive": 1, "negative": 0}
Example = tuple[tuple[str, ...], int]


def examples(folder: Path) -> Iterator[Example]:
    for name, column, split in (
        ("ko_nsmc_train", "label", ""),
        ("ko_kote_emotions", "polarity_derived", "dev"),
    ):
        for row in rows(folder / f"{name}.tsv.gz"):
            if row[column] in _LABELS and row.get("split", "") == split:
                units = build_units(row["text"], analyse(row["text"]), knowledge().vocabulary)
                names = tuple(dict.fromkeys(gist_names(units)))
                if names:
                    yield names, _LABELS[row[column]]


def fitted(known: list[Example]) -> dict[str, float]:
    counts = Counter(name for names, _ in known for name in names)
    kept = {name for name, count in counts.items() if count >= _LEAST_COUNT}
    weights = SparseRows(kept, 1, _RATE, _PENALTY)
    draw, order = random.Random(_SEED), list(range(len(known)))
    for epoch in range(_EPOCHS):
        draw.shuffle(order)
        for place, index in enumerate(order):
            names, label = known[index]
            inside = [name for name in names if name in kept]
            logit = sum(weights.rows[name][0] for name in inside)
            slope = 1.0 / (1.0 + exp(-logit)) - label
            for name in inside:
                weights.update(name, [slope], epoch + place / len(order))
        if epoch >= _AVERAGE_FROM:
            weights.snapshot()
    return {n: round(w, 2) for n, (w,) in sorted(weights.mean().items()) if abs(w) >= _SMALLEST}


def main() -> None:
    parser = argparse.ArgumentParser(description="Learn what Korean words say of a review.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=_OUT)
    chosen = parser.parse_args()
    text = json.dumps(fitted(list(examples(chosen.data))), ensure_ascii=False, indent=0)
    chosen.out.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
