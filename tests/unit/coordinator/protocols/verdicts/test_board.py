"""The board is kept beside the step it was read off; what is kept must never be another's."""

from parley.agents.forensic.labels import Verdict
from parley.agents.script import recite
from parley.bus.contracts.facts import Fact, TurnTaken
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.coordinator.core.reducer import apply, fold
from parley.coordinator.protocols.verdicts.board import board_of
from tests.debates import DEADLOCK, panel, play


def last_opening(verdict: Verdict) -> TurnTaken:
    content = Statement(verdict=verdict, confidence=0.4)
    return TurnTaken(step="opening", persona="spatial", content=content)


def test_two_ends_of_one_round_have_boards_of_their_own():
    facts, _ = play(panel(), DEADLOCK)
    until_last = fold(facts[:6])
    ends = [apply(until_last, last_opening(one)) for one in (Verdict.AUTHENTIC, Verdict.UNCERTAIN)]
    boards = [board_of(end) for end in ends]
    assert [board.positions[-1].verdict for board in boards] == ["authentic", "uncertain"]
    assert [board_of(end) for end in ends] == boards


def test_a_board_read_round_by_round_is_the_one_read_at_the_end():
    facts, _ = play(panel(max_rounds=3), DEADLOCK)
    state, read = fold([]), []
    for fact in facts:
        state = apply(state, fact)
        if state.panel is not None:
            read.append(board_of(state))
    assert read[-1] == board_of(fold(facts))
    assert len({board.round for board in read}) == state_rounds(facts) + 1
    opening = recite(DEADLOCK, OpeningRequest(), "noise")
    assert isinstance(opening, Statement)
    assert read[-1].history[0][1].verdict == opening.verdict


def state_rounds(facts: list[Fact]) -> int:
    """Rounds that are over, the opening among them."""
    return board_of(fold(facts)).round + 1
