"""What is known of an English word on its own: its class, its lemma, its domain, its polarity."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from parley.agents.absa import lexicon

_CACHED_WORDS = 50_000
_SHORTEST_PLURAL = 4

_TOKEN = re.compile(
    r"[A-Za-z]+(?=n['\u2019]t\b)|n['\u2019]t\b|['\u2019](?:s|re|ve|ll|d|m)\b"
    r"|\d+(?:[.,:]\d+)*|[^\W\d_]+|[^\w\s]|[\d_]",
    re.IGNORECASE,
)

# Closed classes first: a word keeps the first class that claims it.
_CLOSED = (
    ("NEG", "negation"),
    ("NUM", "number"),
    ("BE", "be"),
    ("AUX", "auxiliary"),
    ("DET", "determiner"),
    ("CTR", "contrast"),
    ("AND", "conjunction"),
    ("PRE", "preposition"),
    ("PRO", "pronoun"),
    ("SUB", "subordinator"),
    ("INT", "intensifier"),
)
_OPINION_KINDS = {"adjective": "ADJo", "verb": "VRBo", "noun": "NOUo", "adverb": "ADVo"}
_ADJECTIVE_ENDING = re.compile(r"(?:ous|ful|able|ible|ive|less|ish|ic|al|ant|ent)$")
_NOUN_ENDING = re.compile(r"(?:tion|ness|ment|ity|ance|ence|er|or)$")
_PLAIN_PUNCTUATION = frozenset(",.!?;:-()\"'")


class Token(NamedTuple):
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """`score` is the lexicon's polarity (-3 … 3); `domain` the gazetteer that lists it, or empty."""

    form: str
    lemma: str
    kind: str
    domain: str
    score: int
    part: str


@dataclass(frozen=True, slots=True)
class _Tables:
    kinds: dict[str, str]
    scores: dict[str, tuple[int, str]]
    domains: dict[str, str]


def tokenise(text: str) -> list[Token]:
    return [Token(m.start(), m.end(), m.group()) for m in _TOKEN.finditer(text)]


def normalise(token: str) -> str:
    return token.lower().replace("\u2019", "'")


@lru_cache(maxsize=_CACHED_WORDS)
def word(form: str) -> Word:
    tables = _tables()
    lemma = singular(form)
    score, part = tables.scores.get(form, (0, ""))
    if part == "noun" and form in tables.domains:
        score, part = 0, ""
    domain = tables.domains.get(form) or tables.domains.get(lemma, "")
    return Word(form, lemma, _kind(form, lemma, domain), domain, score, part)


def singular(form: str) -> str:
    if form.endswith("ies") and len(form) >= _SHORTEST_PLURAL + 1:
        return form[:-3] + "y"
    if form.endswith("es") and form[-3:-2] in "sxzh":
        return form[:-2]
    if form.endswith("s") and not form.endswith("ss") and len(form) >= _SHORTEST_PLURAL:
        return form[:-1]
    return form


def _kind(form: str, lemma: str, domain: str) -> str:
    known = _tables().kinds.get(form)
    if known:
        return known
    if domain:
        return "N"
    return _tables().kinds.get(lemma) or _guess(form)


def _guess(form: str) -> str:
    if not form[0].isalnum():
        return form if form in _PLAIN_PUNCTUATION else "PUN"
    if form[0].isdigit():
        return "NUM"
    for ending, kind in (("ly", "ADVu"), ("ing", "INGu"), ("ed", "EDu")):
        if form.endswith(ending):
            return kind
    if _ADJECTIVE_ENDING.search(form):
        return "ADJu"
    return "NOUu" if _NOUN_ENDING.search(form) else "UNK"


@cache
def _tables() -> _Tables:
    grammar, opinions = lexicon.grammar("grammar_en.json"), lexicon.opinions("opinions_en.json")
    public = lexicon.opinions("public_en.json")
    domains = {
        form: group.removeprefix("aspect.")
        for group, forms in reversed(list(grammar.items()))
        if group.startswith("aspect.")
        for form in forms
    }
    scores = _scores(opinions)
    for part, by_strength in public.items():
        for strength, forms in by_strength.items():
            for form in forms:
                scores.setdefault(form, (strength, part))
    kinds: dict[str, str] = {}
    for form, kind in _claims(grammar, scores, domains):
        kinds.setdefault(form, kind)
    return _Tables(kinds, scores, domains)


def _claims(
    grammar: dict[str, tuple[str, ...]],
    scores: dict[str, tuple[int, str]],
    domains: dict[str, str],
) -> Iterator[tuple[str, str]]:
    for kind, group in _CLOSED:
        yield from ((form, kind) for form in grammar[group])
    for form, (_, part) in scores.items():
        if part != "noun" or form not in domains:
            yield form, _OPINION_KINDS[part]
    yield from ((form, "VRB") for form in verb_forms(grammar["verb"]) if form not in domains)
    for kind, group in (("VRB", "irregular"), ("ADJ", "adjective"), ("NST", "stop_noun")):
        yield from ((form, kind) for form in grammar[group])


def _scores(
    opinions: dict[str, dict[int, tuple[str, ...]]],
) -> dict[str, tuple[int, str]]:
    scores: dict[str, tuple[int, str]] = {}
    for part in _OPINION_KINDS:
        for strength, forms in opinions[part].items():
            for form in forms:
                scores.setdefault(form, (strength, part))
    for strength, verbs in opinions["verb"].items():
        for form in verb_forms(verbs):
            scores.setdefault(form, (strength, "verb"))
    return scores


def verb_forms(verbs: tuple[str, ...]) -> Iterator[str]:
    for verb in verbs:
        yield from (verb, verb + "s", verb + "es")
        if verb.endswith("e"):
            yield from (verb + "d", verb[:-1] + "ing")
        elif verb.endswith("y"):
            yield from (verb[:-1] + "ies", verb[:-1] + "ied", verb + "ed", verb + "ing")
        else:
            yield from (verb + "ed", verb + "ing", verb + verb[-1] + "ed", verb + verb[-1] + "ing")
