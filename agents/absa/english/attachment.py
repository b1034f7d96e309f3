"""
The second look at polarity: which words of the sentence speak of this aspect, and what they say.

Each word near the aspect gets a weight between 0 and 1 from how it stands to the aspect (side,
distance, clause, what lies between), and a value for each polarity from what it says (the word,
whether it is negated, its lexicon score). The aspect's polarity is the weighted sum, so every
decision can name the words it rests on. The linear model sees words in places; this one keeps the
two apart and therefore errs on other sentences.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

from parley.agents.absa.english.context import context_scores
from parley.agents.absa.english.maxent import Triple
from parley.agents.absa.english.polarity_features import TokenSpan
from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.words import Word

REACH = 16
# What a word weighs before anything is known of its place.
BASE_WEIGHT = -1.0
_SIGNATURE = 3
_NOTHING_SAID = 0.01
# Keeps exp() finite.
_STEEPEST = 50.0
_ZERO: Triple = (0.0, 0.0, 0.0)
# Distances are told apart the less, the longer they are.
_BUCKETS = ("0", "1", "2", "3", "4", "5", "5", "7", "7", "7", *("10",) * REACH)
_VERBAL = frozenset(("VRB", "VRBo", "AUX"))
_CACHED_PARTS = 50_000
# What lies between a word and the aspect is counted no further.
MANY_ASPECTS = 2

# A few traits of how a word stands to an aspect; the first says which: place, clause, path, head.
Part = tuple[str | int, ...]
Parts = tuple[Part, Part, Part, Part]


class Said(NamedTuple):
    """A token with its weight for the aspect and what it adds to each polarity."""

    at: int
    weight: float
    value: Triple

    @property
    def pull(self) -> float:
        """Towards positive (above 0) or negative."""
        return self.weight * (self.value[0] - self.value[1])


@dataclass(frozen=True, slots=True)
class Attachment:
    """
    Weights by feature: of the aspect itself, of values, of relations.

    `_parts` keeps what the parts of a relation weigh, whatever the word.
    """

    own: dict[str, Triple]
    values: dict[str, Triple]
    relations: dict[str, float]
    _parts: dict[Part, float] = field(default_factory=dict)

    def word_values(self, sentence: Sentence) -> "WordValues":
        values = [
            _total(self.values, value_names(sentence, at)) for at in range(len(sentence.forms))
        ]
        return WordValues(values, [max(map(abs, value)) >= _NOTHING_SAID for value in values])

    def read(
        self, view: "AspectView", known: Iterable[str], words: "WordValues"
    ) -> tuple[Triple, list[Said]]:
        """`known`: further features of the aspect (what the rules found, its rank)."""
        sentence, aspect = view.sentence, view.aspect
        positive, negative, neutral = _total(self.own, own_names(sentence, aspect, known))
        head = sentence.words[aspect[1] - 1]
        relations, said = self.relations, []
        in_context = context_scores(head.lemma, head.form)
        parts = self._parts
        for at, (a, b, c, d), names in _relations(view, words.telling):
            try:
                logit = BASE_WEIGHT + parts[a] + parts[b] + parts[c] + parts[d]
            except KeyError:
                w, x, y, z = map(self._part, (a, b, c, d))
                logit = BASE_WEIGHT + w + x + y + z
            for name in names:
                logit += relations.get(name, 0.0)
            weight = 1.0 / (1.0 + exp(min(_STEEPEST, -logit)))
            value = words.values[at]
            if in_context and (extra := context_name(sentence, at, head)):
                more = self.values.get(extra, _ZERO)
                value = (value[0] + more[0], value[1] + more[1], value[2] + more[2])
            positive += weight * value[0]
            negative += weight * value[1]
            neutral += weight * value[2]
            said.append(Said(at, weight, value))
        return (positive, negative, neutral), said

    def _part(self, part: Part) -> float:
        weight = self._parts.get(part)
        if weight is None:
            if len(self._parts) >= _CACHED_PARTS:
                self._parts.clear()
            first, second = part_names(part)
            weight = self.relations.get(first, 0.0) + self.relations.get(second, 0.0)
            self._parts[part] = weight
        return weight


class WordValues(NamedTuple):
    """What each word says whatever it is said of; `telling` marks those that say anything."""

    values: list[Triple]
    telling: list[bool]


@dataclass(frozen=True, slots=True)
class AspectView:
    """An aspect in its sentence; `mask` marks the words of all aspects."""

    sentence: Sentence
    aspect: TokenSpan
    mask: list[bool]


def _total(rows: dict[str, Triple], names: Iterable[str]) -> Triple:
    positive = negative = neutral = 0.0
    for name in names:
        row = rows.get(name)
        if row:
            positive += row[0]
            negative += row[1]
            neutral += row[2]
    return positive, negative, neutral


def rank_name(aspect: TokenSpan, aspects: Sequence[TokenSpan]) -> str:
    """How many aspects there are, and which of them this is."""
    return f"rank={min(5, len(aspects))}{min(4, aspects.index(aspect))}"


def own_names(sentence: Sentence, aspect: TokenSpan, known: Iterable[str]) -> Iterator[str]:
    yield from known
    first, end = aspect
    forms = ["_", "_", *sentence.forms, "_", "_"]
    kinds = ["_", "_", *sentence.kinds, "_", "_"]
    head = sentence.words[end - 1]
    w2, w1 = forms[first : first + 2]
    k2, k1 = kinds[first : first + 2]
    x1, x2 = forms[end + 2 : end + 4]
    c1, c2 = kinds[end + 2 : end + 4]
    yield from (
        "bias",
        f"out={sentence.eats_out}",
        f"h={head.lemma}",
        f"hw={head.form}",
        f"d={head.domain or head.kind}",
        f"t={' '.join(sentence.forms[first:end])}",
        f"L1={w1}",
        f"L2={w2} {w1}",
        f"R1={x1}",
        f"R2={x1} {x2}",
        f"cL={k2}{k1}",
        f"cR={c1}{c2}",
        f"cLR={k1}_{c1}",
    )


def value_names(sentence: Sentence, at: int) -> list[str]:
    known = sentence.words[at]
    form = known.form
    mark = "!" if sentence.negated[at] else ""
    names = [f"{mark}{form}", f"l{mark}{known.lemma}"]
    if at + 1 < len(sentence.forms):
        names.append(f"{form} {sentence.forms[at + 1]}")
    if at:
        names.append(f"<{sentence.forms[at - 1]} {form}")
    score = sentence.scores[at]
    if score:
        names += (f"O{score}", "O+" if score > 0 else "O-")
    names.append(f"c{mark}{known.kind}")
    return names


def context_name(sentence: Sentence, at: int, head: Word) -> str:
    """What the word says of this very noun; empty when nothing in particular."""
    meant = context_scores(head.lemma, head.form).get(sentence.forms[at])
    if not meant:
        return ""
    return "X+" if (meant > 0) != sentence.negated[at] else "X-"


def part_names(part: Part) -> tuple[str, str]:
    match part:
        case ("place", side, bucket, opinion, kind):
            return f"{side}{bucket}{opinion}", f"{side}{kind}{bucket}"
        case ("clause", side, borders, near, aspects, opinion, kind):
            return f"{side}c{borders}a{aspects}{opinion}", f"{side}C{kind}a{aspects}c{near}"
        case ("path", side, links, verbs, commas, opinion, aspects):
            return (
                f"{side}v{links}{verbs}{opinion}a{aspects}",
                f"{side}m{commas}{opinion}a{aspects}",
            )
        case (_, side, preposition, domain, opinion, near):
            return f"{side}p{preposition}{opinion}", f"{side}H{domain}{opinion}c{near}"
        case _:
            raise ValueError(part)


# A word's place, its relation to the aspect, and features of the very word.
_Related = tuple[int, Parts, tuple[str, ...]]


def relation_names(view: AspectView, wanted: list[bool]) -> Iterator[tuple[int, list[str]]]:
    """Every wanted word within reach that belongs to no aspect, with how it stands to this one."""
    for at, parts, names in _relations(view, wanted):
        (bucket, kind), (clause, zone), (path, commas), (before, head) = map(part_names, parts)
        # Training drops names by chance, one after the other: their order belongs to its recipe.
        yield at, [bucket, clause, zone, kind, path, before, commas, head, *names]


def _relations(view: AspectView, wanted: list[bool]) -> Iterator[_Related]:
    first, end = view.aspect
    length = len(view.mask)
    yield from _walk(view, wanted, range(end, min(length, end + REACH)), end - 1)
    yield from _walk(view, wanted, range(first - 1, max(-1, first - REACH), -1), first)


def _walk(view: AspectView, wanted: list[bool], places: range, anchor: int) -> Iterator[_Related]:
    sentence, mask = view.sentence, view.mask
    side = "R" if places.step > 0 else "L"
    domain = sentence.words[anchor].domain
    kinds, forms, scores, clauses = (
        sentence.kinds,
        sentence.forms,
        sentence.scores,
        sentence.clauses,
    )
    own, signature, previous = clauses[anchor], "", True
    aspects = links = verbs = commas = 0
    preposition = "-"
    for at in places:
        if mask[at]:
            if not previous and aspects < MANY_ASPECTS:
                aspects += 1
            previous = True
            signature += "A_"
            continue
        previous = False
        kind, form = kinds[at], forms[at]
        if wanted[at]:
            distance = abs(at - anchor)
            opinion = "o" if scores[at] else "n"
            borders = min(3, abs(clauses[at] - own))
            near = min(2, borders)
            parts = (
                ("place", side, _BUCKETS[distance], opinion, kind),
                ("clause", side, borders, near, aspects, opinion, kind),
                ("path", side, links, verbs, commas, opinion, aspects),
                ("head", side, preposition, domain, opinion, near),
            )
            word = f"w{side}{form}"
            is_near = distance <= _SIGNATURE + 1
            yield at, parts, (word, f"{side}S{signature}|{kind}") if is_near else (word,)
        if kind == "BE":
            links = min(2, links + 1)
        elif kind in _VERBAL:
            verbs = min(2, verbs + 1)
        elif kind == "PRE":
            preposition = form
        elif form in ",;-.":
            commas = min(3, commas + 1)
        signature += f"{kind}_"
