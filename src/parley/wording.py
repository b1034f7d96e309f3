"""How a fact is told in words: the plain form here, the full one by the entry point `parley.wording`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from parley.bus.contracts.facts import Fact
from parley.coordinator.core.state import DebateState


def plain(fact: Fact, _before: DebateState, _after: DebateState) -> Iterable[str]:
    return (fact.type.replace("_", " "),)


@dataclass(frozen=True, slots=True)
class Wording:
    """`lines` tells one fact; `before` and `after` are the states around it."""

    lines: Callable[[Fact, DebateState, DebateState], Iterable[str]] = plain
