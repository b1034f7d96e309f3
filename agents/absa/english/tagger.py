"""Finding aspect terms with the trained chain: every plausible span with its probability."""

from dataclasses import dataclass, field

from parley.agents.absa.english.lattice import Lattice, Pair, Transitions, lattice
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.term_features import (
    OFFSETS,
    Kinds,
    kind_features,
    own_features,
    windows,
)
from parley.agents.absa.english.words import Word

LONGEST_TERM = 8
_CACHED_WORDS = 50_000
_NOTHING: Pair = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class TaggedSpan:
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
    """`_sums` keeps what each known word adds at each distance, `_starts` what five classes do."""

    weights: TaggerWeights
    _sums: dict[str, tuple[Pair, ...]] = field(default_factory=dict)
    _starts: dict[Kinds, Pair] = field(default_factory=dict)

    def chain(self, sentence: Sentence) -> Lattice:
        return lattice(self._emissions(sentence), self.weights.transitions)

    def _emissions(self, sentence: Sentence) -> list[Pair]:
        rows = self.weights.rows
        sums = [self._word_sums(known) for known in sentence.words]
        last = len(sums) - 1
        emissions = []
        for at, (window, names) in enumerate(windows(sentence)):
            begin, inside = self._starts.get(window) or self._start(window)
            for name in names:
                pair = rows.get(name)
                if pair:
                    begin += pair[0]
                    inside += pair[1]
            for place, offset in enumerate(OFFSETS):
                if 0 <= at + offset <= last:
                    pair = sums[at + offset][place]
                    begin += pair[0]
                    inside += pair[1]
            emissions.append((begin, inside))
        return emissions

    def _start(self, window: Kinds) -> Pair:
        begin, inside = self.weights.rows.get("bias", _NOTHING)
        for name in kind_features(window):
            pair = self.weights.rows.get(name, _NOTHING)
            begin, inside = begin + pair[0], inside + pair[1]
        if len(self._starts) >= _CACHED_WORDS:
            self._starts.clear()
        self._starts[window] = (begin, inside)
        return begin, inside

    def _word_sums(self, known: Word) -> tuple[Pair, ...]:
        sums = self._sums.get(known.form)
        if sums is None:
            if len(self._sums) >= _CACHED_WORDS:
                self._sums.clear()
            sums = tuple(self._sum(own_features(known, offset)) for offset in OFFSETS)
            self._sums[known.form] = sums
        return sums

    def _sum(self, names: tuple[str, ...]) -> Pair:
        pairs = [self.weights.rows.get(name, _NOTHING) for name in names]
        return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)


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
