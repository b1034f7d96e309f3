"""Streams of facts: no gap and no duplicate, whoever goes away and comes back."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

import anyio
import pytest

from parley.bus import backlog
from parley.bus.contracts.facts import declarations_in
from parley.bus.contracts.partial import Partial
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Layout
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects
from parley.console.web import feed as wire
from parley.console.web import hub
from parley.console.web import list_changes as changes
from parley.console.web.sse import HEARTBEAT
from tests.archiving import archive
from tests.bus.worlds import NatsServer, until
from tests.debates import STALEMATE, panel, play
from tests.web.client import Client, Event, send
from tests.web.site import OpenLog, recorded, site, write

ONE = DebateRef("forensic", "one")
TWO = DebateRef("absa", "two")
FACTS, _ = play(panel(), STALEMATE)


def ordinals(events: Sequence[Event]) -> list[int]:
    return [one.data["ordinal"] for one in events if one.name == "fact"]


async def test_a_debate_from_its_beginning_to_its_end(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS)
        async with site(journal) as client:
            events = await client.collect("/debates/one/events")
            assert ordinals(events) == list(range(len(FACTS)))
            assert [one.name for one in events[-2:]] == ["fact", "end"]
            first = events[0]
            assert (first.id, first.data["ordinal"], first.data["sequence"]) == (0, 0, 1)
            assert (first.data["id"], first.data["panel"]) == ("one", "forensic")
            assert first.data["fact"]["type"] == "submitted"
            assert first.data["lines"][0].startswith("panel forensic")


async def test_a_number_of_the_log_is_still_understood(log: OpenLog):
    """Events of one debate used to be numbered by it."""
    async with log() as journal:
        await write(journal, DebateRef("forensic", "earlier"), FACTS)
        await write(journal, ONE, FACTS)
        async with site(journal) as client:
            everything = await client.collect("/debates/one/events")
            sequence = everything[7].data["sequence"]
            rest = await client.collect("/debates/one/events", Last_Event_ID=str(sequence))
            assert rest == everything[8:]


@pytest.mark.parametrize("way", ["header", "query"])
async def test_a_viewer_comes_back_to_the_place_where_it_was(log: OpenLog, way: str):
    async with log() as journal:
        await write(journal, ONE, FACTS)
        async with site(journal) as client:
            everything = await client.collect("/debates/one/events")
            seen = everything[7].id
            if way == "header":
                rest = await client.collect("/debates/one/events", Last_Event_ID=str(seen))
            else:
                rest = await client.collect(f"/debates/one/events?after={seen}")
            assert rest == everything[8:]
            over = await client.collect("/debates/one/events", Last_Event_ID=str(everything[-2].id))
            assert [one.name for one in over] == ["end"]


async def test_a_viewer_notices_nothing_of_the_archive_and_comes_back_to_it(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:6])
        async with site(journal) as client, client.events("/debates/one/events") as events:
            got = [await anext(events) for _ in range(6)]
            await write(journal, ONE, FACTS[6:])
            await archive(journal, ONE)
            got += [event async for event in events]
            assert ordinals(got[:-1]) == list(range(len(FACTS)))
            assert got[-1].name == "end"
            rest = await client.collect("/debates/one/events", Last_Event_ID=str(got[3].id))
        assert rest == got[4:]


async def test_facts_arrive_as_they_are_written(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        async with site(journal) as client, client.events("/debates/one/events") as events:
            assert ordinals([await anext(events) for _ in range(3)]) == [0, 1, 2]
            for ordinal, fact in enumerate(FACTS[3:], start=3):
                await write(journal, ONE, [fact])
                with anyio.fail_after(90):
                    assert (await anext(events)).data["ordinal"] == ordinal
            assert (await anext(events)).name == "end"


async def test_joining_while_facts_come_misses_none(log: OpenLog):
    """Viewers that join at every moment of a debate that is being written."""
    async with log() as journal:
        await write(journal, ONE, FACTS[:1])
        async with site(journal) as client, anyio.create_task_group() as tasks:
            seen: list[list[int]] = []

            async def watch() -> None:
                seen.append(ordinals(await client.collect("/debates/one/events")))

            for fact in FACTS[1:]:
                tasks.start_soon(watch)
                tasks.start_soon(watch)
                await write(journal, ONE, [fact])
        assert seen == [list(range(len(FACTS)))] * (2 * len(FACTS) - 2)


async def test_no_gap_and_no_duplicate_over_restarts_of_the_web(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:2])
        got: list[Event] = []
        async with site(journal) as client, client.events("/debates/one/events") as events:
            got += [await anext(events) for _ in range(2)]
            await write(journal, ONE, FACTS[2:5])
            got += [await anext(events) for _ in range(2)]
        await write(journal, ONE, FACTS[5:7])
        async with (
            site(journal) as client,
            client.events("/debates/one/events", Last_Event_ID=str(got[-1].id)) as events,
        ):
            got += [await anext(events) for _ in range(3)]
            await write(journal, ONE, FACTS[7:])
            got += [one async for one in events]
        assert ordinals(got) == list(range(len(FACTS)))


@pytest.mark.own_server
async def test_no_gap_and_no_duplicate_over_a_restart_of_the_server(nats: NatsServer):
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        journal = Journal(bus, Subjects())
        await write(journal, ONE, FACTS[:3])
        async with site(journal) as client, client.events("/debates/one/events") as events:
            got = [await anext(events) for _ in range(3)]
            assert (await client.get("/debates")).json["total"] == 1
            nats.kill()
            with anyio.fail_after(90):
                while (health := await client.get("/readyz")).status != 503:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            assert health.json["status"] == "not connected to the server"
            alive = await client.get("/healthz")
            assert (alive.status, alive.json) == (200, health.json)
            assert (await client.get("/debates")).json["total"] == 1
            nats.start()
            await write(journal, ONE, FACTS[3:])
            with anyio.fail_after(90):
                got += [one async for one in events]
            assert ordinals(got) == list(range(len(FACTS)))
            assert (await client.get("/debates")).json["debates"][0]["status"] == "completed"


async def test_silence_is_filled(log: OpenLog, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hub, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(changes, "HEARTBEAT_S", 0.05)
    async with log() as journal:
        await write(journal, ONE, FACTS[:1])
        async with site(journal) as client:
            for path in ("/debates/one/events", "/events", "/debates/changes"):
                async with client.connected() as stream:
                    await send(stream, "GET", path, b"", {"Host": client.host})
                    got = b""
                    with anyio.fail_after(90):
                        while got.count(HEARTBEAT) < 2:
                            got += await stream.receive()


async def test_words_that_are_being_spoken(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        async with site(journal) as client, client.events("/debates/one/events") as events:
            for _ in range(3):
                await anext(events)
            said = Partial(step="opening", persona="noise", text="I th", attempt=1)
            where = journal.subjects.partial(ONE, "opening", "noise")
            await journal.bus.signal(where, b"no partial")
            await journal.bus.signal(where, said.model_dump_json().encode())
            got = await anext(events)
            assert (got.name, got.id) == ("partial", None)
            assert got.data == {"id": "one", "panel": "forensic", **said.model_dump()}
            stale = said.model_copy(update={"step": "round-7"})
            await journal.bus.signal(where, stale.model_dump_json().encode())
            await write(journal, ONE, FACTS[3:4])
            assert (await anext(events)).name == "fact"


async def test_all_debates_at_once_by_panel(log: OpenLog):
    other = recorded("absa/flip.jsonl")
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        async with (
            site(journal) as client,
            client.events("/events") as everything,
            client.events("/events?panel=absa") as some,
        ):
            await write(journal, TWO, other[:4])
            await write(journal, ONE, FACTS[3:6])
            await write(journal, TWO, other[4:])
            all_of_them = [await anext(everything) for _ in range(len(other) + 3)]
            absa = [await anext(some) for _ in range(len(other))]
        assert [one.data["ordinal"] for one in all_of_them[4:7]] == [3, 4, 5]
        assert ordinals(absa) == list(range(len(other)))
        assert {one.data["id"] for one in absa} == {"two"}
        assert [one.id for one in all_of_them] == sorted(one.id or 0 for one in all_of_them)


async def test_all_debates_from_a_place_in_the_log(log: OpenLog, monkeypatch: pytest.MonkeyPatch):
    """Brought up to date in pieces smaller than what was missed, then live."""
    monkeypatch.setattr(backlog, "RECORDS_AT_ONCE", 5)
    other = recorded("absa/flip.jsonl")
    async with log() as journal:
        await write(journal, ONE, FACTS[:9])
        await write(journal, TWO, other)
        async with site(journal) as client:
            await client.get("/debates")
            async with client.events("/events", Last_Event_ID="4") as events:
                got = [await anext(events) for _ in range(len(other) + 5)]
                await write(journal, ONE, FACTS[9:])
                got += [await anext(events) for _ in range(len(FACTS) - 9)]
        assert [one.id for one in got] == list(range(5, len(FACTS) + len(other) + 1))
        assert ordinals([one for one in got if one.data["id"] == "one"]) == list(
            range(4, len(FACTS))
        )


@pytest.mark.parametrize("archived_by_then", ["one", "both", "while it reads"])
async def test_what_was_archived_meanwhile_is_not_missed(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch, archived_by_then: str
):
    """One debate was half seen, the other not at all; both are gone from the log by now."""
    monkeypatch.setattr(backlog, "RECORDS_AT_ONCE", 5)
    monkeypatch.setattr(backlog, "DEBATES_AT_ONCE", 1)
    other = recorded("absa/flip.jsonl")
    async with log() as journal:
        await write(journal, ONE, FACTS[:9])
        await write(journal, TWO, other[:3])
        await write(journal, ONE, FACTS[9:])
        await write(journal, TWO, other[3:])
        await write(journal, DebateRef("forensic", "open"), FACTS[:5])
        total = len(FACTS) + len(other) + 5
        if archived_by_then != "while it reads":
            await archive(journal, ONE, *([TWO] if archived_by_then == "both" else []))
        async with site(journal) as client:
            await client.get("/debates")
            async with client.events("/events", Last_Event_ID="4") as events:
                got = [await anext(events) for _ in range(3)]
                if archived_by_then == "while it reads":
                    await archive(journal)
                got += [await anext(events) for _ in range(total - 7)]
        assert [one.id for one in got] == list(range(5, total + 1))
        assert ordinals([one for one in got if one.data["id"] == "two"]) == list(range(len(other)))


async def test_a_log_in_four_streams_is_followed_by_a_position_of_each(nats: NatsServer):
    layout = Layout(streams=4)
    refs = [DebateRef("forensic", f"d{n}") for n in range(8)]
    async with open_bus(Server((nats.url,)), layout) as bus:
        await bus.apply()
        journal = Journal(bus, Subjects())
        for ref in refs[:4]:
            await write(journal, ref, FACTS)
        async with site(journal) as client:
            await client.get("/debates")
            seen: dict[str, list[int]] = {ref.id: [] for ref in refs}

            def take(event: Event) -> str:
                seen[event.data["id"]].append(event.data["ordinal"])
                return event.position

            last = "0"
            for piece in range(3):
                async with client.events("/events", Last_Event_ID=last) as events:
                    for _ in range(len(FACTS)):
                        last = take(await anext(events))
                await archive(journal)
                if piece == 0:
                    for ref in refs[4:]:
                        await write(journal, ref, FACTS)
            async with client.events("/events", Last_Event_ID=last) as events:
                for _ in range(5 * len(FACTS)):
                    last = take(await anext(events))
        assert last.count("-") == 3
        assert seen == {ref.id: list(range(len(FACTS))) for ref in refs}


async def test_who_is_too_far_behind_all_debates_is_let_go_and_comes_back(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(wire, "MOST_FRAMES", 4)
    async with log() as journal, site(journal) as client:
        await client.get("/debates")
        got: list[Event] = []
        last = 0
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                nonlocal last
                while len(got) < 10 * len(FACTS):
                    async with client.events("/events", Last_Event_ID=str(last)) as events:
                        async for event in events:
                            got.append(event)
                            last = event.id or 0
                            if len(got) == 10 * len(FACTS):
                                break

            tasks.start_soon(watch)
            for number in range(10):
                await write(journal, DebateRef("forensic", f"d{number}"), FACTS)
        assert [one.id for one in got] == list(range(1, 10 * len(FACTS) + 1))


async def test_the_list_as_it_changes(log: OpenLog):
    async with (
        log() as journal,
        site(journal) as client,
        client.events("/debates/changes") as events,
    ):
        await write(journal, ONE, FACTS)
        rows = []
        with anyio.fail_after(90):
            async for event in events:
                rows.append(event.data)
                if event.data["phase"] == "closed":
                    break
        assert rows[-1] == (await client.get("/debates")).json["debates"][0]
        assert len(rows) < len(FACTS)


async def test_seats_are_free_again_when_viewers_leave(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        async with site(journal) as client:
            async with client.events("/debates/one/events"), client.events("/events"):
                assert await viewers(client) == 2
            await until_viewers(client, 0)
            head = await client.ask("HEAD", "/debates/one/events")
            assert head.status == 200
            assert await viewers(client) == 0


async def viewers(client: Client) -> int:
    return int((await client.get("/healthz")).json["viewers"])


async def test_streams_end_at_once_when_the_server_stops(log: OpenLog):
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        ended = 0
        async with anyio.create_task_group() as tasks:

            async def watch(client: Client, path: str) -> None:
                nonlocal ended
                async for _ in await stack.enter_async_context(client.events(path)):
                    pass
                ended += 1

            async with AsyncExitStack() as stack:
                async with site(journal) as client:
                    for path in ("/debates/one/events", "/events", "/debates/changes"):
                        tasks.start_soon(watch, client, path)
                    await until_viewers(client, 3)
                    began = anyio.current_time()
                assert anyio.current_time() - began < 30.0
                await until(lambda: ended == 3)


async def until_viewers(client: Client, wanted: int) -> None:
    with anyio.fail_after(90):
        while await viewers(client) != wanted:  # noqa: ASYNC110 - it is another process's
            await anyio.sleep(0.01)


async def test_declarations_alone(log: OpenLog):
    """Of one debate and of all; a viewer comes back behind the fact that carried one."""
    declared = [
        (ordinal, one.model_dump(mode="json"))
        for ordinal, fact in enumerate(FACTS)
        for one in declarations_in(fact)
    ]
    assert len(declared) > 1
    async with log() as journal:
        await write(journal, ONE, FACTS)
        async with site(journal) as client:
            events = await client.collect("/debates/one/events?only=declarations")
            assert [one.name for one in events] == ["declaration"] * len(declared) + ["end"]
            told = [(one.data["ordinal"], one.data["declaration"]) for one in events[:-1]]
            assert told == declared
            assert [one.id for one in events[:-1]] == [ordinal for ordinal, _ in declared]
            rest = await client.collect(
                "/debates/one/events?only=declarations", Last_Event_ID=str(declared[0][0])
            )
            assert rest == [one for one in events if one.id is None or one.id > declared[0][0]]
            path = "/events?only=declarations&after=0"
            async with client.events(path) as everything:
                with anyio.fail_after(90):
                    heard = [await anext(everything) for _ in declared]
            assert [one.data for one in heard] == [one.data for one in events[:-1]]
            assert (await client.get("/debates/one/events?only=turns")).status == 400
