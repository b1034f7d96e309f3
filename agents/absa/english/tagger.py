"""Finding aspect terms with the trained chain: every plausible span with its probability."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from parley.agents.absa.english.lattice import Lattice, Pair, Transitions, lattice
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.term_features import (
    OFFSETS,
    Kinds,
    kinds_around,
    kinds_before,
    kinds_behind,
    own_features,
    windows,
)
from parley.agents.absa.english.words import Word

LONGEST_TERM = 8
_CACHED_WORDS = 50_000
_NOTHING: Pair = (0.0, 0.0)
_ThreeKinds = tuple[str, str, str]
_KindFeatures = Callable[[str, str, str], tuple[str, ...]]


class TaggedSpan(NamedTuple):
    """Tokens `first` … `end`-1 and the probability that exactly they are a term."""

    first: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class TaggerWeights:
    rows: dict[str, Pair]
    transitions: Transitions


@dataclass(frozen=True, slots=True)
class Tagger:
    """`_sums` keeps what each known word adds at each distance, the others what three classes do."""

    weights: TaggerWeights
    _sums: dict[str, tuple[Pair, ...]] = field(default_factory=dict)
    _around: dict[_ThreeKinds, Pair] = field(default_factory=dict)
    _before: dict[_ThreeKinds, Pair] = field(default_factory=dict)
    _behind: dict[_ThreeKinds, Pair] = field(default_factory=dict)

    def chain(self, sentence: Sentence) -> Lattice:
        return lattice(self._emissions(sentence), self.weights.transitions)

    def _emissions(self, sentence: Sentence) -> list[Pair]:
        rows = self.weights.rows
        known, edge = self._sums, (_NOTHING,) * len(OFFSETS)
        inner = [known.get(word.form) or self._word_sums(word) for word in sentence.words]
        sums = [edge, edge, *inner, edge, edge]
        emissions = []
        for at, (window, names) in enumerate(windows(sentence)):
            begin, inside = self._of_kinds(window)
            for name in names:
                row = rows.get(name)
                if row:
                    begin += row[0]
                    inside += row[1]
            first, second, third, fourth, fifth = sums[at : at + 5]
            a, b, c, d, e = first[0], second[1], third[2], fourth[3], fifth[4]
            emissions.append(
                (
                    begin + a[0] + b[0] + c[0] + d[0] + e[0],
                    inside + a[1] + b[1] + c[1] + d[1] + e[1],
                )
            )
        return emissions

    def _of_kinds(self, window: Kinds) -> Pair:
        """Of the bias and of the classes around a token."""
        c2, c1, c, n1, n2 = window
        around = self._around.get((c1, c, n1)) or self._kinds(
            self._around, kinds_around, (c1, c, n1)
        )
        before = self._before.get((c2, c1, c)) or self._kinds(
            self._before, kinds_before, (c2, c1, c)
        )
        behind = self._behind.get((c, n1, n2)) or self._kinds(
            self._behind, kinds_behind, (c, n1, n2)
        )
        bias = self.weights.rows.get("bias", _NOTHING)
        return (
            bias[0] + around[0] + before[0] + behind[0],
            bias[1] + around[1] + before[1] + behind[1],
        )

    def _kinds(
        self, known: dict[_ThreeKinds, Pair], features: _KindFeatures, three: _ThreeKinds
    ) -> Pair:
        """There are so few classes that everything may be kept."""
        known[three] = found = self._sum(features(*three))
        return found

    def _word_sums(self, known: Word) -> tuple[Pair, ...]:
        if len(self._sums) >= _CACHED_WORDS:
            self._sums.clear()
        sums = tuple(self._sum(own_features(known, offset)) for offset in OFFSETS)
        self._sums[known.form] = sums
        return sums

    def _sum(self, names: tuple[str, ...]) -> Pair:
        rows, begin, inside = self.weights.rows, 0.0, 0.0
        for name in names:
            pair = rows.get(name)
            if pair:
                begin += pair[0]
                inside += pair[1]
        return begin, inside


def apart(found: list[TaggedSpan]) -> list[TaggedSpan]:
    """Spans that do not overlap, likeliest first chosen, in the order of the text."""
    taken: set[int] = set()
    chosen = []
    for span in sorted(found, key=lambda span: (-span.probability, span.first, span.end)):
        places = range(span.first, span.end)
        if taken.isdisjoint(places):
            taken.update(places)
            chosen.append(span)
    return sorted(chosen, key=lambda span: span.first)


def likely_spans(chain: Lattice, least: float) -> list[TaggedSpan]:
    """Every span that is at least this likely; they may overlap."""
    found = []
    length = len(chain.scale)
    for first in range(length):
        if chain.begin_probability(first) < least:
            continue
        for end in range(first + 1, min(length, first + LONGEST_TERM) + 1):
            probability = chain.span_probability(first, end)
            if probability >= least:
                found.append(TaggedSpan(first, end, probability))
            if end < length and chain.inside_probability(end) < least:
                break
    return found
