from parley.bus.contracts.panel import DebateInput
from parley.console.runtime.rehearsal import play
from parley.console.transcript.marks import Mark
from parley.console.transcript.verdicts import read_out
from parley.coordinator.core.state import DebateState
from tests.debates import DEADLOCK, panel


def states() -> list[DebateState]:
    return [state for _, state in play(panel(), DEADLOCK, DebateInput())]


def marks(state: DebateState) -> list[Mark]:
    return [seat.mark for seat in read_out(state).seats]


def test_before_anybody_is_asked() -> None:
    submitted = read_out(states()[0])
    assert submitted.round == -1
    assert submitted.disagreement == ()
    assert all(seat.standing is None for seat in submitted.seats)


def test_in_the_middle_of_a_round() -> None:
    after = {len(one.steps[-1].heard): one for one in states() if len(one.steps) == 2}
    first = read_out(after[0])
    assert first.round == 1
    assert marks(after[0]) == [Mark.THINKING] * 4
    assert [seat.turn for seat in first.seats] == [None] * 4
    third = read_out(after[3])
    assert marks(after[3]) == [Mark.SPOKEN] * 3 + [Mark.THINKING]
    watermark = third.seats[2]
    assert watermark.turn is not None
    assert (watermark.turn.verdict_before, watermark.turn.verdict_after) == (
        "uncertain",
        "ai_generated",
    )
    assert watermark.standing is not None
    assert watermark.standing.confidence == 0.9
    assert len(third.disagreement) == 1


def test_a_closed_debate_shows_its_last_round() -> None:
    closed = states()[-1]
    assert closed.steps[-1].name == "localize"
    assert marks(closed) == [Mark.SPOKEN] * 4
    assert read_out(closed).round == 1
    assert len(read_out(closed).disagreement) == 2
