"""Comparisons as data: the same few are made in every debate, and each is built once."""

from functools import lru_cache
from typing import Literal

from parley.bus.contracts.declaration import Check

Op = Literal["<", "<=", ">", ">=", "==", "!="]

WORDS: dict[Op, str] = {
    "<": "below",
    "<=": "at most",
    ">": "above",
    ">=": "at least",
    "==": "",
    "!=": "other than",
}


@lru_cache(maxsize=8192, typed=True)
def check(
    name: str,
    value: str | float | None,
    op: Op,
    threshold: str | float | None,
    held: bool,  # noqa: FBT001
) -> Check:
    return Check(name=name, value=value, op=op, threshold=threshold, held=held)


def in_words(made: Check) -> str:
    """`disagreement 0.667 is not below 0.3`"""
    return _sentence(made.name, made.value, made.op, made.threshold, made.held)


@lru_cache(maxsize=8192, typed=True)
def _sentence(
    name: str,
    value: str | float | None,
    op: Op,
    threshold: str | float | None,
    held: bool,  # noqa: FBT001
) -> str:
    parts = (
        name.replace(".", " of ").replace("_", " "),
        shown(value),
        "is" if held else "is not",
        WORDS[op],
    )
    return " ".join(filter(None, (*parts, shown(threshold))))


def shown(value: str | float | None) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
