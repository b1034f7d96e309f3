"""
How far the outcome depends on single agents.

Each agent is moved to each other label at its own confidence, and the stop and decide rules are
asked anew: high where one such move changes what comes out, medium where two together do, else
low. It is high, too, where nobody can compute that: a judge would decide, or there are too many.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from typing_extensions import override

from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import Cobra, Judge, OwnDecide, OwnStop
from parley.coordinator.core.budget import Spent
from parley.coordinator.protocols.verdicts.decide import Case, ruling_of
from parley.coordinator.protocols.verdicts.figures import figures_of, shares_of
from parley.coordinator.protocols.verdicts.manager import decide_rule_for, stopped_by
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.termination import Stops, ending_of, stops_of

# Outcomes that are computed at most: a panel of eight with four labels has 276 of one or two moves.
MOST_OUTCOMES = 300
# Rules that look at more than positions, or are not ours to ask many times over.
BEYOND_POSITIONS = (Cobra, OwnDecide, OwnStop)

Positions = tuple[Position, ...]
Move = tuple[int, str]


class Uncomputable(Exception):
    """Whether a move changes the outcome, no rule can say."""


class _Panel:
    """A panel told apart by identity: debates of one panel share the object."""

    __slots__ = ("panel",)

    def __init__(self, panel: VerdictPanel) -> None:
        self.panel = panel

    @override
    def __hash__(self) -> int:
        return id(self.panel)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Panel) and other.panel is self.panel


def sensitivity_of(
    panel: VerdictPanel, history: tuple[Positions, ...], spent: Spent | None = None
) -> Sensitivity:
    rules = (*panel.stop, *panel.decide.values())
    if spent is not None or any(isinstance(rule, BEYOND_POSITIONS) for rule in rules):
        return _sensitivity(panel, history, spent)
    return _known(_Panel(panel), history)


@lru_cache(maxsize=4096)
def _known(given: _Panel, history: tuple[Positions, ...]) -> Sensitivity:
    return _sensitivity(given.panel, history, None)


def _sensitivity(
    panel: VerdictPanel, history: tuple[Positions, ...], spent: Spent | None
) -> Sensitivity:
    if not history or not history[-1]:
        return Sensitivity.HIGH
    search = _Search(panel, stops_of(panel), history, tuple(shares_of(history[:-1])), spent)
    try:
        return search.find()
    except Exception:  # noqa: BLE001 - a rule of somebody's own may raise whatever it likes
        return Sensitivity.HIGH


class _Search(NamedTuple):
    panel: VerdictPanel
    stops: Stops
    history: tuple[Positions, ...]
    # Of verdicts that changed in each round before the last.
    earlier: tuple[float, ...]
    spent: Spent | None

    def find(self) -> Sensitivity:
        stands = self._outcome(self.history[-1])
        moves = list(self._moves())
        if any(self._after((move,)) != stands for move in moves):
            return Sensitivity.HIGH
        left = MOST_OUTCOMES - len(moves)
        for pair in _pairs(moves):
            if left == 0:
                return Sensitivity.HIGH
            left -= 1
            if self._after(pair) != stands:
                return Sensitivity.MEDIUM
        return Sensitivity.LOW

    def _moves(self) -> Iterator[Move]:
        last = self.history[-1]
        labels = self.panel.verdicts or tuple(dict.fromkeys(one.verdict for one in last))
        for at, one in enumerate(last):
            for label in labels:
                if label != one.verdict:
                    yield at, label

    def _after(self, moves: Sequence[Move]) -> str | None:
        moved = list(self.history[-1])
        for at, label in moves:
            agent, _, confidence = moved[at]
            moved[at] = Position(agent, label, confidence)
        return self._outcome(tuple(moved))

    def _outcome(self, last: Positions) -> str | None:
        """The verdict that the rules arrive at; None where they go on."""
        history = (*self.history[:-1], last)
        ended = ending_of(figures_of(history, self.spent, self.earlier), self.stops)
        if ended is None:
            return None
        rule = decide_rule_for(self.panel, stopped_by(ended.reason, ended.rule))
        if isinstance(rule, Judge):
            raise Uncomputable
        return ruling_of(rule, Case(self.panel, history)).verdict


def _pairs(moves: Sequence[Move]) -> Iterator[tuple[Move, Move]]:
    """Of different agents; those to the same label first: they change most."""
    pairs = [pair for pair in combinations(moves, 2) if pair[0][0] != pair[1][0]]
    yield from (pair for pair in pairs if pair[0][1] == pair[1][1])
    yield from (pair for pair in pairs if pair[0][1] != pair[1][1])
