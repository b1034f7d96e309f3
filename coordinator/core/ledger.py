"""
Whether a debate earned its cost: what would have been answered without it, and what it spent.

Nothing here knows what is true; whoever does compares the answers with it.
"""

from collections.abc import Iterable

from parley.bus.contracts.base import Contract, sum_of
from parley.bus.contracts.facts import TurnTaken
from parley.coordinator.core.addition import total_of
from parley.coordinator.core.budget import waited_s
from parley.coordinator.core.protocol import Answer, Flip, protocol_of
from parley.coordinator.core.state import DebateState, Step


class Cost(Contract):
    """`seconds` of waiting: each step counts for its slowest turn. `cost` in the currency of the prices."""

    turns: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


class Ledger(Contract):
    """`vote`, `confidence_weighted` and `alone` rest on what was said before anybody argued."""

    vote: str | None
    confidence_weighted: str | None
    alone: dict[str, str]
    # Whom the panel trusts most; None where it trusts all alike.
    most_trusted: str | None
    decided: str | None
    flips: tuple[Flip, ...]
    opening: Cost
    # Everything after the opening.
    debate: Cost

    @property
    def changed(self) -> bool:
        return self.decided is not None and self.decided != self.vote


def ledger_of(state: DebateState) -> Ledger:
    course = protocol_of(state).course(state)
    opening = course.opening
    return Ledger(
        vote=_label(course.before),
        confidence_weighted=_label(opening.weighted),
        alone={name: answer.label for name, answer in opening.alone.items()},
        most_trusted=opening.most_trusted,
        decided=_label(course.answer),
        flips=opening.flips,
        opening=_cost(step for step in state.steps if step.name in opening.steps),
        debate=_cost(step for step in state.steps if step.name not in opening.steps),
    )


def _label(answer: Answer | None) -> str | None:
    return answer.label if answer is not None else None


def _cost(steps: Iterable[Step]) -> Cost:
    counted = list(steps)
    turns = [
        one.said
        for step in counted
        for one in step.contributions
        if isinstance(one.said, TurnTaken)
    ]
    used = sum_of(turn.usage for turn in turns)
    return Cost(
        turns=len(turns),
        calls=used.model_calls,
        tokens=used.tokens,
        cost=used.cost,
        seconds=total_of(map(waited_s, counted)),
    )
