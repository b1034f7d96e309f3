"""What the rules ask of a text with the help of its language's patterns."""

import re
from collections.abc import Sequence
from functools import lru_cache

from parley.bus.contracts.absa.params import LanguagePatterns

_NOT_A_WORD = re.compile(r"[^\w가-힣]|\s")


def strip_particle(term: str, patterns: LanguagePatterns) -> str:
    return patterns.without_particle(term)


def norm(text: str, patterns: LanguagePatterns) -> str:
    """The form in which mentions of an aspect are compared."""
    return _NOT_A_WORD.sub("", strip_particle(text.strip(), patterns).lower())


def first_marker_end(text: str, patterns: LanguagePatterns) -> int | None:
    """Where the first listed contrast marker that occurs ends; None without contrast."""
    for marker in patterns.contrast_markers:
        found = _search(marker, text)
        if found is not None:
            return found.end()
    return None


def has_contrast(text: str, patterns: LanguagePatterns) -> bool:
    return _any_occurs(patterns.contrast_markers, text)


def has_negation(text: str, patterns: LanguagePatterns) -> bool:
    return _any_occurs(patterns.negation_triggers, text)


def _any_occurs(markers: Sequence[str], text: str) -> bool:
    return any(_search(marker, text) is not None for marker in markers)


def _search(marker: str, text: str) -> re.Match[str] | None:
    return _pattern(marker).search(text)


@lru_cache(maxsize=1024)
def _pattern(marker: str) -> re.Pattern[str]:
    """Latin words stand alone ("no" is not in "know"); endings and Hangul occur inside words."""
    pattern = re.escape(marker)
    if marker.isascii() and marker.isalpha():
        pattern = rf"\b{pattern}\b"
    return re.compile(pattern, re.IGNORECASE)
