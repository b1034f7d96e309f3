"""The short way in must read exactly what the library would have read."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.bus.jetstream.client import DirectClient, header_of, status_of
from parley.bus.jetstream.records import nanoseconds, position_of

HEADERS = b"NATS/1.0\r\nNats-Msg-Id: m\r\n\r\n"
Message = tuple[bytes, bytes, bytes, bytes]


def spelled(message: Message, sid: int) -> bytes:
    subject, reply, data, headers = message
    address = b"%b %d %b" % (subject, sid, reply + b" " if reply else b"")
    if headers:
        sizes = b"%d %d" % (len(headers), len(headers) + len(data))
        return b"HMSG " + address + sizes + b"\r\n" + headers + data + b"\r\n"
    return b"MSG " + address + b"%d\r\n" % len(data) + data + b"\r\n"


messages = st.tuples(
    st.sampled_from([b"debate.0.p.d.turn.1.noise", b"a", b"MSG.PING"]),
    st.sampled_from([b"", b"$JS.ACK.S.q.1.2.3.4.5"]),
    st.sampled_from([b"", b"x", b"\r\nMSG a 1 3\r\nPING\r\n", b"y" * 5000]),
    st.sampled_from([b"", HEADERS]),
)


@settings(max_examples=60, deadline=None)
@given(
    stream=st.lists(st.one_of(messages, st.sampled_from([b"+OK\r\n", b"OTHER"])), max_size=12),
    sizes=st.lists(st.integers(1, 6000), min_size=1, max_size=5),
)
def test_messages_survive_any_cut(stream: list[Message | bytes], sizes: list[int]) -> None:
    async def main() -> list[Message]:
        client = DirectClient()
        got: list[Message] = []
        client._receivers[1] = lambda *message: got.append(message)
        wire = b"".join(
            spelled((b"other", b"", b"not ours", HEADERS), 2)
            if part == b"OTHER"
            else part
            if isinstance(part, bytes)
            else spelled(part, 1)
            for part in stream
        )
        at, turn = 0, 0
        while at < len(wire):
            size = sizes[turn % len(sizes)]
            await client._ps.parse(wire[at : at + size])
            at, turn = at + size, turn + 1
        assert not client._ps.buf
        return got

    assert asyncio.run(main()) == [part for part in stream if not isinstance(part, bytes)]


def test_positions_are_read_in_both_spellings() -> None:
    short = b"$JS.ACK.PARLEY.p-noise.2.41.7.1794811150197570942.3"
    long = b"$JS.ACK.hub.Xyz.PARLEY.p-noise.2.41.7.1794811150197570942.3.rnd"
    assert position_of(short) == position_of(long) == (2, 41, 7, 1794811150197570942)


def test_statuses_and_headers_are_read_from_the_block() -> None:
    block = b"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 2\r\nA:b\r\n\r\n"
    assert status_of(block) == 408
    assert header_of(block, b"Nats-Pending-Messages") == "2"
    assert header_of(block, b"A") == "b"
    assert header_of(block, b"Pending-Messages") is None
    assert status_of(HEADERS) == 0
    assert status_of(b"NATS/1.1 408 Request Timeout\r\n\r\n") == 0
    assert header_of(b"NATS/1.0\r\nA: b\r\nA: c", b"A") == "c"


def test_times_keep_their_nanoseconds() -> None:
    assert nanoseconds("2026-11-16T06:39:09.892673753Z") == 1794811149892673753
    assert nanoseconds("2026-11-16T06:39:09.5Z") == 1794811149500000000
    assert nanoseconds("2026-11-16T06:39:09Z") == 1794811149000000000
