"""Korean morphemes with their places in the text (kiwipiepy, the extra `korean`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from parley.agents.absa import lexicon
from parley.bus.errors import ParleyError


class KoreanSupportMissing(ParleyError):
    """The morphological analyser is not installed; whoever deploys this persona has to add it."""


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
    """`-지만` (but) is sometimes taken for `-지 만` (do not)."""
    at = 0
    while at < len(morphs):
        one, two, three = morphs[at], *[*morphs[at + 1 : at + 3], None, None][:2]
        if (
            two is not None
            and three is not None
            and (one.form, two.form, three.form) == ("지", "말", "ᆫ")
            and one.end == two.start
        ):
            yield Morph("지만", "EC", one.start, three.end)
            at += 3
            continue
        yield one
        at += 1


@cache
def _analyser() -> _Analyser:
    try:
        from kiwipiepy import Kiwi  # type: ignore[import-untyped]  # noqa: PLC0415  half a gigabyte, only where Korean is read
    except ImportError as error:
        raise KoreanSupportMissing(
            "Korean needs a morphological analyser: install parley-debate[korean]"
        ) from error
    analyser = Kiwi(num_workers=1)
    for noun in lexicon.grammar("grammar_ko.json")["user_word"]:
        analyser.add_user_word(noun, "NNG")
    typed: _Analyser = analyser
    return typed
