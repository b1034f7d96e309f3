"""A protocol without a presentation is shown in the plain form: terminal, list, report and page."""

from io import StringIO

import pytest
from rich.console import Console

from parley.bus.codec import encode
from parley.bus.contracts.facts import Fact, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.journal import Logged
from parley.bus.port import Record
from parley.bus.subjects import DebateRef, Subjects, tail_of
from parley.console.listing.hot import Rows
from parley.console.reports.debate_blocks import debate_blocks
from parley.console.reports.document import Document
from parley.console.reports.markdown import to_text
from parley.console.reports.page import to_html
from parley.console.terminal.live import board
from parley.console.transcript.presentation import PLAIN, PRESENTATIONS, answering, presentation_of
from parley.console.transcript.transcript import transcript
from parley.console.transcript.words import lines
from parley.console.web.views import view_of
from parley.coordinator.core.policy import decide
from parley.coordinator.core.reducer import apply, fold
from parley_auction.contracts import Bid, BidRequest
from tests.plugins.bidders import PANEL, Bids

REF = DebateRef("estate", "vase")
BIDS: Bids = {"amber": [30, 31], "birch": [30, 35], "cedar": [12]}
WHY = "worth it \u202e<b>\x1b[31m"


@pytest.fixture(scope="module")
def facts() -> list[Fact]:
    played: list[Fact] = [Submitted(panel=PANEL, input=DebateInput(text="a vase"))]
    state = fold(played)
    while state.closed is None:
        decision = decide(state)
        if decision is not None:
            played.append(decision)
            state = apply(state, decision)
            continue
        step = state.open_step
        assert step is not None
        assert isinstance(step.ask.request, BidRequest)
        for persona in step.waiting_for:
            bid = Bid(amount=BIDS[persona][step.ask.request.round - 1], why=WHY)
            played.append(TurnTaken(step=step.name, persona=persona, content=bid))
            state = apply(state, played[-1])
    return played


def test_nobody_presents_it() -> None:
    assert "auction" not in PRESENTATIONS
    assert presentation_of("auction") is PLAIN
    assert answering("auction") == ("sold",)


def test_the_story_says_who_was_asked_what_who_answered_what_and_what_was_found(
    facts: list[Fact],
) -> None:
    told = [line.text for item in transcript(facts) for line in lines(item)]
    assert told[:2] == ["panel estate, protocol auction: amber, birch, cedar", "about: a vase"]
    assert "  amber, birch, cedar asked: call for bids" in told
    assert "  birch: amount: 30" in told
    assert "  birch: why: worth it <b>" in told
    assert any(line.startswith("  => continue: ") for line in told)
    assert any(line.startswith("  => terminate: ") for line in told)
    assert told[told.index("sold") + 1 :][:2] == ["  winner: birch", "  price: 31"]
    assert told[-1] == "closed: completed (sold)"


def test_the_board_shows_the_outcome(facts: list[Fact]) -> None:
    state = fold(facts)
    screen = StringIO()
    Console(file=screen, width=100).print(board(REF, state))
    assert "outcome: birch" in screen.getvalue()
    assert "✓ spoken" in screen.getvalue()


def test_every_moment_of_it_has_a_view(facts: list[Fact]) -> None:
    logged = [Logged(n, REF, fact, n * 10**9) for n, fact in enumerate(facts)]
    for at in range(1, len(facts) + 1):
        view = view_of(REF, logged, at)
        assert (view.at, view.protocol, len(view.transcript)) == (at, "auction", at)
        shown = view.model_dump_json()
        assert "\u202e" not in shown
        assert "\\u001b" not in shown
    assert view.outcome is not None
    assert view.outcome.label == "birch"
    assert [seat.mark for seat in view.personas] == ["spoken"] * 3


def test_the_list_says_what_came_of_it(facts: list[Fact]) -> None:
    rows = Rows()
    for number, fact in enumerate(facts, start=1):
        record = Record(number, Subjects().of(REF, fact), encode(fact), number * 10**9)
        rows.take(REF, tail_of(fact), record)
    row = rows.row(REF)
    assert row is not None
    assert (row.verdict, row.reason, row.facts) == ("winner: birch, price: 31", "sold", len(facts))


def test_a_report_tells_it(facts: list[Fact]) -> None:
    blocks = tuple(debate_blocks(REF, fold(facts), facts))
    for page in (to_text(Document("vase", "", blocks)), to_html(Document("vase", "", blocks))):
        for wanted in ("Transcript", "amount: 35", "sold, winner: birch", "Why it went on"):
            assert wanted in page
        assert "\u202e" not in page
    assert "&lt;b&gt;" in page
