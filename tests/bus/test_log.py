"""The log, asked of both buses: order, repetition, guards, reading."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import anyio
import pytest

from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.errors import Conflict, NotFound
from parley.bus.journal import Journal
from parley.bus.port import Bus, Guard, Record
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import World, datas, entry, until
from tests.debates import panel

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


async def test_sequences_rise_and_reading_keeps_the_order(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        assert not any((await bus.position()).reached)
        written = [
            await bus.append(entry(w.subject(f"d{n % 3}.x"), f"m{n}", b"%d" % n)) for n in range(9)
        ]
        assert written == sorted(set(written))
        assert datas(await bus.read(f"{w.prefix}.>")) == [b"%d" % n for n in range(9)]
        assert datas(await bus.read(w.subject("d1.>"))) == [b"1", b"4", b"7"]
        assert datas(await bus.read(w.subject("*.x"), start=written[5])) == [b"5", b"6", b"7", b"8"]
        assert await bus.read(w.subject("d9.>")) == []
        assert max((await bus.position()).reached) == written[-1]


async def test_the_newest_record_of_a_subject(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        for n in range(3):
            await bus.append(entry(w.subject(f"d{n % 2}.x"), f"m{n}", b"%d" % n))
        newest = await bus.newest(w.subject("d0.x"))
        assert newest is not None
        assert (newest.data, newest.subject) == (b"2", w.subject("d0.x"))
        assert newest == await bus.record(newest.sequence)
        assert await bus.newest(w.subject("d9.x")) is None


async def test_several_entries_are_written_in_order(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        entries = [entry(w.subject(f"d.{n}"), f"m{n}", b"%d" % n) for n in range(5)]
        last = await bus.append(*entries)
        records = await bus.read(w.subject("d.>"))
        assert datas(records) == [b"0", b"1", b"2", b"3", b"4"]
        assert records[-1].sequence == last


@pytest.mark.parametrize("letter", ["가", "𝄞"], ids=["Korean", "four bytes"])
async def test_the_longest_text_is_counted_in_characters(world: OpenWorld, letter: str) -> None:
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        about = DebateInput(text=letter * 200_000)
        await journal.submit(DebateRef("forensic", "d"), Submitted(panel=panel(), input=about))
        (logged,), _ = await journal.read(DebateRef("forensic", "d"))
        assert isinstance(logged.fact, Submitted)
        assert logged.fact.input == about


async def test_repeating_an_entry_stores_it_once(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        first = await bus.append(entry(w.subject("d.x"), "same", b"1"))
        await bus.append(entry(w.subject("d.y"), "other", b"2"))
        assert await bus.append(entry(w.subject("d.x"), "same", b"1")) == first
        assert datas(await bus.read(w.subject("d.>"))) == [b"1", b"2"]


async def test_repeating_a_guarded_entry_answers_while_its_guard_holds(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        head = await bus.append(entry(w.subject("d.ctl.a"), "head"))
        guarded = entry(w.subject("d.other"), "mine", guard=Guard(w.subject("d.ctl.>"), head))
        stored = await bus.append(guarded)
        assert await bus.append(guarded) == stored
        await bus.append(entry(w.subject("d.ctl.b"), "next"))
        with pytest.raises(Conflict):
            await bus.append(guarded)


async def test_a_subject_guarded_by_zero_is_written_once_ever(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        once = w.subject("d.turn.1.noise")
        await bus.append(entry(once, "first", b"1", guard=Guard(once, 0)))
        with pytest.raises(Conflict):
            await bus.append(entry(once, "second", b"2", guard=Guard(once, 0)))
        with pytest.raises(Conflict):
            await bus.append(entry(once, "first", b"1", guard=Guard(once, 0)))
        other = w.subject("d.turn.1.spatial")
        await bus.append(entry(other, "third", b"3", guard=Guard(other, 0)))
        assert datas(await bus.read(w.subject("d.>"))) == [b"1", b"3"]


async def test_a_guard_sees_only_its_own_subjects(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        control = w.subject("d.ctl.>")
        head = await bus.append(entry(w.subject("d.ctl.opened"), "a", guard=Guard(control, 0)))
        await bus.append(entry(w.subject("d.turn.1.noise"), "b"))
        await bus.append(entry(w.subject("e.ctl.opened"), "c"))
        await bus.append(entry(w.subject("d.ctl.ask"), "d", guard=Guard(control, head)))
        with pytest.raises(Conflict):
            await bus.append(entry(w.subject("d.ctl.late"), "e", guard=Guard(control, head)))


@pytest.mark.parametrize("guarded", ["d.ctl.1", "d.ctl.>"], ids=["exact", "wildcard"])
async def test_fifty_writers_race_and_one_wins(world: OpenWorld, guarded: str) -> None:
    won: list[int] = []
    lost: list[int] = []

    async def write(bus: Bus, w: World, n: int) -> None:
        tail = "d.ctl.1" if guarded == "d.ctl.1" else f"d.ctl.{n}"
        guard = Guard(w.subject(guarded), 0)
        try:
            won.append(await bus.append(entry(w.subject(tail), f"m{n}", guard=guard)))
        except Conflict:
            lost.append(n)

    async with world() as w, w.connect() as one, w.connect() as other:
        async with anyio.create_task_group() as tasks:
            for n in range(50):
                tasks.start_soon(write, (one, other)[n % 2], w, n)
        assert (len(won), len(lost)) == (1, 49)
        assert [r.sequence for r in await one.read(w.subject("d.>"))] == won


async def test_one_failed_guard_does_not_hold_back_the_other_entries(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        with pytest.raises(Conflict):
            await bus.append(
                entry(w.subject("d.a"), "a", b"a"),
                entry(w.subject("d.b"), "b", b"b", guard=Guard(w.subject("d.b"), 7)),
                entry(w.subject("d.c"), "c", b"c"),
            )
        assert datas(await bus.read(w.subject("d.>"))) == [b"a", b"c"]


@pytest.mark.parametrize(("start", "expected"), [(0, 0), (1, 0), (None, 3), (None, 5)])
async def test_a_tail_begins_where_it_is_told(
    world: OpenWorld, start: int | None, expected: int
) -> None:
    async with world() as w, w.connect() as bus:
        written = [await bus.append(entry(w.subject("d.x"), f"m{n}", b"%d" % n)) for n in range(6)]
        start = written[expected] if start is None else start
        seen: list[Record] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.tail([w.subject(">")], start=start, on=seen.extend))
            await until(lambda: bool(seen) and seen[-1].data == b"5")
            tasks.cancel_scope.cancel()
        assert datas(seen) == [b"%d" % n for n in range(expected, 6)]
        assert seen == await bus.read(w.subject(">"), start=start)


async def test_a_tail_from_now_on_hears_only_what_follows(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        await bus.append(entry(w.subject("d.x"), "old", b"old"))
        seen: list[Record] = []
        now = await bus.position()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.tail([w.subject(">")], start=now, on=seen.extend))
            await bus.append(entry(w.subject("d.x"), "new", b"new"))
            await until(lambda: bool(seen))
            tasks.cancel_scope.cancel()
        assert datas(seen) == [b"new"]


async def test_who_only_hears_gets_what_is_stored_from_then_on(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        await bus.append(entry(w.subject("before"), "m0"))
        seen: list[Record] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.hear(w.subject(">"), on=seen.extend))
            await anyio.sleep(0.1)
            await bus.append(entry(w.subject("a.turn"), "m1", b"one"))
            last = await bus.append(entry(w.subject("b.turn"), "m2", b"two"))
            await until(lambda: len(seen) >= 2)
            tasks.cancel_scope.cancel()
        assert datas(seen) == [b"one", b"two"]
        assert seen[-1] == await bus.record(last)


async def test_a_tail_with_several_filters_hears_each_record_once(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        for n, tail in enumerate(["a.turn.1", "a.timer.1", "a.ctl.x", "b.ctl.y", "a.fired"]):
            await bus.append(entry(w.subject(tail), f"m{n}", b"%d" % n))
        seen: list[Record] = []
        filters = [w.subject("*.turn.>"), w.subject("*.ctl.>"), w.subject("*.fired")]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.tail(filters, start=1, on=seen.extend))
            await until(lambda: bool(seen) and seen[-1].data == b"4")
            tasks.cancel_scope.cancel()
        assert datas(seen) == [b"0", b"2", b"3", b"4"]


async def test_tails_agree_on_the_order_of_concurrent_writers(world: OpenWorld) -> None:
    async def write(bus: Bus, w: World, writer: int) -> None:
        for n in range(100):
            await bus.append(entry(w.subject(f"d{writer}.x"), f"{writer}.{n}", b"%d" % n))

    async with world() as w, w.connect() as one, w.connect() as other:
        seen: tuple[list[Record], list[Record]] = ([], [])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: one.tail([w.subject(">")], start=1, on=seen[0].extend))
            tasks.start_soon(lambda: other.tail([w.subject(">")], start=1, on=seen[1].extend))
            async with anyio.create_task_group() as writers:
                for number in range(6):
                    writers.start_soon(write, (one, other)[number % 2], w, number)
            await until(lambda: len(seen[0]) == len(seen[1]) == 600)
            tasks.cancel_scope.cancel()
        assert seen[0] == seen[1] == await one.read(w.subject(">"))
        for writer in range(6):
            own = [r.data for r in seen[0] if r.subject == w.subject(f"d{writer}.x")]
            assert own == [b"%d" % n for n in range(100)]


async def test_what_a_tail_calls_may_raise(world: OpenWorld) -> None:
    def explode(records: Sequence[Record]) -> None:
        raise LookupError(records[0].subject)

    async with world() as w, w.connect() as bus:
        await bus.append(entry(w.subject("d.x"), "m"))
        with anyio.fail_after(90), pytest.raises(LookupError):
            await bus.tail([w.subject(">")], start=1, on=explode)
        assert len(await bus.read(w.subject(">"))) == 1


async def test_long_reads_are_complete(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        await bus.append(
            *(entry(w.subject(f"d{n % 700}.x"), f"m{n}", b"%d" % n) for n in range(2500))
        )
        assert datas(await bus.read(w.subject("*.x"))) == [b"%d" % n for n in range(2500)]
        assert await bus.subjects(w.subject("*.x")) == sorted(
            w.subject(f"d{n}.x") for n in range(700)
        )
        assert await bus.subjects(w.subject("d7.>")) == [w.subject("d7.x")]
        assert await bus.subjects(w.subject("nobody.>")) == []


async def test_a_record_is_found_by_its_sequence(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        first = await bus.append(entry(w.subject("d.x"), "a", b"1"))
        await bus.append(entry(w.subject("d.x"), "b", b"2"))
        found = await bus.record(first)
        assert (found.sequence, found.subject, found.data) == (first, w.subject("d.x"), b"1")
        assert found == (await bus.read(w.subject("d.x")))[0]
        with pytest.raises(NotFound):
            await bus.record(99)


async def test_times_rise_with_the_log(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        for n in range(3):
            await bus.append(entry(w.subject("d.x"), f"m{n}"))
            await anyio.sleep(0.02)
        times = [record.time_ns for record in await bus.read(w.subject("d.x"))]
        assert times[1] - times[0] >= 15_000_000
        assert times[2] - times[1] >= 15_000_000
