"""Dead letters and roll calls, asked of both buses."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import nats.micro
from nats.aio.msg import Msg
from nats.micro.service import ServiceInfo

from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.infra import Keep, Layout
from parley.bus.port import USED_UP, Delivery, Presence, Queue
from tests.bus.worlds import NatsServer, World, entry, settled

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]


async def test_everything_that_is_given_up_becomes_a_dead_letter(world: OpenWorld) -> None:
    async def handle(delivery: Delivery) -> None:
        if delivery.record.data == b"nonsense":
            await delivery.term("Ask: step: missing")
        else:
            await delivery.nak()

    async with world() as w, w.connect() as bus:
        await bus.ensure_queue(Queue("p-noise", (w.subject("*.ask"),), max_deliver=2))
        used_up = await bus.append(entry(w.subject("a.ask"), "a", b"never"))
        terminated = await bus.append(entry(w.subject("b.ask"), "b", b"nonsense"))
        unread = await bus.append(entry(w.subject("c.turn"), "c", b"\xff"))
        assert await bus.waiting_in("p-noise") == 2
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bus.work, "p-noise", 1, handle)
            with anyio.fail_after(90):
                while len(await bus.dead_letters()) < 2:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        for _ in range(2):
            await bus.bury(unread, "not a fact")
        letters = await bus.dead_letters()
        assert {(one.sequence, one.queue, one.reason, one.attempts) for one in letters} == {
            (used_up, "p-noise", USED_UP, 2),
            (terminated, "p-noise", "Ask: step: missing", 1),
            (unread, "", "not a fact", 0),
        }
        assert [one.number for one in letters] == sorted(one.number for one in letters)
        await bus.forget_dead(letters[0].number)
        await bus.forget_dead(letters[0].number)
        assert await bus.dead_letters() == letters[1:]
        assert await bus.count_dead() == 2
        assert await bus.waiting_in("p-noise") == 0
        assert (await bus.record(used_up)).data == b"never"


async def test_the_newest_of_many_are_read_from_the_end(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        assert await bus.dead_letters(newest=3) == []
        for number in range(20):
            unread = await bus.append(entry(w.subject(f"d{number}.turn"), f"{number}", b"\xff"))
            await bus.bury(unread, f"reason {number}")
        for one in (await bus.dead_letters())[3:18]:
            await bus.forget_dead(one.number)
        every = await bus.dead_letters()
        assert [one.reason for one in every] == [f"reason {n}" for n in (0, 1, 2, 18, 19)]
        assert await bus.dead_letters(newest=4) == every[1:]
        assert await bus.dead_letters(newest=4, before=every[3].number) == every[:3]
        assert await bus.dead_letters(newest=1, before=every[3].number + 1) == every[3:4]
        assert await bus.dead_letters(newest=2, before=every[0].number) == []
        assert await bus.dead_letters(newest=2, before=2**62) == every[3:]
        assert await bus.dead_letters(newest=2, before=0) == []


async def test_what_was_forgotten_is_not_buried_again(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus, w.connect() as other:
        first = await bus.append(entry(w.subject("a.turn"), "a", b"\xff"))
        second = await bus.append(entry(w.subject("b.turn"), "b", b"\xff"))
        await bus.bury(first, "not a fact")
        (letter,) = await bus.dead_letters()
        for one in (bus, other):
            await one.forget_dead(letter.number)
            await one.bury(first, "not a fact")
        assert await bus.dead_letters() == []
        await other.bury(second, "not a fact either")
        (left,) = await bus.dead_letters()
        await bus.forget_dead(left.number)
        await bus.forget_dead(left.number + 1)
        for sequence in (first, second):
            await other.bury(sequence, "not a fact")
        assert await bus.dead_letters() == []


async def test_a_roll_call_is_answered_by_everybody_who_is_there(world: OpenWorld) -> None:
    count = 0

    def agent() -> Presence:
        labels = {"panel": "p", "persona": "noise"}
        return Presence("parley-agent", "a1", "1.0.0", labels, {"in_flight": count})

    def coordinator() -> Presence:
        return Presence("parley-coordinator", "c1", "1.0.0", {}, {"open_debates": 3})

    async with world() as w, w.connect() as one, w.connect() as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.announce, agent)
            tasks.start_soon(other.announce, coordinator)
            await settled(one, other)
            count = 7
            present: list[Presence] = []
            with anyio.fail_after(60):
                while len(present) < 2:
                    present = await one.roll_call(0.3)
            tasks.cancel_scope.cancel()
        assert {p.id: p for p in present} == {"a1": agent(), "c1": coordinator()}
        assert next(p for p in present if p.id == "a1").figures == {"in_flight": 7}
        assert await one.roll_call(0.1) == []


async def test_other_tools_find_us_by_nats_micro(nats: NatsServer) -> None:
    def describe() -> Presence:
        return Presence("parley-agent", "a1", "1.0.0", {"persona": "noise"}, {"in_flight": 1})

    async with (
        open_bus(Server((nats.url,))) as bus,
        open_bus(Server((nats.url,))) as asker,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(bus.announce, describe)
        await anyio.wait_all_tasks_blocked()
        await bus._connection.client.understood(60)
        client = asker._connection.client
        foreign = await nats_micro(client)
        for subject in ("$SRV.PING", "$SRV.INFO.parley-agent", "$SRV.STATS.parley-agent.a1"):
            answer = json.loads((await client.request(subject, timeout=60)).data)
            if answer["name"] == "parley-agent":
                assert (answer["id"], answer["metadata"]) == ("a1", {"persona": "noise"})
        info = json.loads((await client.request("$SRV.INFO.parley-agent", timeout=60)).data)
        assert ServiceInfo.from_dict(info).name == "parley-agent"
        (endpoint,) = info["endpoints"]
        figures = await client.request(endpoint["subject"], timeout=20)
        assert json.loads(figures.data) == {"in_flight": 1}
        stats = json.loads((await client.request("$SRV.STATS.parley-agent", timeout=20)).data)
        assert stats["endpoints"][0]["subject"] == endpoint["subject"]
        assert stats["endpoints"][0]["num_requests"] == 1
        present = await asker.roll_call(0.3)
        assert {one.service for one in present} == {"parley-agent", "weather"}
        await foreign.stop()
        tasks.cancel_scope.cancel()


async def nats_micro(client: object) -> nats.micro.service.Service:
    return await nats.micro.add_service(client, name="weather", version="1.0.0")  # type: ignore[arg-type]


DEEP = b"[" * 20_000 + b"]" * 20_000
SAID = b'{"name":"parley-agent","id":"a1","version":"1","metadata":%s,"endpoints":[{"data":%s}]}'
UNREADABLE = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "no text": b"\xff",
    "20,000 levels": DEEP,
    "20,000 levels inside": SAID % (DEEP, b"{}"),
    "20,000 levels of figures": SAID % (b"{}", DEEP),
    "a figure beyond measure": SAID % (b"{}", b'{"in_flight": 1%s}' % (b"0" * 400)),
    "an endless figure": SAID % (b"{}", b'{"in_flight": 1e999}'),
    "no number": SAID % (b"{}", b'{"in_flight": NaN}'),
    "half a character": SAID % (b'{"persona": "\\ud800"}', b"{}"),
}


async def test_answers_to_a_roll_call_that_cannot_be_read_are_left_out(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus, open_bus(Server((nats.url,))) as asker:
        client = bus._connection.client

        async def answer(asked: Msg) -> None:
            for said in (*UNREADABLE.values(), SAID % (b"null", b'{"in_flight": 2}')):
                await client.publish(asked.reply, said)

        await client.subscribe("$SRV.STATS", cb=answer)
        await client.understood(5)
        present = await asker.roll_call(0.5)
        assert present == [Presence("parley-agent", "a1", "1", {}, {"in_flight": 2})]


async def test_an_old_blob_is_put_anew_before_its_time_is_over(nats: NatsServer) -> None:
    layout = Layout(keep_blobs=Keep(age_s=2.0))
    async with open_bus(Server((nats.url,)), layout) as bus:
        await bus.apply()
        ref = await bus.put_blob(b"image")
        await bus.put_blob(b"image")
        info = await bus._replies.ask(f"$JS.API.STREAM.INFO.{layout.blobs}")
        assert info["state"]["messages"] == 2
        await anyio.sleep(1.2)
        await bus.put_blob(b"image")
        await anyio.sleep(1.2)
        assert await bus.get_blob(ref) == b"image"
