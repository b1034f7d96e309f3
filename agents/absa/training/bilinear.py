"""Fitting the attachment model: what words say and which words count, learned together."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import exp

from parley.agents.absa.english.attachment import (
    BASE_WEIGHT,
    AspectView,
    Attachment,
    context_name,
    own_names,
    relation_names,
    value_names,
)
from parley.agents.absa.english.maxent import softmax
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.words import Word
from parley.agents.absa.training.sparse import SparseRows

_CLASSES = 3
_SETTLED = 0.01
_FAINT = 0.01


@dataclass(frozen=True, slots=True)
class BilinearSettings:
    epochs: int = 12
    average_from: int = 4
    rate: float = 0.1
    relation_rate: float = 0.05
    penalty: float = 1.0
    relation_penalty: float = 0.5
    dropout: float = 0.25
    least_count: int = 2
    smallest_weight: float = 0.02
    seed: int = 1


@dataclass(frozen=True, slots=True)
class AttachedExample:
    """`near`: for each word its value names and its relation names."""

    own: list[str]
    near: list[tuple[list[str], list[str]]]
    label: int


def attached(view: AspectView, known: Iterable[str], label: int) -> AttachedExample:
    sentence = view.sentence
    head = sentence.words[view.aspect[1] - 1]
    everything = [True] * len(view.mask)
    return AttachedExample(
        list(own_names(sentence, view.aspect, known)),
        [(_values(sentence, at, head), names) for at, names in relation_names(view, everything)],
        label,
    )


def _values(sentence: Sentence, at: int, head: Word) -> list[str]:
    extra = context_name(sentence, at, head)
    return [*value_names(sentence, at), *((extra,) if extra else ())]


def fit_attachment(examples: Sequence[AttachedExample], settings: BilinearSettings) -> Attachment:
    trainer = _BilinearTrainer(examples, settings)
    for epoch in range(settings.epochs):
        trainer.run_epoch(epoch)
    return trainer.weights()


class _BilinearTrainer:
    def __init__(self, examples: Sequence[AttachedExample], settings: BilinearSettings) -> None:
        least = settings.least_count
        own = _frequent((e.own for e in examples), least)
        values = _frequent((v for e in examples for v, _ in e.near), least)
        relations = _frequent((r for e in examples for _, r in e.near), least + 1)
        self._settings = settings
        self._draw = random.Random(settings.seed)
        self._own = SparseRows(own, _CLASSES, settings.rate, settings.penalty)
        self._values = SparseRows(values, _CLASSES, settings.rate, settings.penalty)
        self._relations = SparseRows(
            relations, 1, settings.relation_rate, settings.relation_penalty
        )
        for name, row in self._values.rows.items():
            row[:] = _prior(name)
        self._examples = [
            AttachedExample(
                [n for n in e.own if n in own],
                [
                    ([n for n in v if n in values], [n for n in r if n in relations])
                    for v, r in e.near
                ],
                e.label,
            )
            for e in examples
        ]

    def run_epoch(self, epoch: int) -> None:
        order = list(range(len(self._examples)))
        self._draw.shuffle(order)
        for place, index in enumerate(order):
            self._learn(self._dropped(self._examples[index]), epoch + place / len(order))
        if epoch >= self._settings.average_from:
            for rows in (self._own, self._values, self._relations):
                rows.snapshot()

    def weights(self) -> Attachment:
        least = self._settings.smallest_weight
        own = {n: (r[0], r[1], r[2]) for n, r in _sizeable(self._own, least)}
        values = {n: (r[0], r[1], r[2]) for n, r in _sizeable(self._values, least)}
        return Attachment(own, values, {n: r[0] for n, r in _sizeable(self._relations, least)})

    def _dropped(self, example: AttachedExample) -> AttachedExample:
        draw, rate = self._draw.random, self._settings.dropout
        return AttachedExample(
            [name for name in example.own if draw() >= rate],
            [
                ([n for n in values if draw() >= rate], [n for n in names if draw() >= rate])
                for values, names in example.near
                if draw() >= rate / 2
            ],
            example.label,
        )

    def _learn(self, example: AttachedExample, epoch: float) -> None:
        logits = _sum(self._own, example.own)
        seen = []
        for values, names in example.near:
            rows = self._relations.rows
            weight = 1.0 / (1.0 + exp(-BASE_WEIGHT - sum(rows[name][0] for name in names)))
            value = _sum(self._values, values)
            seen.append((weight, value))
            for k in range(_CLASSES):
                logits[k] += weight * value[k]
        gradient = list(softmax((logits[0], logits[1], logits[2])))
        gradient[example.label] -= 1.0
        if abs(gradient[example.label]) < _SETTLED:
            return
        for name in example.own:
            self._own.update(name, gradient, epoch)
        for (values, names), (weight, value) in zip(example.near, seen, strict=True):
            self._learn_word(values, names, weight, value, gradient, epoch)

    def _learn_word(  # noqa: PLR0913  one word of one example, everything known of it
        self,
        values: list[str],
        names: list[str],
        weight: float,
        value: list[float],
        gradient: list[float],
        epoch: float,
    ) -> None:
        if weight > _FAINT:
            scaled = [weight * slope for slope in gradient]
            for name in values:
                self._values.update(name, scaled, epoch)
        slope = sum(g * v for g, v in zip(gradient, value, strict=True)) * weight * (1.0 - weight)
        if abs(slope) > _FAINT**2:
            for name in names:
                self._relations.update(name, [slope], epoch)


def _prior(name: str) -> list[float]:
    """Lexicon scores start out meaning what they say; everything else starts at nothing."""
    if not name.startswith("O") or not name[1:].lstrip("-").isdigit():
        return [0.0] * _CLASSES
    positive = int(name[1:]) > 0
    return [0.5, -0.3, -0.2] if positive else [-0.3, 0.5, -0.2]


def _frequent(groups: Iterable[list[str]], least: int) -> set[str]:
    counts = Counter(name for names in groups for name in names)
    return {name for name, count in counts.items() if count >= least}


def _sum(rows: SparseRows, names: list[str]) -> list[float]:
    total = [0.0] * _CLASSES
    for name in names:
        for k, weight in enumerate(rows.rows[name]):
            total[k] += weight
    return total


def _sizeable(rows: SparseRows, least: float) -> Iterator[tuple[str, tuple[float, ...]]]:
    for name, row in rows.mean().items():
        if max(map(abs, row)) >= least:
            yield name, row
