"""
Words of the debated text, found again in it.

A model quotes; where the quote stands is computed here. Case and white space may differ, and what
is kept is always the text's own wording. A quote that does not stand in the text has no place.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from parley.agents.llm.untrusted import plain
from parley.bus.contracts.absa.sentiment import Span

_DECORATION = " \t\n\"'`\u201c\u201d\u2018\u2019«».,;:!?\u2026()[]"
_TEXTS_KEPT = 16
# Of a word that stands everywhere.
_MOST_PLACES = 200


def place_of(text: str, quote: str, near: Span | None = None) -> Span | None:
    """Where the quote stands: the place closest to `near`, else the first."""
    places = _places(text, plain(quote)) or _places(text, plain(quote).strip(_DECORATION))
    if near is None:
        return places[0] if places else None
    return min(places, key=lambda one: abs(one.start - near.start), default=None)


def wording(text: str, place: Span) -> str:
    return text[place.start : place.end]


def _places(text: str, quote: str) -> list[Span]:
    wanted = " ".join(_lower(quote).split())
    if not wanted:
        return []
    hay, origin = _folded(text)
    # "art" does not stand in "party"; other scripts join words and endings.
    whole = wanted.isascii() and wanted.isalnum()
    found = (
        Span(start=origin[start], end=origin[start + len(wanted) - 1] + 1)
        for start in _starts(hay, wanted)
        if not (whole and _inside_a_word(hay, start, start + len(wanted)))
    )
    return list(islice(found, _MOST_PLACES))


@lru_cache(maxsize=_TEXTS_KEPT)
def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """In small letters, white space as one space; and where in the text each letter stands."""
    kept: list[str] = []
    origin: list[int] = []
    for place, letter in enumerate(_lower(text)):
        shown = " " if letter.isspace() else letter
        if shown != " " or (kept and kept[-1] != " "):
            kept.append(shown)
            origin.append(place)
    return "".join(kept), tuple(origin)


def _lower(text: str) -> str:
    """Letter by letter, so that every letter keeps its place."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _starts(hay: str, wanted: str) -> Iterator[int]:
    start = hay.find(wanted)
    while start >= 0:
        yield start
        start = hay.find(wanted, start + len(wanted))


def _inside_a_word(hay: str, start: int, end: int) -> bool:
    around = hay[start - 1 : start] + hay[end : end + 1]
    return any(letter.isascii() and letter.isalnum() for letter in around)
