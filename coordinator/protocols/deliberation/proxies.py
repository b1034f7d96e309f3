"""
Coverage and stability measured on words, where no embedding is at hand.

Both changes are shares: 1 is all new, 0 nothing new. The first iteration is all new by definition.
"""

import re
import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from pydantic import JsonValue

from parley.bus.contracts.deliberation.regimes import STABLE, Conclusion
from parley.coordinator.protocols.deliberation.similarity import jaccard

_WORD = re.compile(r"[^\W_]+")
_KEYWORD_LENGTH = 2


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def keywords(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if len(word) >= _KEYWORD_LENGTH)


def coverage_change(now: AbstractSet[str], before: AbstractSet[str]) -> float:
    """Share of the iteration's keywords that no earlier iteration used."""
    return len(now - before) / max(1, len(now))


def conclusion_change(before: Conclusion, now: Conclusion) -> float:
    """
    Structural difference of two conclusions.

    Words of one letter count here, unlike in coverage: "option A" and "option B" differ.
    A conclusion that changes its form, from fields to text or back, changes wholly.
    """
    if now == STABLE:
        return 0.0
    if isinstance(before, str) and isinstance(now, str):
        return 1.0 - jaccard(words(before), words(now))
    if isinstance(before, dict) and isinstance(now, dict):
        return _field_change(before, now)
    return 1.0


def _field_change(before: Mapping[str, JsonValue], now: Mapping[str, JsonValue]) -> float:
    keys = before.keys() | now.keys()
    kept = [key for key in before.keys() & now.keys() if before[key] == now[key]]
    return (len(keys) - len(kept)) / max(1, len(keys))
