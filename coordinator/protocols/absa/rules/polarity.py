"""Polarity as people and models write it, brought to the three words of the contract."""

from enum import StrEnum
from typing import NamedTuple

from parley.bus.contracts.absa.sentiment import Polarity

WORDS: dict[str, Polarity] = {
    "positive": Polarity.POSITIVE,
    "pos": Polarity.POSITIVE,
    "negative": Polarity.NEGATIVE,
    "neg": Polarity.NEGATIVE,
    "neutral": Polarity.NEUTRAL,
    "neu": Polarity.NEUTRAL,
}
MAX_REPAIR_DISTANCE = 2


class Reading(StrEnum):
    """What became of a written polarity. Absent is no hint at all, and not an invalid one."""

    ABSENT = "absent"
    EXACT = "exact"
    REPAIRED = "repaired"
    INVALID = "invalid"


class ReadPolarity(NamedTuple):
    polarity: Polarity | None
    reading: Reading


def canonical(raw: str | None) -> Polarity | None:
    """Exact words only; "mixed" and anything else unknown is None."""
    return WORDS.get(raw.strip().lower()) if raw else None


def read_polarity(raw: str | None, *, repair: bool) -> ReadPolarity:
    if raw is None or not raw.strip():
        return ReadPolarity(None, Reading.ABSENT)
    exact = canonical(raw)
    if exact is not None:
        return ReadPolarity(exact, Reading.EXACT)
    repaired = _repaired(raw.strip().lower()) if repair else None
    if repaired is not None:
        return ReadPolarity(repaired, Reading.REPAIRED)
    return ReadPolarity(None, Reading.INVALID)


def _repaired(word: str) -> Polarity | None:
    """The one nearest canonical word, if it is near enough; two equally near repair nothing."""
    distances = sorted((edit_distance(word, polarity.value), polarity) for polarity in Polarity)
    (nearest, polarity), (second, _) = distances[0], distances[1]
    return polarity if nearest <= MAX_REPAIR_DISTANCE and nearest < second else None


def edit_distance(a: str, b: str) -> int:
    """Levenshtein. A word too long to be near is not measured: its length difference is returned."""
    if abs(len(a) - len(b)) > MAX_REPAIR_DISTANCE:
        return abs(len(a) - len(b))
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        previous, row = row, [i]
        for j, right in enumerate(b, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (left != right)))
    return row[-1]
