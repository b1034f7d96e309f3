"""
Stability measured on words, where no embedding is at hand; coverage is `core.novelty`.

A change is a share: 1 is all new, 0 nothing new. The first iteration is all new by definition.
"""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.bus.contracts.deliberation.regimes import STABLE, Conclusion
from parley.coordinator.core.novelty import words
from parley.coordinator.protocols.deliberation.similarity import jaccard


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
