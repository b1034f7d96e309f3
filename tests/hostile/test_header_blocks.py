"""
Header blocks as nobody should write them, sent by hand over a socket.

However a record is read, it is the same record: at its own place, on its own subject, and forged or
not. None of them ends a reader, and what stands behind it is read as well.
"""

from collections.abc import Iterator, Sequence

import anyio
import pytest

from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.jetstream.reader import repeated_record
from parley.bus.jetstream.records import record_of_json
from parley.bus.port import Delivery, Queue, Record
from tests.bus.worlds import NatsServer
from tests.hostile.intruder import intruder

WITHIN_S = 60.0
HONEST = {
    "none at all": b"NATS/1.0\r\n\r\n",
    "a guard and an id": b"NATS/1.0\r\nNats-Msg-Id: m\r\nNats-Expected-Last-Subject-Sequence: 0\r\n\r\n",
    "a value": b"NATS/1.0\r\nce-source: /p/nats-subject:\r\n\r\n",
}
FORGED = {
    "subject": b"NATS/1.0\r\nNats-Subject: debate.0.p.d.ctl.closed\r\n\r\n",
    "all of them": b"NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: debate.0.p.d.cancel\r\n"
    b"Nats-Sequence: 1\r\nNats-Time-Stamp: 2001-01-01T00:00:00Z\r\n\r\n",
    "no number": b"NATS/1.0\r\nNats-Sequence: x\r\n\r\n",
    "a huge number": b"NATS/1.0\r\nNats-Sequence: " + b"9" * 4000 + b"\r\n\r\n",
    "capital letters": b"NATS/1.0\r\nNATS-SUBJECT: debate.0.p.d.ctl.closed\r\n\r\n",
    "small letters": b"NATS/1.0\r\nnats-sequence: 7\r\n\r\n",
    "line feeds": b"NATS/1.0\nNats-Subject: debate.0.p.d.ctl.closed\n\n",
    "how many follow": b"NATS/1.0\r\nNats-Num-Pending: x\r\nNats-Last-Sequence: x\r\n\r\n",
    "a second block": b"NATS/1.0\r\nA: b\r\n\r\nNATS/1.0 503\r\nNats-Sequence: 9\r\n\r\n",
    "cut short within a name": b"NATS/1.0\r\nA: b\r\nNats-Seq",
    "cut short behind a stream": b"NATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: 5\r\nxy",
    "why it is gone": b"NATS/1.0\r\nNats-Marker-Reason: MaxAge\r\n\r\n",
}
ODD = {
    "a status": b"NATS/1.0 408 Request Timeout\r\nA: b\r\n\r\n",
    "the end of a batch": b"NATS/1.0 204 EOB\r\n\r\n",
    "no protocol, a status": b"NATS/1.1 408 Request Timeout\r\nA: b\r\n\r\n",
    "no protocol, nobody there": b"xxxxxxxx 503\r\n\r\n",
    "cut short": b"NATS/1.0\r\nA: b",
    "no block": b"garbage",
    "line breaks only": b"\r\n\r\n\r\n",
    "bytes": bytes(range(256)),
}
STATUS_OF_A_PULL = b"NATS/1.1 409 x\r\nNats-Pending-Messages: x\r\n\r\n"
BLOCKS = [*HONEST.values(), *FORGED.values(), *ODD.values(), STATUS_OF_A_PULL]
EVERYTHING = "debate.0.p.>"
LAST = "debate.0.p.last.turn.s.p"


@pytest.fixture
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path_factory.mktemp("nats")).start()
    yield server
    server.stop()


def attack(nats: NatsServer) -> None:
    with intruder(nats.port) as someone:
        for number, block in enumerate(BLOCKS):
            someone.publish_with(b"debate.0.p.d%d.turn.s.p" % number, block, b"{}")
        someone.publish(LAST.encode(), b"{}")
        someone.flush()


async def until_last(records: Sequence[Record]) -> None:
    while not records or records[-1].subject != LAST:  # noqa: ASYNC110 - a plain list
        await anyio.sleep(0.01)


async def test_every_way_of_reading_gives_the_same_records(nats: NatsServer) -> None:
    tailed: list[Record] = []
    handed: list[Record] = []
    repeated: list[Record] = []

    async def handle(delivery: Delivery) -> None:
        handed.append(delivery.record)
        await delivery.ack()

    async with open_bus(Server((nats.url,))) as bus:
        await bus.apply()
        await bus.ensure_queue(Queue("q", (EVERYTHING,)))
        with anyio.fail_after(WITHIN_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: bus.hear(EVERYTHING, on=repeated.extend))
                await anyio.wait_all_tasks_blocked()
                await bus._connection.client.understood(int(WITHIN_S))
                await anyio.to_thread.run_sync(attack, nats)
                tasks.start_soon(lambda: bus.tail([EVERYTHING], start=1, on=tailed.extend))
                tasks.start_soon(bus.work, "q", 1, handle)
                await until_last(tailed)
                await until_last(handed)
                await until_last(repeated)
                tasks.cancel_scope.cancel()
            read = await bus.read(EVERYTHING)
            assert [one.sequence for one in read] == [*range(1, len(BLOCKS) + 2)]
            assert [one.subject for one in read[:-1]] == [
                f"debate.0.p.d{number}.turn.s.p" for number in range(len(BLOCKS))
            ]
            assert tailed == handed == repeated == read
            for one in read:
                assert await bus.record(one.sequence) == one
                assert await bus.newest(one.subject) == one
                assert await from_the_leader(bus, one.sequence) == one
    forged = [one.forged for one in read]
    start, end = len(HONEST), len(HONEST) + len(FORGED)
    assert not any(forged[:start])
    assert all(forged[start:end])


async def from_the_leader(bus: JetStreamBus, sequence: int) -> Record:
    message = await bus._streams.first.log.from_leader({"seq": sequence})
    assert message is not None
    return record_of_json(message)


@pytest.mark.parametrize("block", BLOCKS)
def test_what_is_said_beside_the_log_is_no_record_of_it(block: bytes) -> None:
    """A persona may say anything on its own `live` subject, with any headers."""
    found = repeated_record("live.debate.0.p.d.partial.s.p", b"{}", block)
    assert found is None or found.subject == "debate.0.p.d.partial.s.p"
    assert found is None or found.sequence < 2**64
