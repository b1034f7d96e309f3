"""Korean morphemes with their places in the text (kiwipiepy, the extra `korean`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Protocol

from parley.agents.absa import lexicon
from parley.bus.extras import extra

_DO_NOT = ("지", "말", "ᆫ")
_NOUNS = frozenset(("NNG", "NNP", "NP", "XSN"))


@dataclass(frozen=True, slots=True)
class Morph:
    """`tag` is Sejong's, without the analyser's marks of irregular stems."""

    form: str
    tag: str
    start: int
    end: int


class _Token(Protocol):
    form: str
    tag: str
    start: int
    len: int


class _Analyser(Protocol):
    def tokenize(self, text: str) -> list[_Token]: ...


def analyse(text: str) -> list[Morph]:
    morphs = [
        _morph(token.form, token.tag.partition("-")[0], token.start, token.start + token.len)
        for token in _analyser().tokenize(text)
    ]
    return list(_mended(morphs))


def _morph(form: str, tag: str, start: int, end: int) -> Morph:
    """A hashtag is the noun behind the sign."""
    if tag == "W_HASHTAG":
        return Morph(form.lstrip("#"), "NNG", start + 1, end)
    return Morph(form, tag, start, end)


def _mended(morphs: list[Morph]) -> Iterator[Morph]:
    """`-지만` (but) is sometimes taken for `-지 만` (do not), `직원분` for a member of staff's share."""
    at = 0
    while at < len(morphs):
        taken = morphs[at : at + 3]
        glued = len(taken) == len(_DO_NOT) and taken[0].end == taken[1].start
        if glued and tuple(morph.form for morph in taken) == _DO_NOT:
            yield Morph("지만", "EC", taken[0].start, taken[2].end)
            at += len(_DO_NOT)
        else:
            yield _honoured(morphs[at], morphs[at - 1] if at else None)
            at += 1


def _honoured(morph: Morph, before: Morph | None) -> Morph:
    person = morph.form in ("분", "님") and morph.tag == "NNB" and before is not None
    if person and before is not None and before.tag in _NOUNS and before.end == morph.start:
        return Morph(morph.form, "XSN", morph.start, morph.end)
    return morph


@cache
def _analyser() -> _Analyser:
    """Half a gigabyte and some seconds: loaded when the first Korean sentence is read."""
    with extra("korean", "reading Korean"):
        analyser = import_module("kiwipiepy").Kiwi(num_workers=1)
    for noun in lexicon.grammar("grammar_ko.json")["user_word"]:
        analyser.add_user_word(noun, "NNG")
    typed: _Analyser = analyser
    return typed
