"""
How alike the names of axes are, without embeddings.

A name is its set of words: lower case, split at blanks, punctuation and camelCase. Words that give
a value ("high", "낮음") are dropped first, because another value of an axis is not another axis.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

_ENGLISH_VALUES = """
    high higher highest low lower lowest medium moderate large larger small smaller good better
    bad worse strong stronger weak weaker positive negative increase increased increasing
    decrease decreased decreasing rising falling
"""
_KOREAN_VALUES = """
    높음 높은 높다 높아짐 낮음 낮은 낮다 낮아짐 중간 보통 큼 큰 크다 작음 작은 작다 많음 많은 많다
    적음 적은 적다 강함 강한 강하다 약함 약한 약하다 좋음 좋은 좋다 나쁨 나쁜 나쁘다
    긍정적 부정적 증가 감소 상승 하락
"""
VALUE_WORDS = frozenset(f"{_ENGLISH_VALUES}{_KOREAN_VALUES}".split())
_CAMEL_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[\W_]+")


class Similarity(Protocol):
    """Between a name and all known ones at once, so that combinations of them can be seen."""

    def __call__(self, axis: str, known: Sequence[str]) -> float:
        """Return the greatest similarity of `axis` to the known axes, from 0 to 1."""


@lru_cache(maxsize=4096)
def words_of(axis: str) -> frozenset[str]:
    parts = _NO_WORD.split(_CAMEL_BORDER.sub(" ", unicodedata.normalize("NFKC", axis)))
    return frozenset(part.lower() for part in parts if part) - VALUE_WORDS


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Two empty sets are equal, hence 1."""
    union = one | other
    return len(one & other) / len(union) if union else 1.0


def lexical_similarity(axis: str, known: Sequence[str]) -> float:
    """
    Jaccard over words; a name made of known words only is a combination, similarity 1.

    The empty set of a name that holds nothing but values ("high") is such a combination, too.
    """
    words = words_of(axis)
    known_words = [words_of(name) for name in known]
    if words <= frozenset().union(*known_words):
        return 1.0
    return max((jaccard(words, other) for other in known_words), default=0.0)
