"""
Morphemes as units of meaning: noun phrases, predicates with everything that hangs on them, adverbs.

A predicate's lemma is its stem with the suffix that makes it one (`친절하`, `만족스럽`); a noun with
the copula counts as a predicate too (`최고이에요` → `최고`).
"""

from dataclasses import dataclass, field
from typing import Literal

from parley.agents.absa.korean.morphology import Morph

UnitKind = Literal["noun", "predicate", "adverb", "bound", "mark", "other"]

_NOUN_TAGS = frozenset(("NNG", "NNP", "SL", "XPN", "XSN", "SH", "NP"))
_HONORIFIC = frozenset(("분", "님", "들"))
_VERBAL_SUFFIXES = frozenset(("XSA", "XSV"))
_STEMS = frozenset(("VV", "VA", "VCN"))
_ENDINGS = frozenset(("EP", "EC", "EF", "ETM", "ETN"))
_PARTICLES = frozenset(("JX", "JKS", "JKO", "JKB", "JKG", "JC", "JKC", "JKQ", "JKV"))
_ADVERBS = frozenset(("MAG", "MAJ", "MM", "IC"))
_MARKS = frozenset(("SF", "SP", "SS", "SE", "SO", "SW", "SSO", "SSC", "W_EMOJI", "Z_CODA"))


@dataclass(slots=True)
class Unit:
    """`particles` follow a noun, `endings` (form, tag) and `helpers` (auxiliaries) a predicate."""

    kind: UnitKind
    lemma: str
    start: int
    end: int
    heads: tuple[str, ...] = ()
    particles: list[tuple[str, str]] = field(default_factory=list)
    endings: list[tuple[str, str]] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    is_adjective: bool = False

    @property
    def last_ending(self) -> tuple[str, str]:
        return self.endings[-1] if self.endings else ("", "")

    @property
    def modifies(self) -> bool:
        """It stands before the noun it describes."""
        return self.last_ending[1] == "ETM"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """
    `nominals`: nouns made of predicates that are things to speak of, as `끈적임`.
    `verdicts`: nouns and adverbs that judge without any verb, as `최고`, `별로`.
    """

    nominals: frozenset[str]
    verdicts: frozenset[str]


def build_units(text: str, morphs: list[Morph], vocabulary: Vocabulary) -> list[Unit]:
    builder = _Builder(text, morphs, vocabulary)
    while builder.at < len(morphs):
        builder.step()
    return builder.units


def heads_of(words: list[str], bare: str) -> tuple[str, ...]:
    """What a phrase may be looked up by, longest first."""
    return tuple(dict.fromkeys(("".join(words), "".join(words[-2:]), words[-1], bare)))


class _Builder:
    def __init__(self, text: str, morphs: list[Morph], vocabulary: Vocabulary) -> None:
        self.at = 0
        self.units: list[Unit] = []
        self._text = text
        self._morphs = morphs
        self._vocabulary = vocabulary

    def step(self) -> None:
        morph = self._morphs[self.at]
        if morph.tag in _NOUN_TAGS or morph.tag == "XR":
            self._noun()
        elif morph.tag in _ENDINGS:
            self._ending(morph)
        elif morph.tag in _PARTICLES:
            self._particle(morph)
        elif morph.tag == "VX" and self._after_predicate():
            self.units[-1].helpers.append(morph.form)
            self._widen(morph)
        elif morph.tag in _STEMS or morph.tag == "VX":
            self._add("predicate", morph.form, morph.start, morph.end)
            self.units[-1].is_adjective = morph.tag == "VA"
        else:
            self._small(morph)
        self.at += 1

    def _small(self, morph: Morph) -> None:
        following = self._morphs[self.at + 1].tag if self.at + 1 < len(self._morphs) else ""
        if morph.tag in _ADVERBS and following in _VERBAL_SUFFIXES:
            suffix = self._morphs[self.at + 1]
            self._add("predicate", morph.form + suffix.form, morph.start, suffix.end)
            self.at += 1
        elif morph.tag in _ADVERBS and following == "VCP":
            self._add("predicate", morph.form, morph.start, self._morphs[self.at + 1].end)
            self.at += 1
        elif morph.tag in _ADVERBS:
            alone = not following or following in _MARKS
            verdict = alone and morph.form in self._vocabulary.verdicts
            self._add("predicate" if verdict else "adverb", morph.form, morph.start, morph.end)
        elif morph.tag in ("NNB", "NR", "SN"):
            self._bound(morph)
        elif morph.tag == "VCP" and self.units and self.units[-1].kind == "bound":
            self.units[-1].helpers.append("이")
            self._widen(morph)
        elif morph.tag in _MARKS:
            self._add("mark", morph.form, morph.start, morph.end)
        else:
            self._add("other", morph.form, morph.start, morph.end)

    def _bound(self, morph: Morph) -> None:
        last = self.units[-1] if self.units else None
        glued = last is not None and last.kind == "noun" and last.end == morph.start
        if glued and last is not None and morph.form in _HONORIFIC:
            last.lemma += morph.form
            last.end = morph.end
            return
        self._add("bound", morph.form, morph.start, morph.end)

    def _noun(self) -> None:
        """A run of nouns; what a verbal suffix or the copula makes of its last word is split off."""
        first = self.at
        while self.at + 1 < len(self._morphs) and self._continues(self._morphs[self.at + 1]):
            self.at += 1
        run = self._morphs[first : self.at + 1]
        following = self._morphs[self.at + 1] if self.at + 1 < len(self._morphs) else None
        if following is not None and following.tag in (*_VERBAL_SUFFIXES, "VCP"):
            if self._named(run, following):
                self._phrase(run)
                self._add("predicate", "이", following.start, following.end)
            else:
                self._predicate_of_noun(run, following)
            self.at += 1
        elif following is None or following.tag not in _PARTICLES:
            self._phrase_with_verdict(run)
        else:
            self._phrase(run)

    def _phrase_with_verdict(self, run: list[Morph]) -> None:
        """`배송 최고`: the last word judges what stands before it."""
        split = self._last_word(run)
        word = self._text[run[split].start : run[-1].end]
        if word not in self._vocabulary.verdicts:
            self._phrase(run)
            return
        if split:
            self._phrase(run[:split])
        self._add("predicate", word, run[split].start, run[-1].end)

    @staticmethod
    def _last_word(run: list[Morph]) -> int:
        split = len(run) - 1
        while split > 0 and run[split - 1].end == run[split].start:
            split -= 1
        return split

    def _continues(self, morph: Morph) -> bool:
        return morph.tag in _NOUN_TAGS or morph.tag == "XR"

    def _predicate_of_noun(self, run: list[Morph], following: Morph) -> None:
        split = self._last_word(run)
        if split:
            self._phrase(run[:split])
        word = run[split:]
        stem = self._text[word[0].start : word[-1].end]
        lemma = stem if following.tag == "VCP" else stem + following.form
        self._add("predicate", lemma, word[0].start, following.end)
        self.units[-1].is_adjective = following.tag == "XSA"

    def _named(self, run: list[Morph], following: Morph) -> bool:
        """`좋은 품질이에요`: what the copula names is a thing unless it is a verdict."""
        word = run[self._last_word(run) :]
        stem = self._text[word[0].start : word[-1].end]
        return following.tag == "VCP" and stem not in self._vocabulary.verdicts

    def _phrase(self, run: list[Morph]) -> None:
        start, end = run[0].start, run[-1].end
        surface = self._text[start:end]
        bare = run[-2].form if run[-1].form in _HONORIFIC and len(run) > 1 else run[-1].form
        self._add("noun", surface, start, end, heads_of(surface.split(), bare))

    def _ending(self, morph: Morph) -> None:
        if self.units and self.units[-1].kind in ("predicate", "bound"):
            self.units[-1].endings.append((morph.form, morph.tag))
            self._widen(morph)

    def _particle(self, morph: Morph) -> None:
        if not self.units:
            return
        last = self.units[-1]
        if morph.tag == "JKG" and last.lemma in self._vocabulary.verdicts:
            self.units[-1] = Unit("predicate", last.lemma, last.start, morph.end)
            self.units[-1].endings.append((morph.form, "ETM"))
            return
        surface = self._text[last.start : last.end]
        if last.last_ending[1] == "ETN" and surface in self._vocabulary.nominals:
            self.units[-1] = last = Unit("noun", surface, last.start, last.end, (surface,))
        last.particles.append((morph.form, morph.tag))

    def _after_predicate(self) -> bool:
        return bool(self.units) and self.units[-1].kind == "predicate"

    def _widen(self, morph: Morph) -> None:
        self.units[-1].end = max(self.units[-1].end, morph.end)

    def _add(
        self, kind: UnitKind, lemma: str, start: int, end: int, heads: tuple[str, ...] = ()
    ) -> None:
        self.units.append(Unit(kind, lemma, start, end, heads))
