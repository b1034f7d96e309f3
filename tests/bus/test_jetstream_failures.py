"""What only a real server can do to us: die, be slow, stay away."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, SocketStream

from parley.bus.errors import (
    BadInput,
    BusError,
    Conflict,
    Unavailable,
    Unreachable,
    Unsuitable,
)
from parley.bus.jetstream import acks, reads, replies
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.reads import Batch, direct_get
from parley.bus.port import LARGEST_RECORD_BYTES, Delivery, Guard, Queue, Record
from tests.bus.worlds import NatsServer, datas, entry, until

QUEUE = Queue("p-noise", ("debate.0.p.*.ask",), ack_wait_s=1.0)


@pytest.mark.own_server
async def test_nothing_is_lost_or_doubled_when_the_server_dies(nats: NatsServer) -> None:
    """A queue may hand a record out twice; the guard on the answer keeps it single."""
    count = 300
    seen: list[Record] = []
    handled: set[int] = set()
    written: list[int] = []

    async def write(bus: JetStreamBus) -> None:
        for n in range(count):
            ask = entry(f"debate.0.p.{n}.ask", f"a{n}", guard=Guard(f"debate.0.p.{n}.ask", 0))
            written.append(await bus.append(ask))
            await anyio.sleep(0.002)

    async def work(bus: JetStreamBus) -> None:
        async def handle(delivery: Delivery) -> None:
            turn = delivery.record.subject.replace("ask", "turn")
            with suppress(Conflict):
                await bus.append(entry(turn, turn, guard=Guard(turn, 0)))
            handled.add(delivery.record.sequence)
            await delivery.ack()

        await bus.work("p-noise", 8, handle)

    server = Server((nats.url,))
    async with open_bus(server) as writer, open_bus(server) as reader, open_bus(server) as worker:
        await writer.apply(QUEUE)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: reader.tail(["debate.>"], start=1, on=seen.extend))
            tasks.start_soon(work, worker)
            tasks.start_soon(write, writer)
            await until(lambda: len(written) > 100)
            nats.kill()
            await anyio.sleep(0.3)
            nats.start()
            await until(lambda: len(handled) == count and len(seen) == 2 * count)
            await anyio.sleep(0.2)
            tasks.cancel_scope.cancel()
        stored = await reader.read("debate.>")
    subjects = [record.subject for record in stored]
    assert sorted(subjects) == sorted(
        f"debate.0.p.{n}.{kind}" for n in range(count) for kind in ("ask", "turn")
    )
    asked = [record.sequence for record in stored if record.subject.endswith("ask")]
    assert asked == written == sorted(handled)
    assert seen == stored


@pytest.mark.own_server
async def test_whoever_follows_a_log_that_was_set_back_is_told(nats: NatsServer) -> None:
    """As after a power cut without fsync, or when a backup is restored."""
    seen: list[Record] = []
    backup = nats.home.with_name("backup")
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        await bus.append(entry("debate.0.p.1.ask", "a1"))
        nats.kill()
        shutil.copytree(nats.home, backup)
        nats.start()
        await bus.append(entry("debate.0.p.2.ask", "a2"))
        with pytest.RaisesGroup(pytest.RaisesExc(Unsuitable, match="set back from record 2 to 1")):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: bus.tail(["debate.>"], start=1, on=seen.extend))
                await until(lambda: len(seen) == 2)
                nats.kill()
                shutil.rmtree(nats.home / "jetstream")
                shutil.copytree(backup / "jetstream", nats.home / "jetstream")
                nats.start()
                await anyio.sleep(20)


class Proxy:
    """
    Stands between client and server, and can hold back what the server says. Of what holds one of
    `lost`, the first is lost.
    """

    def __init__(self) -> None:
        self.url = ""
        self.lost: list[bytes] = []
        self.speak = anyio.Event()
        self.speak.set()

    def _loses(self, chunk: bytes) -> bool:
        found = next((one for one in self.lost if one in chunk), None)
        if found is not None:
            self.lost.remove(found)
        return found is not None

    async def forward(self, source: ByteStream, sink: ByteStream, *, answers: bool) -> None:
        with anyio.CancelScope():
            try:
                while True:
                    chunk = await source.receive()
                    if answers:
                        await self.speak.wait()
                        if self._loses(chunk):
                            continue
                    await sink.send(chunk)
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                await sink.aclose()


@asynccontextmanager
async def proxy_to(nats: NatsServer) -> AsyncIterator[Proxy]:
    proxy = Proxy()

    async def serve(client: SocketStream) -> None:
        async with (
            client,
            await anyio.connect_tcp("127.0.0.1", nats.port) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(lambda: proxy.forward(client, server, answers=False))
            tasks.start_soon(lambda: proxy.forward(server, client, answers=True))

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        proxy.url = f"nats://127.0.0.1:{port}"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            yield proxy
            tasks.cancel_scope.cancel()


@pytest.mark.own_server
@pytest.mark.parametrize("guarded", [False, True])
async def test_a_late_answer_does_not_double_the_entry(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    monkeypatch.setattr(acks, "ACK_TIMEOUT_S", 0.2)
    guard = Guard("debate.0.p.d.ctl.>", 0) if guarded else None
    mine = entry("debate.0.p.d.ctl.opened", "mine", b"mine", guard=guard)
    async with proxy_to(nats) as proxy, open_bus(Server((proxy.url,))) as bus:
        await bus.apply()
        sequences: list[int] = []

        async def write() -> None:
            sequences.append(await bus.append(mine))

        async with anyio.create_task_group() as tasks:
            proxy.speak = anyio.Event()
            tasks.start_soon(write)
            await anyio.sleep(0.6)
            assert sequences == []
            proxy.speak.set()
        assert sequences == [1]
        assert datas(await bus.read("debate.>")) == [b"mine"]


@pytest.mark.own_server
async def test_a_late_answer_does_not_hide_that_somebody_else_was_first(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "ACK_TIMEOUT_S", 0.2)
    guard = Guard("debate.0.p.d.ctl.>", 0)
    async with (
        proxy_to(nats) as proxy,
        open_bus(Server((proxy.url,))) as slow,
        open_bus(Server((nats.url,))) as quick,
    ):
        await slow.apply()
        await quick.append(entry("debate.0.p.d.ctl.opened", "theirs", guard=guard))
        refused: list[BusError] = []

        async def write() -> None:
            try:
                await slow.append(entry("debate.0.p.d.ctl.opened", "mine", guard=guard))
            except Conflict as conflict:
                refused.append(conflict)

        async with anyio.create_task_group() as tasks:
            proxy.speak = anyio.Event()
            tasks.start_soon(write)
            await anyio.sleep(0.5)
            proxy.speak.set()
        assert len(refused) == 1


@pytest.mark.own_server
async def test_a_lost_answer_to_who_wrote_it_passes_no_entry_off_as_somebody_elses(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "ACK_TIMEOUT_S", 0.2)
    mine = entry("debate.0.p.d.submitted", "mine", guard=Guard("debate.0.p.d.submitted", 0))
    async with proxy_to(nats) as proxy, open_bus(Server((proxy.url,))) as bus:
        await bus.apply()
        proxy.lost = [b'"seq":', b'"message":']
        assert await bus.append(mine) == 1
        assert proxy.lost == []


@pytest.mark.own_server
async def test_who_starts_waits_for_a_slow_server_and_not_for_ever(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "API_TIMEOUT_S", 0.2)
    async with proxy_to(nats) as proxy, open_bus(Server((proxy.url,))) as bus:
        proxy.lost = [b"stream_info_response", b"stream_create_response", b"consumer_create"]
        await bus.apply(QUEUE)
        assert proxy.lost == []
        proxy.lost = [b"stream_info_response", b"consumer_info_response"]
        assert await bus.plan(QUEUE) == []
        for look in (bus.position, bus.archive.extent):
            proxy.lost.append(b"stream_info_response")
            await look()
        assert proxy.lost == []
        monkeypatch.setattr(replies, "PATIENCE_S", 0.3)
        proxy.speak = anyio.Event()
        with pytest.raises(Unavailable, match=r"did not answer \$JS.API.STREAM.INFO"):
            await bus.position()
        proxy.speak.set()


async def test_what_says_nothing_about_the_log_is_not_taken_for_an_empty_log(
    nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status that nobody expects, in place of a batch."""
    odd = Batch()
    odd.receive(b"", b"", b"", b"NATS/1.0 408 Request Timeout\r\n\r\n")
    answers = [odd]

    async def get(*asked: Any) -> Batch:
        return answers.pop() if answers else await direct_get(*asked)

    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        await bus.append(entry("debate.0.p.d.x", "m", b"m"))
        monkeypatch.setattr(reads, "direct_get", get)
        assert datas(await bus.read("debate.>")) == [b"m"]
        assert answers == []


@pytest.mark.own_server
async def test_a_write_gives_up_when_the_server_stays_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "PATIENCE_S", 0.6)
    server = NatsServer(tmp_path).start()
    async with open_bus(Server((server.url,))) as bus:
        await bus.apply()
        server.kill()
        with anyio.fail_after(90), pytest.raises(Unavailable):
            await bus.append(entry("debate.0.p.d.x", "m"))


async def test_a_connection_that_is_gone_for_good_ends_everything(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply(QUEUE)
        ended: list[str] = []

        async def handle(delivery: Delivery) -> None:
            await delivery.ack()

        async def expect(name: str) -> None:
            work = {
                "tail": lambda: bus.tail(["debate.>"], start=1, on=lambda _: None),
                "work": lambda: bus.work("p-noise", 2, handle),
                "listen": lambda: bus.listen("live.>", lambda _subject, _data: None),
            }
            with pytest.raises(Unreachable):
                await work[name]()
            ended.append(name)

        with anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:
                for name in ("tail", "work", "listen"):
                    tasks.start_soon(expect, name)
                await anyio.sleep(0.1)
                await bus._connection.client.close()
        assert sorted(ended) == ["listen", "tail", "work"]
        with pytest.raises(Unreachable):
            await bus.append(entry("debate.0.p.d.x", "m"))


async def test_an_entry_that_is_too_large_is_the_callers_mistake(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        for size in (LARGEST_RECORD_BYTES + 1, 2_000_000):
            with pytest.raises(BadInput, match=str(size)):
                await bus.append(entry("debate.0.p.d.x", f"m{size}", b"x" * size))
        with pytest.raises(BadInput, match="not a subject"):
            await bus.append(entry("debate.0.p.d.x y", "m"))
