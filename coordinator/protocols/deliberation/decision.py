"""The words in which every regime decides: checks that held or not, and what follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import JsonValue

from parley.bus.contracts.declaration import Check as Comparison
from parley.bus.contracts.declaration import DMinLowered, RejectedCandidate, Sensitivity
from parley.coordinator.core.checks import Op, check
from parley.coordinator.core.tolerance import above, at_least, below

Predicate = Literal[
    "decision_stability",
    "min_iterations",
    "confidence",
    "min_candidates",
    "verification",
    "margin",
    "dimension",
    "orthogonality",
    "cooldown",
    "coverage_or_stability",
    "sensitivity",
]


class Need(StrEnum):
    """An answer without which the iteration was decided by default."""

    FORCING = "forcing"
    SENSITIVITY = "sensitivity"


@dataclass(frozen=True, slots=True)
class Check:
    """`text` states the comparisons with their numbers, whichever way they went."""

    name: Predicate
    met: bool
    text: str
    made: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared, and with what, under the names of the parameters."""

    thresholds: dict[str, JsonValue]
    values: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Effects:
    """
    What the decision changes beside going on or stopping.

    `forced_axis` joins the axes; `streak_reset` says that saturation has to be shown anew.
    """

    forced_axis: str | None = None
    streak_reset: bool = False
    d_min_lowered: DMinLowered | None = None


NO_EFFECTS = Effects()


@dataclass(frozen=True, slots=True)
class Decision:
    """
    `rule` names the deciding predicate, `because` is the sentence that follows it.

    `sensitivity` is the answer that was used, None where the flow never came to it.
    `losers` are listed once the run stops.
    """

    stops: bool
    rule: str
    because: str
    unmet: tuple[Predicate, ...]
    compared: Compared
    effects: Effects = NO_EFFECTS
    needs: Need | None = None
    sensitivity: Sensitivity | None = None
    losers: tuple[RejectedCandidate, ...] | None = None
    # Every comparison on the way to the decision, in order.
    checks: tuple[Comparison, ...] = ()


def comparisons(checks: Sequence[Check]) -> tuple[Comparison, ...]:
    return tuple(one for made in checks for one in made.made)


def sentence(checks: Sequence[Check]) -> str:
    return "; ".join(check.text for check in checks)


def unmet(checks: Sequence[Check]) -> tuple[Predicate, ...]:
    return tuple(check.name for check in checks if not check.met)


def is_below(name: Predicate, what: str, x: float | None, limit: str, threshold: float) -> Check:
    met = x is not None and below(x, threshold)
    return _compare(name, (what, x), "<", (limit, threshold), met=met)


def is_above(name: Predicate, what: str, x: float | None, limit: str, threshold: float) -> Check:
    met = x is not None and above(x, threshold)
    return _compare(name, (what, x), ">", (limit, threshold), met=met)


def reaches(name: Predicate, what: str, x: float, limit: str, threshold: float) -> Check:
    return _compare(name, (what, x), ">=", (limit, threshold), met=at_least(x, threshold))


def _compare(
    name: Predicate,
    left: tuple[str, float | None],
    sign: Op,
    right: tuple[str, float],
    *,
    met: bool,
) -> Check:
    (what, x), (limit, threshold) = left, right
    value = "unknown" if x is None else f"{x:.6g}"
    relation = sign if met else f"not {sign}"
    text = f"{what} {value} {relation} {limit} {threshold:.6g}"
    return Check(name, met, text, (check(what, x, sign, threshold, met),))
