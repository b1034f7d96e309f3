"""A server that is not there, too old, half switched on, or does not want us: said in one line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream
from nats import connect as connect_plainly
from nats.aio.msg import Msg

from parley.bus.errors import BadInput, Unavailable, Unreachable, Unsuitable
from parley.bus.jetstream import acks, connection
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.port import Queue
from tests.bus.worlds import NatsServer, entry

QUEUE = Queue("p-noise", ("debate.0.p.*.ask",), ack_wait_s=1.0)


async def test_no_server_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.FIRST_CONNECTION_S <= 3
    monkeypatch.setattr(connection, "FIRST_CONNECTION_S", 0.5)
    with anyio.fail_after(60), pytest.raises(Unreachable) as caught:
        async with open_bus(Server(("nats://user:secret@127.0.0.1:9",))):
            pass
    assert "127.0.0.1:9" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        (Server(("nats://127.0.0.1:port",)), "127.0.0.1:port is not an address"),
        (Server(("",)), "not an address"),
        (Server(credentials=Path("missing")), "cannot read missing"),
        (Server(nkey_seed=Path("missing")), "cannot read missing"),
        (Server(tls_ca=Path("missing")), "cannot read missing"),
        (Server(credentials=Path(__file__)), "not a credentials file"),
        (Server(nkey_seed=Path(__file__)), "no usable nkey seed"),
        (Server(tls_ca=Path(__file__)), "unusable for TLS"),
    ],
    ids=["port", "empty", "no creds", "no nkey", "no ca", "bad creds", "bad nkey", "bad ca"],
)
async def test_unusable_settings_are_the_callers_mistake(server: Server, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        async with open_bus(server):
            pass


async def test_tls_is_not_quietly_left_out(nats: NatsServer) -> None:
    with pytest.raises(Unsuitable, match="does not offer TLS"):
        async with open_bus(Server((nats.url.replace("nats://", "tls://"),))):
            pass


@pytest.mark.own_server
async def test_a_server_without_jetstream_is_refused(tmp_path: Path) -> None:
    server = NatsServer(tmp_path, arguments=()).start()
    try:
        with anyio.fail_after(90), pytest.raises(Unsuitable, match="JetStream is off"):
            async with open_bus(Server((server.url,))):
                pass
    finally:
        server.stop()


async def test_an_old_server_is_refused() -> None:
    async def serve(client: SocketStream) -> None:
        info = {"server_id": "old", "version": "2.9.10", "max_payload": 1048576, "headers": True}
        async with client:
            await client.send(b"INFO " + json.dumps(info).encode() + b"\r\n")
            while b"PING" not in await client.receive():
                pass
            await client.send(b"PONG\r\n")
            await anyio.sleep_forever()

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            with anyio.fail_after(90), pytest.raises(Unsuitable, match=r"2\.9\.10.*2\.14"):
                async with open_bus(Server((f"nats://127.0.0.1:{port}",))):
                    pass
            tasks.cancel_scope.cancel()


USERS = """
authorization { users: [
  { user: core, password: right }
  { user: agent, password: right, permissions: {
      publish: { allow: ["debate.0.p.*.turn.>"] }, subscribe: { allow: ["_INBOX.agent.>"] } } }
] }
"""


@pytest.fixture
def guarded_server(tmp_path: Path) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path, config=USERS).start()
    yield server
    server.stop()


@pytest.mark.own_server
@pytest.mark.parametrize("login", ["", "core:wrong@", "nobody:right@", "token@"])
async def test_wrong_credentials_are_refused(guarded_server: NatsServer, login: str) -> None:
    url = f"nats://{login}{guarded_server.address}"
    refused = re.escape(f"credentials refused by {guarded_server.address}")
    with anyio.fail_after(90), pytest.raises(Unsuitable, match=refused):
        async with open_bus(Server((url,))):
            pass


@pytest.mark.own_server
async def test_a_refused_permission_is_said_at_once(guarded_server: NatsServer) -> None:
    async with open_bus(Server((f"nats://core:right@{guarded_server.address}",))) as core:
        await core.apply()
    agent = Server((f"nats://agent:right@{guarded_server.address}",), inbox_prefix="_INBOX.agent")
    async with open_bus(agent) as bus:
        with anyio.fail_after(60):
            assert await bus.append(entry("debate.0.p.d.turn.1.noise", "mine")) == 1
            with pytest.raises(Unsuitable, match=r"publish to debate\.0\.p\.d\.ctl\.opened"):
                await bus.append(entry("debate.0.p.d.ctl.opened", "forged"))
            with pytest.raises(Unsuitable, match="not permitted"):
                await bus.ensure_queue(QUEUE)
            with pytest.raises(Unsuitable, match="listen"):
                await bus.listen("live.>", lambda _subject, _data: None)


async def test_a_full_log_is_found_on_a_server_with_room(nats: NatsServer) -> None:
    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        await bus.append(entry("debate.0.p.d.x", "m", b"x" * 1000))
        assert await bus.refusal() == ""
        client = await connect_plainly(nats.url)
        answer = await client.request(f"$JS.API.STREAM.INFO.{bus.layout.stream}")
        config = json.loads(answer.data)["config"] | {"max_bytes": 1100, "discard": "new"}
        body = json.dumps(config).encode()
        await client.request(f"$JS.API.STREAM.UPDATE.{bus.layout.stream}", body)
        await client.close()
        assert "maximum bytes exceeded" in await bus.refusal()


@pytest.mark.own_server
async def test_a_full_server_is_named_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acks, "PATIENCE_S", 0.5)
    config = "jetstream { max_file_store: 1MB }\n"
    server = NatsServer(tmp_path, arguments=(), config=config).start()
    try:
        async with open_bus(Server((server.url,))) as bus:
            await bus.apply()
            assert await bus.refusal() == ""
            many = [entry(f"debate.0.p.d.x{n}", f"m{n}", b"x" * 100_000) for n in range(12)]
            with pytest.raises(Unavailable, match=r"refused for 0\.5 s: insufficient resources"):
                await bus.append(*many)
            assert "insufficient resources" in await bus.refusal()
    finally:
        server.stop()


async def test_a_cluster_without_a_leader_is_not_taken_for_one_that_refuses(
    nats: NatsServer,
) -> None:
    """Nor for one that has nothing."""
    description = "JetStream system temporarily unavailable"
    error = {"code": 503, "err_code": 10008, "description": description}
    api = await connect_plainly(nats.url)
    async with open_bus(Server((nats.url,))) as bus:

        async def answer(message: Msg) -> None:
            await message.respond(json.dumps({"error": error}).encode())

        await api.subscribe("some.api", cb=answer)
        await api.flush()
        with pytest.raises(Unavailable, match=description):
            await bus._replies.ask("some.api")
    await api.close()
