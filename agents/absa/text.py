"""
Cutting text: which language a stretch is written in, where its sentences end.

Everything below keeps character offsets of the original text, so that every term and every piece of
evidence is an exact substring of what the user wrote.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Language = Literal["ko", "en"]

# Beyond this many characters a review is not read: it bounds the time of one analysis.
MAX_CHARACTERS = 20_000
# A sentence without any full stop is cut here, at a space if there is one.
MAX_SENTENCE = 600
# A stretch is Korean when at least this share of its letters is Hangul: Korean reviews mix in
# foreign product names far more often than the other way round.
HANGUL_SHARE = 0.3

_HANGUL = re.compile(r"[\uac00-\ud7a3\u1100-\u11ff\u3130-\u318f]")
_LETTER = re.compile(r"[^\W\d_]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = frozenset(map(chr, range(0xC0, 0x250)))
# The words that tell languages apart: as many as a sentence is likely to hold two of.
_ENOUGH_WORDS = 2
_ENGLISH = frozenset(
    [
        "the",
        "and",
        "is",
        "was",
        "were",
        "are",
        "but",
        "not",
        "very",
        "with",
        "a",
        "an",
        "of",
        "to",
        "in",
        "it",
        "i",
        "for",
        "this",
        "that",
        "had",
        "have",
        "my",
    ]
)
_FUNCTION_WORDS = {
    "German": frozenset(
        [
            "der",
            "das",
            "und",
            "ist",
            "nicht",
            "aber",
            "sehr",
            "war",
            "waren",
            "mit",
            "ein",
            "eine",
            "ich",
            "auch",
            "den",
            "dem",
            "zu",
            "wir",
            "es",
        ]
    ),
    "French": frozenset(
        [
            "le",
            "les",
            "et",
            "est",
            "pas",
            "mais",
            "très",
            "avec",
            "une",
            "des",
            "je",
            "nous",
            "que",
            "était",
            "du",
            "était",
            "un",
        ]
    ),
    "Spanish": frozenset(
        [
            "el",
            "los",
            "las",
            "y",
            "es",
            "pero",
            "muy",
            "con",
            "una",
            "que",
            "por",
            "fue",
            "estaba",
            "del",
            "un",
        ]
    ),
    "Italian": frozenset(
        [
            "il",
            "gli",
            "e",
            "è",
            "non",
            "ma",
            "molto",
            "con",
            "una",
            "che",
            "per",
            "era",
            "di",
            "un",
            "del",
        ]
    ),
    "Dutch": frozenset(
        ["de", "het", "een", "en", "niet", "maar", "zeer", "met", "ik", "was", "van", "dat", "zijn"]
    ),
}
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)\]]*\s+|\n+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A sentence: `start` is its place in the whole text."""

    start: int
    text: str
    language: Language


def readable(text: str) -> str:
    """Lone surrogates cannot be encoded; the replacement keeps every offset."""
    return _SURROGATE.sub("\ufffd", text)


def detect_language(text: str) -> Language:
    letters = len(_LETTER.findall(text))
    if not letters:
        return "en"
    return "ko" if len(_HANGUL.findall(text)) >= HANGUL_SHARE * letters else "en"


def foreign_language(text: str) -> str | None:
    """A language that the rules do not read, where the text looks like one; None otherwise."""
    letters = _LETTER.findall(text)
    if len(_HANGUL.findall(text)) >= HANGUL_SHARE * len(letters):
        return None
    if sum(one.isascii() or one in _LATIN for one in letters) < len(letters) / 2:
        return "a language in another script"
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH for word in words)
    counts = {name: sum(word in known for word in words) for name, known in _FUNCTION_WORDS.items()}
    name, most = max(counts.items(), key=lambda one: one[1])
    return name if most >= _ENOUGH_WORDS and most > 2 * english else None


def resolve_language(code: str, text: str) -> Language:
    """The language asked for, unless its script does not occur in the text or it is unknown."""
    code = re.split(r"[-_]", code.strip().lower())[0]
    if code == "ko" and _HANGUL.search(text):
        return "ko"
    if code == "en" and not _HANGUL.search(text):
        return "en"
    return detect_language(text)


def segments(text: str) -> Iterator[Segment]:
    """Each sentence with its own language: a review may change it half-way."""
    read = readable(text[:MAX_CHARACTERS])
    start = 0
    for end in _ends(read):
        yield from _pieces(read, start, end)
        start = end


def _ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        yield match.end()
    yield len(text)


def _pieces(text: str, start: int, end: int) -> Iterator[Segment]:
    while start < end:
        stop = end
        if end - start > MAX_SENTENCE:
            space = text.rfind(" ", start + 1, start + MAX_SENTENCE)
            stop = space + 1 if space > start else start + MAX_SENTENCE
        piece = text[start:stop]
        if piece.strip():
            yield Segment(start, piece, detect_language(piece))
        start = stop
