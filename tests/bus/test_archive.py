"""What leaves the log as a whole, asked of both buses."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from random import Random

import anyio
import pytest

from parley.bus.archive import DebateArchive, KeptBudget, Summary
from parley.bus.contracts.base import BlobRef
from parley.bus.errors import Conflict, DecodeError, NotFound
from parley.bus.journal import Journal
from parley.bus.port import Bus, Entry, Record
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import World

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]

REF = DebateRef("p", "d1")
SUMMARY = Summary(protocol="none", topic="두 줄\nof it", status="completed", facts=2)


def subjects_of(world: World) -> Subjects:
    return Subjects(world.prefix)


async def written(bus: Bus, subjects: Subjects, ref: DebateRef = REF) -> list[Record]:
    for tail, data in (("submitted", b'{"a":1}'), ("ctl.closed", b"\xff\x00")):
        subject = subjects.at(ref, tail)
        await bus.append(Entry(subject, data, subject, headers=(f"ce-id: {tail}",)))
    return await bus.read(subjects.debate(ref))


async def test_what_was_put_is_found_with_its_headers(world: OpenWorld) -> None:
    async with world() as w, w.connect() as one, w.connect() as other:
        subject = subjects_of(w).archive(REF)
        assert await one.archive.get(subject) is None
        assert (await one.archive.extent()).records == 0
        await one.archive.put(subject, b"whole", ("Parley-Summary: {}",))
        found = await other.archive.get(subject)
        assert found is not None
        assert (found.data, found.subject) == (b"whole", subject)
        assert b"Parley-Summary: {}\r\n" in found.headers
        with pytest.raises(Conflict):
            await other.archive.put(subject, b"again", ())
        extent = await one.archive.extent()
        assert (extent.records, extent.first, extent.last) == (1, 1, 1)
        assert await one.read(">") == []


async def test_a_debate_is_found_by_its_id_alone(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects = subjects_of(w)
        for panel in ("p", "q"):
            await bus.archive.put(subjects.archive(DebateRef(panel, "d1")), b"", ())
        await bus.archive.put(subjects.archive(DebateRef("p", "d2")), b"", ())
        archive = DebateArchive(bus, subjects)
        assert sorted(await archive.find("*", "d1")) == [("p", "d1"), ("q", "d1")]
        assert await archive.find("p", "d2") == [("p", "d2")]
        assert await archive.find("*", "d3") == []


async def test_it_says_which_of_many_subjects_have_a_record(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        every = [subjects_of(w).archive(DebateRef("p", f"d{n}")) for n in range(40)]
        assert await bus.archive.holds(every) == set()
        await bus.archive.put(every[3], b"whole", ("Parley-Summary: {}",))
        await bus.archive.put(every[7], b"", ())
        assert await bus.archive.holds(every) == {every[3], every[7]}
        assert await bus.archive.holds([]) == set()


async def test_followers_get_headers_without_bodies_from_a_position_on(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects, seen = subjects_of(w), list[Record]()
        for n in range(3):
            await bus.archive.put(subjects.archive(DebateRef("p", f"d{n}")), b"body", (f"N: {n}",))
        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:

                def on(records: Sequence[Record]) -> None:
                    seen.extend(records)
                    if len(seen) == 3:
                        tasks.cancel_scope.cancel()

                async def late() -> None:
                    await anyio.sleep(0.1)
                    await bus.archive.put(subjects.archive(DebateRef("p", "late")), b"body", ())

                tasks.start_soon(late)
                await bus.archive.follow(subjects.archives(), start=2, on=on)
        assert [one.sequence for one in seen] == [2, 3, 4]
        assert {one.data for one in seen} == {b""}
        assert b"N: 1\r\n" in seen[0].headers


async def test_a_purge_takes_one_debate_up_to_a_sequence(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects, other = subjects_of(w), DebateRef("p", "d2")
        mine = await written(bus, subjects)
        theirs = await written(bus, subjects, other)
        late = subjects.at(REF, "turn.x.y")
        await bus.append(Entry(late, b"late", late))
        for _ in range(2):
            await bus.purge(subjects.debate(REF), through=mine[-1].sequence)
            assert [one.data for one in await bus.read(subjects.debate(REF))] == [b"late"]
        assert await bus.read(subjects.debate(other)) == theirs


async def test_a_debate_comes_back_as_it_stood_in_the_log(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects = subjects_of(w)
        archive, records = DebateArchive(bus, subjects), await written(bus, subjects)
        spent = KeptBudget(key="p.debate.d1.x", data="{}")
        blob = BlobRef(sha256="0" * 64, size=1, media_type="image/png")
        stored = await archive.put(REF, records, SUMMARY, budgets=[spent], blobs=[blob])
        assert (stored.through, stored.topic) == (records[-1].sequence, "두 줄\nof it")
        await bus.purge(subjects.debate(REF), through=stored.through)
        found = await archive.get(REF)
        assert found is not None
        assert list(found.records) == records
        assert (found.budgets, found.blobs, found.broken) == ((spent,), (blob,), ())
        assert [one.headers for one in found.records] == [one.headers for one in records]
        assert (await archive.contents())[0][1:3] == (REF, stored)


async def test_who_comes_second_gets_what_stands_there(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects = subjects_of(w)
        archive, records = DebateArchive(bus, subjects), await written(bus, subjects)
        first = await archive.put(REF, records[:1], SUMMARY)
        assert await archive.put(REF, records, SUMMARY) == first
        found = await archive.get(REF)
        assert found is not None
        assert len(found.records) == 1


async def test_a_body_too_large_for_a_message_is_a_blob(world: OpenWorld) -> None:
    noise = Random(1).randbytes(700_000)
    async with world() as w, w.connect() as bus:
        subjects = subjects_of(w)
        for tail in ("submitted", "turn.a.b", "ctl.closed"):
            subject = subjects.at(REF, tail)
            await bus.append(Entry(subject, noise + tail.encode(), subject))
        records = await bus.read(subjects.debate(REF))
        stored = await DebateArchive(bus, subjects).put(REF, records, SUMMARY)
        found = await DebateArchive(bus, subjects).get(REF)
        assert found is not None
        assert list(found.records) == records
        assert stored.body is not None
        assert (await bus.archive.extent()).size_bytes < 10_000


async def test_a_record_that_was_altered_is_found(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subjects = subjects_of(w)
        await bus.archive.put(subjects.archive(REF), b"", ("Parley-Summary: {",))
        with pytest.raises(DecodeError, match="summary"):
            await DebateArchive(bus, subjects).get(REF)
        assert await DebateArchive(bus, subjects).contents() == []


async def test_reading_and_following_do_not_notice_the_move(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, subjects_of(w))
        records, seen = await written(bus, journal.subjects), list[Record]()
        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:

                def on(arrived: Sequence[Record]) -> None:
                    seen.extend(arrived)

                tasks.start_soon(lambda: journal.follow(REF, on=on))
                while len(seen) < 2:  # noqa: ASYNC110 - two tasks of one test
                    await anyio.sleep(0.01)
                stored = await journal.archive.put(REF, records, SUMMARY)
                await bus.purge(journal.subjects.debate(REF), through=stored.through)
                await anyio.sleep(6)
                tasks.cancel_scope.cancel()
            assert list(await journal.records(REF)) == seen == records
            seen.clear()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: journal.follow(REF, on=on))
                while len(seen) < 2:  # noqa: ASYNC110 - two tasks of one test
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
        assert seen == records


async def test_a_record_takes_the_place_of_the_one_it_names(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        subject = subjects_of(w).archive(REF)
        await bus.archive.put(subject, b"whole", ())
        first = await bus.archive.get(subject)
        assert first is not None
        with pytest.raises(Conflict):
            await bus.archive.put(subject, b"other", (), after=first.sequence + 7)
        await bus.archive.put(subject, b"tombstone", (), after=first.sequence)
        last = await bus.archive.get(subject)
        assert last is not None
        assert (last.data, last.sequence > first.sequence) == (b"tombstone", True)
        assert (await bus.archive.extent()).records == 1
        with pytest.raises(Conflict):
            await bus.archive.put(subject, b"late", (), after=first.sequence)


async def test_a_blob_that_was_dropped_is_gone_and_can_be_put_again(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        ref = await bus.put_blob(b"a picture")
        await bus.drop_blob(ref)
        await bus.drop_blob(ref)
        with pytest.raises(NotFound):
            await bus.get_blob(ref)
        assert await bus.put_blob(b"a picture") == ref
        assert await bus.get_blob(ref) == b"a picture"
