"""Fitting the term tagger: a linear chain by gradient descent on the likelihood."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import sqrt

from parley.agents.absa.english.lattice import Lattice, Pair, Transitions, lattice
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.tagger import TaggerWeights
from parley.agents.absa.english.term_features import (
    OFFSETS,
    is_lexical,
    joint_features,
    own_features,
)
from parley.agents.absa.training.corpora import GoldTerm
from parley.agents.absa.training.sparse import SparseRows

OUTSIDE, BEGIN, INSIDE = 0, 1, 2
_SETTLED = 0.005


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """`mask` is how often a token hides the word itself, so that contexts learn to stand alone."""

    epochs: int = 8
    average_from: int = 3
    rate: float = 0.15
    penalty: float = 1.0
    mask: float = 0.3
    least_count: int = 2
    smallest_weight: float = 0.02
    seed: int = 1


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    features: list[list[str]]
    tags: list[int]


def tagged(sentence: Sentence, terms: Sequence[GoldTerm]) -> TaggedSentence:
    words = sentence.words
    features = []
    for index, joint in enumerate(joint_features(sentence)):
        row = ["bias", *joint]
        for offset in OFFSETS:
            if 0 <= index + offset < len(words):
                row.extend(own_features(words[index + offset], offset))
        features.append(row)
    return TaggedSentence(features, _tags(sentence, terms))


def _tags(sentence: Sentence, terms: Sequence[GoldTerm]) -> list[int]:
    tags = [OUTSIDE] * len(sentence.tokens)
    for term in terms:
        tag = BEGIN
        for index, token in enumerate(sentence.tokens):
            if token.start < term.end and token.end > term.start:
                tags[index], tag = tag, INSIDE
    return tags


def fit_tagger(examples: Sequence[TaggedSentence], settings: ChainSettings) -> TaggerWeights:
    counts = Counter(name for example in examples for row in example.features for name in row)
    kept = {name for name, count in counts.items() if count >= settings.least_count}
    draw = random.Random(settings.seed)
    rows = SparseRows(kept, 2, settings.rate, settings.penalty)
    trainer = _ChainTrainer(rows, settings, draw)
    known = [
        TaggedSentence([[n for n in row if n in kept] for row in example.features], example.tags)
        for example in examples
    ]
    for epoch in range(settings.epochs):
        trainer.run_epoch(known, epoch)
    return trainer.weights()


class _ChainTrainer:
    def __init__(self, rows: SparseRows, settings: ChainSettings, draw: random.Random) -> None:
        self._rows = rows
        self._settings = settings
        self._draw = draw
        self._pairs = [0.0] * 5
        self._squares = [1.0] * 5
        self._pair_sums = [0.0] * 5

    def run_epoch(self, examples: list[TaggedSentence], epoch: int) -> None:
        order = list(range(len(examples)))
        self._draw.shuffle(order)
        for place, index in enumerate(order):
            self._learn(examples[index], epoch + place / len(order))
        if epoch >= self._settings.average_from:
            self._rows.snapshot()
            self._pair_sums = [a + b for a, b in zip(self._pair_sums, self._pairs, strict=True)]

    def weights(self) -> TaggerWeights:
        snapshots = self._settings.epochs - self._settings.average_from
        pairs = [total / snapshots for total in self._pair_sums]
        rows = {
            name: (row[0], row[1])
            for name, row in self._rows.mean().items()
            if max(map(abs, row)) >= self._settings.smallest_weight
        }
        return TaggerWeights(rows, Transitions(*pairs))

    def _learn(self, example: TaggedSentence, epoch: float) -> None:
        features = [self._masked(row) for row in example.features]
        if not features:
            return
        chain = lattice([self._emission(row) for row in features], Transitions(*self._pairs))
        self._learn_pairs(chain, example.tags)
        for at, row in enumerate(features):
            begin, inside = chain.begin_probability(at), chain.inside_probability(at)
            tag = example.tags[at]
            gradient = [begin - (tag == BEGIN), inside - (tag == INSIDE)]
            if max(abs(gradient[0]), abs(gradient[1])) < _SETTLED:
                continue
            for name in row:
                self._rows.update(name, gradient, epoch)

    def _masked(self, row: list[str]) -> list[str]:
        if self._draw.random() >= self._settings.mask:
            return row
        return [name for name in row if not is_lexical(name)]

    def _emission(self, row: list[str]) -> Pair:
        begin = inside = 0.0
        rows = self._rows.rows
        for name in row:
            weights = rows[name]
            begin += weights[0]
            inside += weights[1]
        return begin, inside

    def _learn_pairs(self, chain: Lattice, tags: list[int]) -> None:
        gradient = _expected_pairs(chain)
        for before, after in zip([OUTSIDE, *tags], tags, strict=False):
            index = _PAIR_INDEX.get((before, after))
            if index is not None:
                gradient[index] -= 1.0
        for index, slope in enumerate(gradient):
            self._squares[index] += slope * slope
            self._pairs[index] -= self._settings.rate * slope / sqrt(self._squares[index])


_PAIR_INDEX = {
    (OUTSIDE, BEGIN): 0,
    (BEGIN, BEGIN): 1,
    (BEGIN, INSIDE): 2,
    (INSIDE, BEGIN): 3,
    (INSIDE, INSIDE): 4,
}
assert len(_PAIR_INDEX) == len(fields(Transitions))


def _expected_pairs(chain: Lattice) -> list[float]:
    """How often each pair of tags is expected, under the present weights."""
    expected = [0.0] * 5
    before = (1.0, 0.0, 0.0)
    for at, total in enumerate(chain.scale):
        for (left, right), index in _PAIR_INDEX.items():
            emit = chain.begin[at] if right == BEGIN else chain.inside[at]
            expected[index] += (
                before[left] * chain.weights[index] * emit * chain.backward[at][right] / total
            )
        before = chain.forward[at]
    return expected
