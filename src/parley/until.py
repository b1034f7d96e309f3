"""
When a debate stops, in words that join: `consensus(below=0.3) | stalemate(2) | rounds(3)`.

`|` appends: the earlier rule wins. `&` wants both: `stable(below=0.05) & rounds(2)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

Rule = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Until:
    """Stop rules in the order in which they are asked, as a panel file writes them."""

    rules: tuple[Rule, ...]

    def __or__(self, other: "Until") -> "Until":
        return Until((*self.rules, *other.rules))

    def __and__(self, other: "Until") -> "Until":
        both: list[JsonValue] = [dict(rule) for rule in (*self.rules, *other.rules)]
        return Until(({"all": both},))


def consensus(*, below: float = 0.3, majority: bool = True) -> Until:
    """The disagreement is below a threshold, and more than half hold one verdict."""
    return _one("consensus", below=below, majority=majority)


def unanimity(*, confidence: float = 0.0) -> Until:
    """Everybody holds the same verdict, each at least so sure."""
    return _one("unanimity", confidence=confidence)


def stalemate(rounds: int = 2) -> Until:
    """No verdict has changed for so many rounds in a row."""
    return _one("stalemate", rounds=rounds)


def deadlock(*, above: float = 0.85) -> Until:
    """Two groups insist on different verdicts, both with a mean confidence above the threshold."""
    return _one("deadlock", above=above)


def stable(*, below: float = 0.05) -> Until:
    """No verdict changed in the last round, and no confidence moved by as much as the threshold."""
    return _one("stable", below=below)


def no_progress(*, at: int) -> Until:
    """So many rounds are over, and no verdict ever changed."""
    return _one("no_progress", at=at)


def rounds(at: int) -> Until:
    """So many rounds are over."""
    return _one("rounds", at=at)


def budget(**limits: float) -> Until:
    """As much is used: `calls`, `tokens`, `cost`, `seconds`."""
    return _one("budget", **limits)


def rule(name: str, **params: JsonValue) -> Until:
    """A rule of a package's own, by the name it is registered under."""
    return _one(name, **params)


def _one(rule: str, **given: JsonValue) -> Until:
    return Until(({rule: given},))
