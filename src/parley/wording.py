"""How a fact is told in words: the plain form here, the full one by the entry point `parley.wording`."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parley.bus.contracts.facts import Fact
from parley.coordinator.core.state import DebateState

if TYPE_CHECKING:
    from parley.configs.settings import Settings
    from parley.console.listing.debates import Page
    from parley.listing import Wanted
    from parley.reading import Reading


def plain(fact: Fact, _before: DebateState, _after: DebateState) -> Iterable[str]:
    return (fact.type.replace("_", " "),)


@dataclass(frozen=True, slots=True)
class Wording:
    """
    `lines` tells one fact; `before` and `after` are the states around it. `page` tells of the
    newest debates that are wanted what a list shows of each.
    """

    lines: Callable[[Fact, DebateState, DebateState], Iterable[str]] = plain
    page: "Callable[[Reading, Settings, Wanted, int], Awaitable[Page]] | None" = None
