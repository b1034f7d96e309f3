"""
What the words of a step add to those said before it, where no embedding is at hand.

Both figures are shares: 1 is all new, 0 nothing new. Of a point only the beginning is read, and of a
turn only the first points, so that no persona can keep the coordinator reading.
"""

import re
import unicodedata
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from parley.bus.contracts.facts import TurnTaken
from parley.coordinator.core.memo import Memo
from parley.coordinator.core.state import Step

LONGEST_POINT = 2000
MOST_POINTS = 32
NO_WORDS: frozenset[str] = frozenset()
_WORD = re.compile(r"[^\W_]+")
_KEYWORD_LENGTH = 2


class Novelty(NamedTuple):
    """`orthogonality` is that of the newest point, `expansion` the growth of all keywords."""

    orthogonality: float = 0.0
    expansion: float = 0.0


NOTHING_NEW = Novelty()
# All keywords up to a step, by what was heard in it: no other debate holds the same object.
_KNOWN: Memo[frozenset[str]] = Memo(size=1024)


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def keywords(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if len(word) >= _KEYWORD_LENGTH)


def coverage_change(now: AbstractSet[str], before: AbstractSet[str]) -> float:
    """Share of the iteration's keywords that no earlier iteration used."""
    return len(now - before) / max(1, len(now))


def novelty_of(steps: Sequence[Step], latest: int = 1) -> Novelty:
    """Of the last `latest` steps together, against all before them."""
    cut = len(steps) - latest
    said = [point for step in steps[cut:] for point in _points(step)]
    if not said:
        return NOTHING_NEW
    known = _known(steps[:cut])
    return Novelty(
        max([coverage_change(point, known) for point in said]),
        coverage_change(frozenset().union(*said), known),
    )


def _known(steps: Sequence[Step]) -> frozenset[str]:
    """Every step is read once: what was heard in it stays as it is."""
    unread: list[Step] = []
    known = NO_WORDS
    for step in reversed(steps):
        found = _KNOWN.kept(step.heard, step.carried) if step.heard else None
        if found is not None:
            known = found
            break
        unread.append(step)
    for step in reversed(unread):
        known = known.union(*_points(step))
        if step.heard:
            _KNOWN.keep((step.heard, step.carried), known)
    return known


def _points(step: Step) -> list[frozenset[str]]:
    found = [
        _keywords(point[:LONGEST_POINT])
        for _, said in step.contributions
        if isinstance(said, TurnTaken)
        for point in islice(said.content.points(), MOST_POINTS)
    ]
    return [point for point in found if point]


@lru_cache(maxsize=2048)
def _keywords(point: str) -> frozenset[str]:
    return keywords(point)
