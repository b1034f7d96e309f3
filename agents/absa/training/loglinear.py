"""Fitting the polarity model: multinomial logistic regression with dropout of features."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parley.agents.absa.english.maxent import MaxEnt, softmax
from parley.agents.absa.training.sparse import SparseRows

_CLASSES = 3


@dataclass(frozen=True, slots=True)
class LoglinearSettings:
    epochs: int = 10
    average_from: int = 4
    rate: float = 0.1
    penalty: float = 1.0
    dropout: float = 0.4
    least_count: int = 2
    smallest_weight: float = 0.01
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Labelled:
    names: list[str]
    label: int


def fit_polarity(examples: Sequence[Labelled], settings: LoglinearSettings) -> MaxEnt:
    counts = Counter(name for example in examples for name in set(example.names))
    kept = {name for name, count in counts.items() if count >= settings.least_count}
    known = [Labelled([n for n in e.names if n in kept], e.label) for e in examples]
    rows = SparseRows(kept, _CLASSES, settings.rate, settings.penalty)
    draw = random.Random(settings.seed)
    order = list(range(len(known)))
    for epoch in range(settings.epochs):
        draw.shuffle(order)
        for place, index in enumerate(order):
            _learn(rows, known[index], epoch + place / len(order), settings.dropout, draw)
        if epoch >= settings.average_from:
            rows.snapshot()
    return MaxEnt(
        {
            name: (row[0], row[1], row[2])
            for name, row in rows.mean().items()
            if max(map(abs, row)) >= settings.smallest_weight
        }
    )


def _learn(
    rows: SparseRows, example: Labelled, epoch: float, dropout: float, draw: random.Random
) -> None:
    names = [name for name in example.names if draw.random() >= dropout]
    logits = [0.0] * _CLASSES
    for name in names:
        for k, weight in enumerate(rows.rows[name]):
            logits[k] += weight
    gradient = list(softmax((logits[0], logits[1], logits[2])))
    gradient[example.label] -= 1.0
    for name in names:
        rows.update(name, gradient, epoch)
