import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from parley.agents.script import parse_script
from parley.bus.subjects import DebateRef
from parley.console.runtime.rehearsal import play
from parley.console.terminal.live import live_board
from parley.console.transcript.text import clean, is_token, one_line
from parley.coordinator.core.state import DebateState
from tests.debates import panel

ESCAPE = "\x1b"


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\x00b\x07c\x9bd", "abcd"),
        ("over\rwrite", "overwrite"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("two\nlines\tkept", "two\nlines\tkept"),
        ("한국어 그대로", "한국어 그대로"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
    ],
    ids=["plain", "colour", "title", "link", "control", "return", "bidi", "lines", "ko", "lone"],
)
def test_what_a_terminal_may_see(given_text: str, shown: str) -> None:
    assert clean(given_text) == shown


@given(st.text())
def test_nothing_steers_a_terminal(text: str) -> None:
    shown = one_line(text)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in shown)
    shown.encode()


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_one_line_keeps_its_width(text: str, width: int) -> None:
    assert len(one_line(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        ("a-b_C9", True),
        ("", False),
        ("a.b", False),
        ("*", False),
        ("a b", False),
        ("x" * 65, False),
    ],
)
def test_tokens(text: str, usable: bool) -> None:
    assert is_token(text) is usable


HOSTILE = parse_script(
    r"""
    rounds:
      - frequency: [ai_generated, .9, "[bold red]not markup[/] \e[2Jcleared"]
        noise: [authentic, .9, "[/][link=http://x]y"]
    """
)


def test_the_live_board_shows_what_happens_and_reads_no_markup() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    state = DebateState()
    pair = panel(("frequency", "noise"))
    with live_board(console) as board:
        for fact, after in play(pair, HOSTILE, state.input):
            board.show(DebateRef("forensic", "d1"), fact, state, after)
            state = after
    shown = screen.getvalue()
    assert "[bold red]not markup[/] cleared" in shown
    assert "[/][link=http://x]y" in shown
    assert f"{ESCAPE}[2Jcleared" not in shown
    assert "round 1 of at most 3" in shown
    assert "… thinking" in shown
    assert "✓ spoken" in shown
    assert "disagreement ██████████ 1.00 → 1.00" in shown
    assert "verdict: manipulated, confidence 0.70" in shown
    assert "closed: completed after 1 round" in shown
