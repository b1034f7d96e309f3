"""
Words of the debated text, found again in it.

A model quotes; where the quote stands is computed here. Case and white space may differ, and what
is kept is always the text's own wording. A quote that does not stand in the text has no place.
"""

import re
from collections.abc import Iterator

from parley.agents.model.untrusted import plain
from parley.bus.contracts.absa.sentiment import Span

# A longer quote is no quote any more.
_LONGEST_QUOTE = 2000
_DECORATION = " \t\n\"'`\u201c\u201d\u2018\u2019«».,;:!?\u2026()[]"


def place_of(text: str, quote: str, near: Span | None = None) -> Span | None:
    """Where the quote stands: the place closest to `near`, else the first."""
    places = list(_places(text, plain(quote)))
    if not places:
        places = list(_places(text, plain(quote).strip(_DECORATION)))
    if near is None:
        return places[0] if places else None
    return min(places, key=lambda one: abs(one.start - near.start), default=None)


def wording(text: str, place: Span) -> str:
    return text[place.start : place.end]


def _places(text: str, quote: str) -> Iterator[Span]:
    words = quote[:_LONGEST_QUOTE].split()
    if not words:
        return
    exact = " ".join(words)
    if len(words) == 1 and exact.isascii() and exact.isalnum():
        # "art" does not stand in "party".
        pattern = rf"(?<![A-Za-z0-9]){exact}(?![A-Za-z0-9])"
    else:
        pattern = r"\s+".join(re.escape(word) for word in words)
    for found in re.finditer(pattern, text, re.IGNORECASE):
        yield Span(start=found.start(), end=found.end())
