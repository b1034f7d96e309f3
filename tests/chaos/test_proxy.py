"""The unreliable network, on its own: whole frames, and writes that arrive twice."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.port import Guard
from tests.bus.worlds import NatsServer, datas, entry
from tests.chaos.frames import Frames, published_on
from tests.chaos.proxy import FaultProxy

SAID = [
    b"CONNECT {}\r\n",
    b"PUB debate.0.p.d.x 4\r\n\r\n\r\n\r\n",
    b"PING\r\n",
    b"HPUB debate.0.p.d.y inbox.1 12 17\r\nNATS/1.0\r\n\r\nPUB x\r\n",
    b"PUB empty 0\r\n\r\n",
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    one = NatsServer(tmp_path).start()
    yield one
    one.kill()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_frames_come_out_whole_however_they_arrive(size: int) -> None:
    frames, stream = Frames(), b"".join(SAID)
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [frame for chunk in chunks for frame in frames.feed(chunk)] == SAID
    subjects = ["", "debate.0.p.d.x", "", "debate.0.p.d.y", "empty"]
    assert [published_on(frame) for frame in SAID] == subjects


async def test_what_is_sent_twice_stands_in_the_log_once(server: NatsServer) -> None:
    async with (
        FaultProxy(server.port, Random(1), log="debate.").serving() as proxy,
        open_bus(Server((proxy.url,))) as bus,
    ):
        await bus.apply()
        proxy.to_repeat = 4
        for n in range(2):
            await bus.append(entry(f"debate.0.p.d.x{n}", f"m{n}", b"by its id"))
        for n in range(2, 4):
            subject = f"debate.0.p.d.x{n}"
            await bus.append(entry(subject, f"m{n}", b"by its guard", guard=Guard(subject, 0)))
        assert proxy.repeated == 4
        assert datas(await bus.read("debate.>")) == [b"by its id"] * 2 + [b"by its guard"] * 2
        assert (await bus.position()).reached == (4,)
