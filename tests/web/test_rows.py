"""A row says what the real reducer says, from a fraction of the work."""

from pathlib import Path
from typing import Any

import pytest

from parley.bus.archive import Summary, Unread
from parley.bus.codec import encode
from parley.bus.contracts.absa.findings import Moderated
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import Decided, Fact, TurnTaken
from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.port import Extent, Record
from parley.bus.subjects import DebateRef, Subjects, tail_of
from parley.console.listing.archived import SMALL, ArchivedDebates, open_archived
from parley.console.listing.debates import DebateList
from parley.console.listing.hot import Rows
from parley.console.listing.rows import Row
from parley.coordinator.core.accounting import usage_of
from parley.coordinator.core.reducer import fold
from parley.listing import Wanted
from parley.reading import Reading
from tests.debates import STALEMATE, panel, play
from tests.web.site import RECORDINGS, recorded

REF = DebateRef("forensic", "one")


def row_of(facts: list[Fact], rows: Rows, ref: DebateRef = REF) -> Row:
    for number, fact in enumerate(facts, start=1):
        feed(rows, ref, fact, number)
    row = rows.row(ref)
    assert row is not None
    return row


def feed(rows: Rows, ref: DebateRef, fact: Fact, number: int) -> None:
    record = Record(number, Subjects().of(ref, fact), encode(fact), number * 10**9)
    rows.take(ref, tail_of(fact), record)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_row_agrees_with_the_reducer_after_every_fact(path: Path):
    facts = recorded(path)
    rows = Rows()
    for number, fact in enumerate(facts, start=1):
        feed(rows, REF, fact, number)
        row = rows.row(REF)
        state = fold(facts[:number])
        assert row is not None
        assert (row.phase, row.facts, row.sequence) == (state.phase, state.facts, number)
        assert row.protocol == state.running_panel.protocol
        terminated, closed = state.terminated, state.closed
        assert row.reason == (
            terminated.reason if terminated else closed.reason if closed else None
        )
        assert row.status == (closed.status.value if closed else "open")
        if state.finding(Moderated) is not None:
            assert row.verdict == state.found(Moderated).output.final_label


def test_verdict_round_and_times_of_a_debate_of_verdicts():
    facts, state = play(panel(), STALEMATE)
    row = row_of(facts, Rows())
    assert state.finding(Decided) is not None
    assert row.verdict == state.found(Decided).decision.final_verdict  # type: ignore[attr-defined]
    assert row.round == 2
    assert row.submitted_at == "1970-01-01T00:00:01.000Z"
    assert row.closed_at is not None


def test_what_turns_cost_adds_up():
    facts, _ = play(panel(), STALEMATE)
    usage = Usage(model_calls=1, input_tokens=100, output_tokens=20, cost=0.25)
    costly = [
        fact.model_copy(update={"usage": usage}) if isinstance(fact, TurnTaken) else fact
        for fact in facts
    ]
    row = row_of(costly, Rows())
    used = usage_of(fold(costly))
    assert used.model_calls > 4
    assert (row.calls, row.cost) == (used.model_calls, used.cost)
    assert row.tokens == used.input_tokens + used.output_tokens


def test_what_is_no_fact_changes_nothing():
    facts, _ = play(panel(), STALEMATE)
    rows = Rows()
    before = row_of(facts[:4], rows)
    bad = (b"", b"[]", b"\xff", b'{"usage":', b'{"reason":7}', b'{"status":"x","reason":""}')
    for number, data in enumerate(bad, start=10):
        for tail in ("turn.opening.noise", "ctl.terminated", "ctl.closed"):
            rows.take(REF, tail, Record(number, "", data, 0))
    rows.take(REF, "ctl.unheard-of", Record(99, "", b"{}", 0))
    rows.take(REF, "ctl.closed", Record(99, "", encode(facts[-1]), 0, "Nats-Subject"))
    rows.take(DebateRef("forensic", "two"), "ctl.closed", Record(100, "", b"{}", 0))
    assert rows.row(REF) == before
    assert len(rows) == 1


async def archived(rows: Rows, table: ArchivedDebates) -> None:
    """Every second closed debate leaves the log."""
    listed = []
    for place, (key, row) in enumerate(rows.page(Wanted(state="closed"), 100, None)[::2], start=1):
        ref = DebateRef(row.panel, row.id)
        summary = Summary(
            protocol=row.protocol, topic=row.topic, status=row.status, submitted_ns=key.at
        )
        listed.append(Unread(place, ref, summary.model_dump_json().encode()))
        rows.forget(ref)
    table.add(listed, len(listed))


@pytest.mark.parametrize("some_archived", [False, True])
async def test_pages_and_filters(*, some_archived: bool):
    facts, _ = play(panel(), STALEMATE)
    async with open_memory_server() as server:
        table = ArchivedDebates()
        debates = DebateList(Reading(Journal(server.client(), Subjects())), table)
        rows = debates.hot
        for number in range(250):
            ref = DebateRef("forensic" if number % 2 else "other", f"d{number}")
            feed(rows, ref, facts[0], 1000 + number)
            if number % 10 < 2:
                feed(rows, ref, facts[-1], 2000 + number)
        if some_archived:
            await archived(rows, table)
            assert (len(rows), table.count()) == (225, 25)
        seen: list[str] = []
        before = None
        while True:
            page = await debates.page(Wanted(panel="forensic"), 30, before)
            assert page.total == 125
            seen += [row.id for row in page.rows]
            before = page.following
            if before is None:
                break
        assert seen == [f"d{number}" for number in range(249, 0, -2)]

        async def total(**wanted: Any) -> int:
            return (await debates.page(Wanted(**wanted), 5)).total

        assert await total(state="closed") == 50
        assert await total(state="completed") == 50
        assert await total(state="failed") == 0
        assert await total(state="open") == 200
        found = await debates.page(Wanted(text=" D241"), 5)
        assert [row.id for row in found.rows] == ["d241"]
        assert await total(text="PHOTOGRAPH") == 250
        assert await total(reason="manager") == 0
        assert await total(since_ns=1240 * 10**9) == 10
        assert await debates.find("d240") == [("other", "d240")]
        row = await debates.row(DebateRef("other", "d240"))
        assert row is not None
        assert (row.status, row.submitted_at) == ("completed", "1970-01-01T00:20:40.000Z")
        assert await debates.count() == 250


def test_a_table_outlives_its_process_and_forgets_with_the_archive(tmp_path: Path):
    extent = Extent(SMALL + 1, 0, 1, SMALL + 1, "2026-11-18T00:00:00Z")
    summary = Summary(protocol="verdicts", status="failed", submitted_ns=5)
    line = summary.model_dump_json().encode()
    listed = [Unread(n, DebateRef("p", f"d{n}"), line) for n in (1, 2)]
    first = open_archived(tmp_path, "PARLEY", extent)
    first.add(listed, 2)
    first.close()
    again = open_archived(tmp_path, "PARLEY", extent)
    assert (again.reached, again.count()) == (2, 2)
    again.add(listed[1:], 2)
    assert again.count() == 2
    again.forget_before(2)
    assert again.find("d1") == []
    assert again.find("d2") == [("p", "d2")]
    again.close()
    other = open_archived(tmp_path, "PARLEY", extent._replace(identity="another"))
    assert other.reached == 0
    other.close()


async def test_a_cursor_holds_while_debates_come_and_go():
    facts, _ = play(panel(), STALEMATE)
    async with open_memory_server() as server:
        debates = DebateList(Reading(Journal(server.client(), Subjects())), ArchivedDebates())
        rows = debates.hot
        for number in range(10):
            feed(rows, DebateRef("forensic", f"d{number}"), facts[0], 1 + number)
        first = await debates.page(Wanted(), 4)
        feed(rows, DebateRef("forensic", "new"), facts[0], 50)
        rows.forget(DebateRef("forensic", "d6"))
        second = await debates.page(Wanted(), 4, first.following)
    assert [row.id for row in first.rows] == ["d9", "d8", "d7", "d6"]
    assert [row.id for row in second.rows] == ["d5", "d4", "d3", "d2"]
