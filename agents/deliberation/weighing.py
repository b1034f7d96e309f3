"""
How a persona weighs a question: the evidence on the criteria it looks at, seen through its stance.

An option's merit on a criterion is the sum of what speaks for it less the sum of what speaks
against it, kept within -1 and 1. Its score is the mean merit, weighted by the criteria, moved to
between 0 and 1; without criteria everything scores one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from parley.agents.deliberation.question import MATERIAL, Criterion, Evidence, Option, Question

# A lead of this much is worth half of all the confidence that a lead can give.
_HALF_LEAD = 0.1
_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Lens:
    """By how much a stance stresses contrary evidence, and criteria that are about people."""

    contrary: float = 1.0
    people: float = 1.0


NEUTRAL = Lens()
LENSES = MappingProxyType({"neutral": NEUTRAL, "con": Lens(contrary=1.5), "pro": Lens(people=2.0)})


@dataclass(frozen=True, slots=True)
class Ranked:
    option: Option
    score: float


def known_criteria(question: Question, axes: Sequence[str]) -> list[Criterion]:
    """Those among the axes, in the file's order."""
    return [one for one in question.criteria if one.name in axes]


def unraised(question: Question, axes: Sequence[str]) -> list[Criterion]:
    """Heaviest first."""
    left = [one for one in question.criteria if one.name not in axes]
    return sorted(left, key=lambda one: -one.weight)


def evidence_on(question: Question, option: Option, criterion: Criterion) -> list[Evidence]:
    return [
        one
        for one in question.evidence
        if one.option == option.id and one.criterion == criterion.name
    ]


def merit(question: Question, option: Option, criterion: Criterion, lens: Lens) -> float:
    statements = evidence_on(question, option, criterion)
    speaks_for = sum(one.supports or 0.0 for one in statements)
    speaks_against = sum(one.against or 0.0 for one in statements) * lens.contrary
    return max(-1.0, min(1.0, speaks_for - speaks_against))


def weight(criterion: Criterion, lens: Lens) -> float:
    return criterion.weight * (lens.people if criterion.people else 1.0)


def ranking(question: Question, criteria: Sequence[Criterion], lens: Lens) -> list[Ranked]:
    """Best first, the first named of equals."""
    ranked = [
        Ranked(option, score(question, option, criteria, lens)) for option in question.options
    ]
    return sorted(ranked, key=lambda one: -one.score)


def score(question: Question, option: Option, criteria: Sequence[Criterion], lens: Lens) -> float:
    total = sum(weight(one, lens) for one in criteria)
    if not total:
        return 0.5
    weighed = sum(weight(one, lens) * merit(question, option, one, lens) for one in criteria)
    return round((1.0 + weighed / total) / 2.0, _DECIMALS)


def confidence(
    question: Question, criteria: Sequence[Criterion], ranked: Sequence[Ranked]
) -> float:
    """One half, and up to another half by the lead and by how much of the weight was looked at."""
    lead = ranked[0].score - ranked[1].score
    seen = sum(one.weight for one in criteria) / sum(one.weight for one in question.criteria)
    return round(0.5 + 0.5 * seen * lead / (lead + _HALF_LEAD), _DECIMALS)


def contribution(
    question: Question,
    pair: tuple[Option, Option],
    criterion: Criterion,
    criteria: Sequence[Criterion],
) -> float:
    """How much of the first option's lead over the second comes from one criterion."""
    one, other = (merit(question, option, criterion, NEUTRAL) for option in pair)
    total = sum(each.weight for each in criteria)
    return round(criterion.weight * (one - other) / total / 2.0, _DECIMALS)


def next_criterion(
    question: Question, axes: Sequence[str], stance: str, leader: Option | None
) -> Criterion | None:
    """
    What a persona of this stance raises next among the material criteria, if anything.

    Neutral goes by weight. Con looks for what speaks against the leader, or against anything while
    nobody leads. Pro speaks up for people and leaves the rest to others.
    """
    left = [one for one in unraised(question, axes) if one.weight >= MATERIAL]
    match stance:
        case "con":
            attacked = [leader] if leader is not None else list(question.options)
            left = [one for one in left if _contrary(question, attacked, one) > 0]
            left.sort(key=lambda one: -one.weight * _contrary(question, attacked, one))
        case "pro":
            left = [one for one in left if one.people]
        case _:
            pass
    return left[0] if left else None


def _contrary(question: Question, options: Sequence[Option], criterion: Criterion) -> float:
    return sum(
        one.against or 0.0 for option in options for one in evidence_on(question, option, criterion)
    )
