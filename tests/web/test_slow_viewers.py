"""Those who do not read: dropped, without harm to others, and welcome again."""

import socket
from urllib.parse import urlsplit

import anyio
import psutil
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.facts import Fact, TurnTaken
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.subjects import DebateRef
from parley.console.web import connections, server, sse
from tests.debates import STALEMATE, panel, play
from tests.web.client import Client, read_events, read_head
from tests.web.site import OpenLog, site, write

ONE = DebateRef("forensic", "one")
FACTS, _ = play(panel(), STALEMATE)
LOUD = 120


def loud_turns() -> list[Fact]:
    """2.4 MB that no buffer on the way can hold."""
    said = Statement(verdict=Verdict.AUTHENTIC, confidence=0.5, reasoning="x" * 19_999)
    return [TurnTaken(step="opening", persona=f"p{number}", content=said) for number in range(LOUD)]


async def test_who_does_not_read_is_dropped_and_can_come_back(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sse, "SENT_WITHIN_S", 1.0)
    monkeypatch.setattr(sse, "LOOKED_AT_EVERY_S", 0.05)
    monkeypatch.setattr(server, "UNREAD_MS", 800)
    async with log() as journal:
        await write(journal, ONE, FACTS[:3])
        async with site(journal) as client:
            with never_reading(client) as lazy:
                await viewers(client, 1)
                async with client.events("/debates/one/events") as events:
                    got = []
                    for turn in loud_turns():
                        await write(journal, ONE, [turn])
                        with anyio.fail_after(60):
                            got.append((await anext(events)).data["ordinal"])
                    with anyio.fail_after(60):
                        got += [(await anext(events)).data["ordinal"] for _ in range(3)]
                    assert got == list(range(3 + LOUD))
                    await viewers(client, 1)
                seen = await what_arrived(lazy)
            assert 0 < len(seen) < 3 + LOUD
            assert seen == list(range(1, len(seen) + 1))
            await write(journal, ONE, FACTS[3:])
            rest = await client.collect("/debates/one/events", Last_Event_ID=str(seen[-1]))
            numbers = [one.id for one in rest if one.name == "fact"]
            assert seen + numbers == list(range(1, len(FACTS) + LOUD + 1))
            began = anyio.current_time()
        assert anyio.current_time() - began < 20


def holds(one: socket.socket) -> bool:
    """Whether the server, which is this process, still has the other end."""
    open_ends = psutil.Process().net_connections("tcp")
    return any(end.raddr == one.getsockname() for end in open_ends)


def never_reading(client: Client, path: str = "/debates/one/events") -> socket.socket:
    address = urlsplit(client.url)
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lazy.connect((address.hostname, address.port))
    lazy.sendall(f"GET {path} HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
    return lazy


async def viewers(client: Client, wanted: int) -> None:
    with anyio.fail_after(60):
        while (await client.get("/healthz")).json["viewers"] != wanted:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def what_arrived(lazy: socket.socket) -> list[int]:
    """The ids of the events that were under way when the server gave up."""
    async with await anyio.abc.SocketStream.from_socket(lazy) as stream:
        buffered = BufferedByteReceiveStream(stream)
        await read_head(buffered)
        return [one.id async for one in read_events(buffered) if one.id is not None]


async def test_an_answer_that_is_not_taken_is_given_up(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    """The kernel would wait for ever for somebody who takes a byte now and then."""
    monkeypatch.setattr(connections, "TAKEN_WITHIN_S", 0.3)
    monkeypatch.setattr(server, "UNREAD_MS", 600_000)
    async with log() as journal:
        await write(journal, ONE, [*FACTS[:3], *loud_turns()])
        async with site(journal) as client:
            with never_reading(client, "/debates/one/export") as lazy:
                assert await anyio.to_thread.run_sync(lazy.recv, 1)
                with anyio.fail_after(30):
                    while holds(lazy):  # noqa: ASYNC110 - nobody tells
                        await anyio.sleep(0.02)
            assert (await client.get("/debates/one/export")).status == 200
