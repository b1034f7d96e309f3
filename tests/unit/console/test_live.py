"""The words of a turn that is being spoken, below the live board."""

import io

from rich.console import Console

from parley.bus.contracts.partial import Partial
from parley.bus.subjects import DebateRef
from parley.console.terminal.live import live_board, murmured
from parley.coordinator.core.reducer import apply
from parley.coordinator.core.state import DebateState
from tests.debates import STALEMATE, panel, play

REF = DebateRef("forensic", "d1")


def test_the_newest_words_are_shown_on_one_line():
    said = Partial(step="opening", persona="noise", text="one\ntwo " + "x" * 200 + " end")
    line = murmured(said, 60)
    assert line.startswith("  noise … ")
    assert line.endswith(" end")
    assert len(line) <= 60
    hostile = Partial(step="opening", persona="noise", text="\x1b[2Jgone\x07 \x1b]0;title\x07here")
    assert murmured(hostile, 60) == "  noise … gone here"


def test_words_go_when_the_turn_stands_in_the_log():
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    facts, _ = play(panel(), STALEMATE)
    with live_board(screen) as board:
        state = DebateState()
        for fact in facts[:3]:
            state, before = apply(state, fact), state
            board.show(REF, fact, before, state)
        board.overhear(REF, Partial(step="opening", persona="frequency", text="the peaks"))
        assert "the peaks" in shown(screen)
        after = apply(state, facts[3])
        board.show(REF, facts[3], state, after)
        late = Partial(step="opening", persona="frequency", text="the peaks are late")
        board.overhear(REF, late)
        assert board._speaking == {}
        board.overhear(REF, Partial(step="opening", persona="noise", text="even [bold]grain"))
        assert "even [bold]grain" in shown(screen)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
