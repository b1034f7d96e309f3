"""Clauses of a Korean sentence: which units belong together, and how each clause is joined on."""

from dataclasses import dataclass
from typing import Literal

from parley.agents.absa.korean.knowledge import knowledge
from parley.agents.absa.korean.units import Unit

# How a clause leads into the next one.
Joint = Literal["contrast", "link", "end"]


@dataclass(frozen=True, slots=True)
class Clause:
    """Units `first` … `last` of the sentence."""

    first: int
    last: int
    joint: Joint


def split_clauses(units: list[Unit]) -> list[Clause]:
    clauses, first = [], 0
    for at in range(len(units)):
        joint = _joint(units, at)
        if joint is not None and at >= first:
            clauses.append(Clause(first, at, joint))
            first = at + 1
    if first < len(units):
        clauses.append(Clause(first, len(units) - 1, "end"))
    return clauses


def _joint(units: list[Unit], at: int) -> Joint | None:
    """None while the clause goes on behind this unit."""
    unit = units[at]
    if unit.lemma in ("반면", "반면에") or _is_contrast_noun(units, at):
        return "contrast"
    if unit.kind not in ("predicate", "bound"):
        return None
    form, tag = unit.last_ending
    if tag == "EF":
        return "end"
    goes_on = _goes_on(unit, units[at + 1] if at + 1 < len(units) else None)
    return None if tag != "EC" or goes_on else _joint_of(form)


def _joint_of(ending: str) -> Joint | None:
    if ending in knowledge().contrast_endings:
        return "contrast"
    return "link" if ending in knowledge().link_endings else None


def _is_contrast_noun(units: list[Unit], at: int) -> bool:
    """`좋은데` is sometimes analysed as an attribute of the bound noun `데`."""
    unit = units[at]
    if unit.kind != "bound" or unit.lemma != "데" or unit.particles or at == 0:
        return False
    before = units[at - 1]
    return before.modifies and before.end == unit.start


def _goes_on(unit: Unit, following: Unit | None) -> bool:
    """`-지 못하다` is one predicate though the analyser sees two."""
    return unit.last_ending[0] == "지" and following is not None and following.lemma in ("못", "않")
