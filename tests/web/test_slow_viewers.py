"""Those who do not read: dropped, without harm to others, and welcome again."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import anyio
import psutil
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from parley.agents.verdicts.script import Line, VerdictScript
from parley.bus.codec import encode
from parley.bus.contracts.facts import Fact, TurnTaken
from parley.bus.subjects import DebateRef
from parley.console.web import connections, server, sse
from tests.debates import panel, play
from tests.web.client import Client, read_events, read_head
from tests.web.site import OpenLog, site, write

ONE = DebateRef("forensic", "one")
ROSTER = tuple(f"p{number}" for number in range(120))
LOUD = Line(verdict="authentic", confidence=0.9, reasoning="x" * 19_999)
TURNS = 3
AFTER_TURNS = TURNS + len(ROSTER)


def loud_debate() -> list[Fact]:
    """
    Every turn is asked for: viewers are not told of one that is not.

    It closes undecided: a decision repeats all that was said, which no record can hold.
    """
    facts, _ = play(panel(ROSTER), VerdictScript(rounds=(dict.fromkeys(ROSTER, LOUD),)))
    return [*facts[:AFTER_TURNS], facts[-1]]


FACTS = loud_debate()
# Of a viewer who reads nothing: room for what stands before the turns.
RECEIVE_BUFFER_BYTES = 64 * 1024


def test_the_turns_fit_into_no_buffer_on_the_way():
    turns = FACTS[TURNS:AFTER_TURNS]
    assert all(isinstance(one, TurnTaken) for one in turns)
    assert sum(len(encode(one)) for one in turns) > 2_400_000


@pytest.mark.parametrize(
    ("sent_within_s", "unread_ms"),
    [
        pytest.param(1.0, 600_000, id="by-the-server"),
        pytest.param(
            600.0,
            800,
            id="by-the-kernel",
            marks=pytest.mark.skipif(
                not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this kernel waits for ever"
            ),
        ),
    ],
)
async def test_who_does_not_read_is_dropped_and_can_come_back(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch, sent_within_s: float, unread_ms: int
):
    monkeypatch.setattr(sse, "SENT_WITHIN_S", sent_within_s)
    monkeypatch.setattr(sse, "LOOKED_AT_EVERY_S", 0.05)
    monkeypatch.setattr(server, "UNREAD_MS", unread_ms)
    async with log() as journal:
        await write(journal, ONE, FACTS[:TURNS])
        async with site(journal) as client:
            with never_reading(client) as lazy:
                await viewers(client, 1)
                async with client.events("/debates/one/events") as events:
                    got = []
                    for turn in FACTS[TURNS:AFTER_TURNS]:
                        await write(journal, ONE, [turn])
                        with anyio.fail_after(60):
                            got.append((await anext(events)).data["ordinal"])
                    with anyio.fail_after(60):
                        got += [(await anext(events)).data["ordinal"] for _ in range(TURNS)]
                    assert got == list(range(AFTER_TURNS))
                    await viewers(client, 1)
                seen = await what_arrived(lazy)
            assert 0 < len(seen) < AFTER_TURNS
            assert seen == list(range(len(seen)))
            await write(journal, ONE, FACTS[AFTER_TURNS:])
            rest = await client.collect("/debates/one/events", Last_Event_ID=str(seen[-1]))
            numbers = [one.id for one in rest if one.name == "fact"]
            assert seen + numbers == list(range(len(FACTS)))
            began = anyio.current_time()
        assert anyio.current_time() - began < 60


def holds(one: socket.socket) -> bool:
    """Whether the server, which is this process, still has the other end."""
    open_ends = psutil.Process().net_connections("tcp")
    return any(end.raddr == one.getsockname() for end in open_ends)


def never_reading(client: Client, path: str = "/debates/one/events") -> socket.socket:
    address = urlsplit(client.url)
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    lazy.connect((address.hostname, address.port))
    lazy.sendall(f"GET {path} HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
    return lazy


async def viewers(client: Client, wanted: int) -> None:
    with anyio.fail_after(60):
        while (await client.get("/healthz")).json["viewers"] != wanted:  # noqa: ASYNC110
            await anyio.sleep(0.02)


async def what_arrived(lazy: socket.socket) -> list[int]:
    """The ids of the events that arrived whole before the connection was cut, wherever it was."""
    seen = []
    async with await anyio.abc.SocketStream.from_socket(lazy) as stream:
        buffered = BufferedByteReceiveStream(stream)
        await read_head(buffered)
        with anyio.fail_after(60), suppress(anyio.BrokenResourceError, anyio.IncompleteRead):
            async for one in read_events(buffered):
                seen.append(one.id)  # noqa: PERF401 - what came before the cut counts
    return [number for number in seen if number is not None]


async def test_an_answer_that_is_not_taken_is_given_up(
    log: OpenLog, monkeypatch: pytest.MonkeyPatch
):
    """The kernel would wait for ever for somebody who takes a byte now and then."""
    monkeypatch.setattr(connections, "TAKEN_WITHIN_S", 0.3)
    monkeypatch.setattr(server, "UNREAD_MS", 600_000)
    async with log() as journal:
        await write(journal, ONE, FACTS[:AFTER_TURNS])
        async with site(journal) as client:
            with never_reading(client, "/debates/one/export") as lazy:
                assert await anyio.to_thread.run_sync(lazy.recv, 1)
                with anyio.fail_after(90):
                    while holds(lazy):  # noqa: ASYNC110 - nobody tells
                        await anyio.sleep(0.02)
            assert (await client.get("/debates/one/export")).status == 200
