"""What has to exist on the server, planned and applied."""

from dataclasses import replace

import pytest
from nats.js.api import StorageType, StreamConfig

from parley.bus.errors import BadInput, Full, Unsuitable
from parley.bus.jetstream import acks, infra
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.differences import Difference
from parley.bus.jetstream.infra import Keep, Layout
from parley.bus.port import Delivery, Entry, Queue
from tests.bus.worlds import NatsServer

QUEUE = Queue("p-noise", ("debate.0.p.*.ask.*.noise",))


async def test_applying_a_plan_leaves_nothing_to_do(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        plan = await bus.plan(QUEUE)
        assert [str(difference) for difference in plan] == [
            "stream PARLEY: create",
            "stream PARLEY-ARCHIVE: create",
            "bucket OBJ_parley-blobs: create",
            "stream PARLEY-DEAD: create",
            "register PARLEY-PURSE: create",
            "register PARLEY-ANSWERS: create",
            "queue p-noise: create",
        ]
        assert await bus.apply(QUEUE) == plan
        assert await bus.plan(QUEUE) == []
        assert await bus.apply(QUEUE) == []


async def test_changes_are_applied_in_place(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply(QUEUE)
        await bus.append(Entry("debate.0.p.d.x", b"kept", "m"))
    older = Layout(keep_log=Keep(age_s=3600))
    async with open_bus(Server((nats.url,)), older) as bus:
        shorter = Difference("stream PARLEY", "max_age", "no limit", "1 hour", loses=True)
        assert shorter in await bus.plan()
        patient = replace(QUEUE, ack_wait_s=60.0, filters=("debate.0.p.>",))
        await bus.apply(patient, allow_loss=True)
        assert await bus.plan(patient) == []
        await bus.ensure_queue(replace(QUEUE, ack_wait_s=5.0))
        assert [d.field for d in await bus.plan(patient)] == ["ack_wait", "filter_subjects"]
        assert [record.data for record in await bus.read("debate.>")] == [b"kept"]


async def test_what_cannot_be_changed_in_place_is_refused(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        config = StreamConfig(name="PARLEY", subjects=["debate.0.>"], storage=StorageType.MEMORY)
        await bus._connection.client.jetstream().add_stream(config)
        before = await bus.plan()
        with pytest.raises(Unsuitable, match="storage memory -> file"):
            await bus.apply()
        assert await bus.plan() == before


async def test_lower_limits_delete_only_what_one_allows(nats: NatsServer) -> None:
    wide = Layout(keep_log=Keep(90 * 86_400), keep_dead=Keep(size_bytes=8 << 20))
    narrow = Layout(keep_log=Keep(7200), keep_dead=Keep(size_bytes=1 << 20))
    async with open_bus(Server((nats.url,)), wide) as bus:
        await bus.apply()
        for n in range(20):
            await bus.append(Entry(f"dead.debate.{n}", b"x" * 100_000, f"m{n}"))
    async with open_bus(Server((nats.url,)), narrow) as bus:
        planned = await bus.plan()
        assert [(str(one), one.consequence) for one in planned] == [
            ("stream PARLEY: max_age 90 days -> 2 hours", "deletes what is beyond it"),
            ("stream PARLEY-DEAD: max_bytes 8 MiB -> 1 MiB", "deletes what is beyond it"),
        ]
        with pytest.raises(BadInput, match="--allow-loss"):
            await bus.apply()
        assert await bus.count_dead() == 20
        assert await bus.apply(allow_loss=True) == planned
        assert await bus.count_dead() < 20
    async with open_bus(Server((nats.url,)), wide) as bus:
        assert not any(one.loses for one in await bus.plan())
        await bus.apply()


async def test_a_log_that_forgot_by_size_is_made_to_refuse(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "PATIENCE_S", 0.5)
    layout = Layout(keep_log=Keep(size_bytes=1 << 20))
    async with open_bus(Server((nats.url,)), layout) as bus:
        await bus.apply()
        update = "$JS.API.STREAM.UPDATE.PARLEY"
        config = (await bus._replies.ask("$JS.API.STREAM.INFO.PARLEY"))["config"]
        await bus._replies.ask(update, {**config, "discard": "old", "max_bytes": 8 << 20})
        for n in range(20):
            await bus.append(Entry(f"debate.0.p.d.x{n}", b"x" * 100_000, f"m{n}"))
        planned = await bus.plan()
        assert [(str(one), one.consequence) for one in planned] == [
            ("stream PARLEY: discard old -> new", ""),
            ("stream PARLEY: max_bytes 8 MiB -> 1 MiB", ""),
        ]
        assert await bus.apply() == planned
        with pytest.raises(Full, match="maximum bytes exceeded"):
            await bus.append(Entry("debate.0.p.d.more", b"x", "more"))
        assert len(await bus.read("debate.>")) == 20


async def test_a_stream_of_somebody_else_is_left_alone(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        streams = bus._connection.client.jetstream()
        await streams.add_stream(StreamConfig(name="PARLEY", subjects=["orders.>"]))
        assert "not a stream of ours: set another nats.stream" in {
            one.consequence for one in await bus.plan()
        }
        with pytest.raises(BadInput, match=r"orders.*set another nats\.stream"):
            await bus.apply()
        assert (await streams.stream_info("PARLEY")).config.subjects == ["orders.>"]


async def test_the_partitions_are_spread_over_as_many_streams_as_wanted(nats: NatsServer) -> None:
    server = Server((nats.url,))
    async with open_bus(server, Layout(streams=3)) as bus:
        await bus.apply(QUEUE)
        assert await bus.plan(QUEUE) == []
        streams = bus._connection.client.jetstream()
        held = [(await streams.stream_info(name)).config.subjects for name in bus.layout.logs]
    assert [len(one or ()) for one in held] == [2 * 22, 2 * 21, 2 * 21]
    assert len({subject for one in held for subject in one or ()}) == 2 * 64
    assert held[1] is not None
    assert {"debate.1.>", "debate.4.>", "redrive.debate.61.>"} <= set(held[1])


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (4, 3), (3, 64)])
async def test_the_number_of_streams_changes_only_while_the_log_is_empty(
    nats: NatsServer, before: int, after: int
) -> None:
    server = Server((nats.url,))
    async with open_bus(server, Layout(streams=before)) as bus:
        await bus.apply(QUEUE)
        await bus.append(Entry("debate.3.p.d.x", b"open", "m"))
    async with open_bus(server, Layout(streams=after)) as other:
        said = f"lies in {before} stream.*set nats.streams to {before};"
        with pytest.raises(BadInput, match=said):
            infra.refuse_foreign(await other.plan())
        with pytest.raises(BadInput, match=r"the log holds 1 records.*parley archive run"):
            await other.apply(QUEUE)
        with pytest.raises(Unsuitable, match=f"set nats.streams to {before}"):
            await other.work("p-noise", 1, _never)
    async with open_bus(server, Layout(streams=before)) as bus:
        assert [one.data for one in await bus.read("debate.>")] == [b"open"]
        await bus.purge("debate.3.p.d.>", through=(await bus.read("debate.>"))[0].sequence)
    async with open_bus(server, Layout(streams=after)) as other:
        await other.apply(QUEUE)
        assert await other.plan(QUEUE) == []
        written = await other.append(Entry("debate.3.p.d.x", b"new", "m2"))
        assert (await other.record(written)).data == b"new"


async def _never(delivery: Delivery) -> None:
    raise AssertionError(delivery.record.subject)


async def test_replicas_need_a_cluster(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,)), Layout(replicas=3)) as bus:
        with pytest.raises(Unsuitable, match="stream PARLEY: replicas > 1"):
            await bus.apply()


async def test_a_missing_stream_is_named(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        with pytest.raises(Unsuitable, match="PARLEY"):
            await bus.position()
        with pytest.raises(Unsuitable, match="PARLEY"):
            await bus.tail(["debate.>"], start=1, on=lambda _: None)
        with pytest.raises(Unsuitable, match="parley-blobs"):
            await bus.put_blob(b"x")


async def test_viewers_see_what_is_stored_with_its_headers(nats: NatsServer) -> None:
    headers = {
        "ce-specversion": "1.0",
        "ce-id": "m",
        "ce-type": "parley.turn",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        client = bus._connection.client
        seen = await client.subscribe("live.debate.>")
        lines = tuple(f"{name}: {value}" for name, value in headers.items())
        await bus.append(Entry("debate.0.p.d.x", b"data", "m", headers=lines))
        message = await seen.next_msg(2)
        assert (message.subject, message.data) == ("live.debate.0.p.d.x", b"data")
        assert message.headers is not None
        assert headers.items() <= message.headers.items()
        assert len(message.headers["Nats-Msg-Id"]) == 32
