"""
What the term tagger looks at, as strings.

A word's own features at a distance (-2 … 2) never change, nor do those of three classes in a row, so
inference adds them up once and keeps the sums. The rest join neighbouring words. Gazetteer nouns of every domain share
the class `N`, which is what lets a tagger trained on restaurants read about laptops.
"""

from collections.abc import Iterator

from parley.agents.absa.english.sentence import Sentence
from parley.agents.absa.english.words import Word

OFFSETS = (-2, -1, 0, 1, 2)
EDGE = "#"
_FAR = 4

Kinds = tuple[str, str, str, str, str]


def own_features(known: Word, offset: int) -> tuple[str, ...]:
    """Of the word standing `offset` words after the token that is being tagged."""
    if offset:
        return (f"w{offset}={known.form}", f"c{offset}={known.kind}")
    form = known.form
    return (
        f"c0={known.kind}",
        f"w0={form}",
        f"l0={known.lemma}",
        f"x0={form[-3:]}",
        f"y0={form[-2:]}",
        f"p0={form[:3]}",
        f"d0={known.domain}",
    )


def is_lexical(feature: str) -> bool:
    """Whether it depends on the very word at the token, not on its class or its surroundings."""
    return feature[0] in "wlxypd" and feature[1:3] == "0="


def kinds_around(c1: str, c: str, n1: str) -> tuple[str, ...]:
    """Of the classes before, at and behind the token that is being tagged."""
    return f"A{c1}|{c}", f"B{c}|{n1}", f"C{c1}|{c}|{n1}"


def kinds_before(c2: str, c1: str, c: str) -> tuple[str, ...]:
    return (f"D{c2}|{c1}|{c}",)


def kinds_behind(c: str, n1: str, n2: str) -> tuple[str, ...]:
    return (f"E{c}|{n1}|{n2}",)


def windows(sentence: Sentence) -> Iterator[tuple[Kinds, tuple[str, ...]]]:
    """For each token the classes around it, and its features that name words."""
    forms = [EDGE, EDGE, *sentence.forms, EDGE, EDGE]
    kinds = [EDGE, EDGE, *sentence.kinds, EDGE, EDGE]
    near = _opinion_distances(sentence)
    seen: set[str] = set()
    for index, token in enumerate(sentence.tokens):
        at = index + 2
        c2, c1, c, n1, n2 = kinds[at - 2 : at + 3]
        w1, w, m1 = forms[at - 1 : at + 2]
        lemma = sentence.words[index].lemma
        yield (
            (c2, c1, c, n1, n2),
            (
                f"F{w1}|{w}",
                f"G{w}|{m1}",
                f"H{w}|{n1}",
                f"I{c1}|{w}",
                f"J{w1}|{c}",
                f"K{_shape(token.text)}|{c}",
                f"L{near[index]}|{c}",
                f"M{lemma in seen}|{c}",
                f"N{sentence.eats_out}|{c}",
                f"O{sentence.eats_out}|{w}",
                f"P{sentence.eats_out}|{c1}|{c}",
            ),
        )
        seen.add(lemma)


def joint_features(sentence: Sentence) -> Iterator[tuple[str, ...]]:
    for window, names in windows(sentence):
        yield (
            *kinds_around(*window[1:4]),
            *kinds_before(*window[:3]),
            *kinds_behind(*window[2:]),
            *names,
        )


def _shape(text: str) -> str:
    if text.islower():
        return "x"
    if text.isupper():
        return "XX"
    return "Xx" if text[0].isupper() else "-"


def _opinion_distances(sentence: Sentence) -> list[str]:
    """How far the nearest opinion of the clause stands, to the left and to the right."""
    left = _distances(sentence.scores, sentence.clauses)
    right = _distances(sentence.scores[::-1], sentence.clauses[::-1])[::-1]
    return [f"{before}{after}" for before, after in zip(left, right, strict=True)]


def _distances(scores: list[int], clauses: list[int]) -> list[str]:
    distances, last, clause = [], None, -1
    for index, score in enumerate(scores):
        if clauses[index] != clause:
            last, clause = None, clauses[index]
        distances.append("-" if last is None else str(min(index - last, _FAR)))
        if score:
            last = index
    return distances
