"""
The last word on a unanimous panel: its least sure persona speaks for another verdict.

Rule 1: it counts only if it brings evidence that nobody brought before; else all stays as it was.
Rule 2: nobody answers it: the panel's decide rule weighs it as one position among the others.
"""

from collections.abc import Iterator
from typing import NamedTuple

from parley.bus.contracts.declaration import Check
from parley.bus.contracts.verdicts.content import RoundRequest, Standing, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.visibility import shuffled
from parley.coordinator.core.checks import check
from parley.coordinator.core.novelty import LONGEST_POINT, MOST_POINTS, coverage_change, keywords
from parley.coordinator.core.state import DebateState
from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.verdicts.board import (
    DISSENT,
    Board,
    board_of,
    panel_of,
    stand_after,
)
from parley.coordinator.protocols.verdicts.brief import brief_of
from parley.coordinator.protocols.verdicts.chamber import speaking_order

COUNTED = "dissent_counted"
CONCEDED = "dissent_conceded"
NOTHING_NEW = "dissent_without_new_evidence"
_FEWEST = 2
# After these nobody's agreement ended the debate.
_CUT_SHORT = frozenset(
    (
        TerminationReason.CANCELLED,
        TerminationReason.QUORUM_LOST,
        TerminationReason.BUDGET_EXHAUSTED,
    )
)


class Dissent(NamedTuple):
    """What became of it: `rule` and `checks` say why; `board` is where all stand after it."""

    rule: str
    checks: tuple[Check, ...]
    board: Board


def advocate_of(board: Board, panel: VerdictPanel, reason: TerminationReason) -> str | None:
    """Whom to ask; None where no dissent is wanted, or not all agree."""
    verdicts = {one.verdict for one in board.positions}
    wanted = panel.dissent is not None and reason not in _CUT_SHORT
    if not wanted or len(verdicts) != 1 or len(board.positions) < _FEWEST:
        return None
    present = [one.agent for one in board.positions]
    return speaking_order(board.positions, present)[0]


def dissent_request(state: DebateState, board: Board, advocate: str) -> RoundRequest:
    panel, number = panel_of(state), board.round + 1
    anonymous = panel.visibility == "anonymous"
    request = RoundRequest(
        brief=brief_of(panel),
        round=number,
        standing=board.statements(),
        challenges=(),
        history=board.past(panel.params.history_rounds),
        visibility=panel.visibility,
        peers=shuffled(panel.roster, f"{state.input.model_dump_json()}/{number}")
        if anonymous
        else (),
        dissents=True,
    )
    return request.for_persona(advocate)


def board_after(state: DebateState) -> Board:
    """Where all stand in the end: after the last round, and after a dissent that counted."""
    heard = dissent_of(state)
    return board_of(state) if heard is None else heard.board


def dissent_of(state: DebateState) -> Dissent | None:
    """None while nobody has answered, and where nobody could."""
    step, board, panel = state.step(DISSENT), board_of(state), panel_of(state)
    if step is None or not step.heard or panel.dissent is None:
        return None
    advocate = step.ask.personas[0]
    before = board.latest[advocate]
    after = stand_after(before, step.heard[0], panel.verdicts)
    if after is None:
        return None
    other = check("verdict", after.verdict, "!=", before.verdict, after.verdict != before.verdict)
    if not other.held:
        return Dissent(CONCEDED, (other,), board)
    newness = _newness(after.said, board)
    new = check(
        "new_evidence",
        newness,
        ">=",
        panel.dissent,
        newness > 0 and at_least(newness, panel.dissent),
    )
    if not new.held:
        return Dissent(NOTHING_NEW, (other, new), board)
    standing = tuple(after if one.position.agent == advocate else one for one in board.standing)
    history = (*board.history, tuple(one.position for one in standing))
    moved = board._replace(
        standing=standing, history=history, latest={**board.latest, advocate: after}
    )
    return Dissent(COUNTED, (other, new), moved)


def _newness(said: Standing, board: Board) -> float:
    """Of the newest piece of evidence: the share of its keywords that nobody has used."""
    known = frozenset[str]().union(
        *(
            keywords(text[:LONGEST_POINT])
            for _, stand in board.said
            for text in (stand.reasoning, *_evidence(stand.said))
        )
    )
    found = [keywords(text[:LONGEST_POINT]) for text in list(_evidence(said))[:MOST_POINTS]]
    return max((coverage_change(one, known) for one in found if one), default=0.0)


def _evidence(said: Standing) -> Iterator[str]:
    yield from (f"{source} {found}" for source, found in said.evidence.items())
    yield from said.arguments
