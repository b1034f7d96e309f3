"""An English sentence taken apart: words, clauses, opinions."""

from dataclasses import dataclass
from functools import cache

from parley.agents.absa import lexicon
from parley.agents.absa.english.opinions import BREAKS, Opinion, find_opinions, negation_scope
from parley.agents.absa.english.words import Token, Word, normalise, tokenise, word

_DASHES = ("-", "\u2013", "\u2014", "\u2026")
_SOFT_BREAKS = frozenset(
    (",", "(", ")", *_DASHES, "when", "which", "who", "where", "if", "after", "before")
)
_SENSES = frozenset(("smell", "taste", "look", "looks", "feel", "sound", "wait", "waits"))
_NOUN_OPENERS = frozenset(("DET", "ADJ", "ADJo", "ADJu"))
_JOINTS = frozenset(("and", "so", "or"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """
    Parallel lists by token. `scores` holds each opinion at its last token, 0 elsewhere; `eats_out`
    tells restaurants, of which some data annotates every dish, from everything else.
    """

    text: str
    tokens: list[Token]
    words: list[Word]
    forms: list[str]
    kinds: list[str]
    clauses: list[int]
    scores: list[int]
    negated: list[bool]
    opinions: list[Opinion]
    eats_out: bool

    @property
    def is_elsewhere(self) -> bool:
        """What is eaten or drunk is not all that it speaks of: `dog food`, `a tank of water`."""
        return not _words_of("elsewhere").isdisjoint(self.forms)

    def quote(self, first: int, last: int) -> str:
        return self.text[self.tokens[first].start : self.tokens[last].end]


def parse(text: str) -> Sentence:
    tokens = tokenise(text)
    words = [word(normalise(token.text)) for token in tokens]
    forms = [known.form for known in words]
    kinds = [known.kind for known in words]
    _mark_nouns(forms, kinds)
    _mark_compounds(forms, kinds)
    opinions = find_opinions(words, forms, kinds)
    scores = [0] * len(forms)
    for opinion in opinions:
        scores[opinion.last] = opinion.score
    return Sentence(
        text,
        tokens,
        words,
        forms,
        kinds,
        _clauses(tokens, forms, kinds),
        scores,
        negation_scope(forms, kinds),
        opinions,
        any(known.domain == "food" for known in words)
        or not _words_of("restaurant").isdisjoint(forms),
    )


def _mark_nouns(forms: list[str], kinds: list[str]) -> None:
    """`the taste`, `a strange smell`: behind an article or adjective these are no verbs."""
    for at in range(1, len(forms)):
        joined = kinds[at - 1] == "AND" and at > 1 and kinds[at - 2] == "N"
        if forms[at] in _SENSES and (joined or kinds[at - 1] in _NOUN_OPENERS):
            kinds[at] = "N"


def _mark_compounds(forms: list[str], kinds: list[str]) -> None:
    """Every word of a fixed compound is a noun, whatever it is alone: `hard drive`."""
    compounds = _compounds()
    for at, form in enumerate(forms):
        for compound in compounds.get(form, ()):
            if tuple(forms[at : at + len(compound)]) == compound:
                kinds[at : at + len(compound)] = ["N"] * len(compound)
                break


@cache
def _words_of(group: str) -> frozenset[str]:
    return frozenset(lexicon.grammar("grammar_en.json")[group])


@cache
def _compounds() -> dict[str, list[tuple[str, ...]]]:
    table: dict[str, list[tuple[str, ...]]] = {}
    for entry in lexicon.grammar("grammar_en.json")["compound"]:
        for spelt in (entry, entry.replace(" ", " - ")):
            compound = tuple(spelt.split())
            table.setdefault(compound[0], []).append(compound)
    for compounds in table.values():
        compounds.sort(key=len, reverse=True)
    return table


def _clauses(tokens: list[Token], forms: list[str], kinds: list[str]) -> list[int]:
    ids, current = [], 0
    for index, form in enumerate(forms):
        if form in BREAKS or form in _SOFT_BREAKS:
            current += form != "-" or not _is_hyphen(tokens, index)
        elif form in _JOINTS:
            current += _opens_clause(kinds, index)
        elif form == "as":
            current += kinds[index + 1 : index + 2] in (["DET"], ["PRO"])
        ids.append(current)
    return ids


def _is_hyphen(tokens: list[Token], index: int) -> bool:
    """Inside a word, as in `sugar-free`, rather than between clauses."""
    if not 0 < index < len(tokens) - 1:
        return False
    glued = tokens[index - 1].end == tokens[index].start
    return glued and tokens[index].end == tokens[index + 1].start


def _opens_clause(kinds: list[str], index: int) -> bool:
    """`and` joins clauses, not phrases, when a new subject and its verb follow."""
    if index + 2 >= len(kinds) or kinds[index + 1] not in ("DET", "PRO", "N"):
        return False
    window = kinds[index + 2 : index + 6]
    return any(kind in ("BE", "AUX", "VRB", "VRBo") for kind in window)
