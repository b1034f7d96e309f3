"""
Two hundred viewers, and many debates. The figures are printed (pytest -s).

As a script it fills a log with as many debates as wanted and measures the server that lists them:

    python -m tests.web.test_load 10000
"""

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from typing_extensions import override

from parley.bus.codec import encode
from parley.bus.contracts.facts import Fact
from parley.bus.journal import Journal
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef, tail_of
from tests.bus.worlds import NatsServer
from tests.debates import STALEMATE, panel, play
from tests.processes import open_journal
from tests.web.client import Client
from tests.web.served import Served, serving
from tests.web.site import recorded, write

VIEWERS = 200
PACE_S = 0.03
TRIES = 2
WITHIN_S = 0.25
BATCH = 40
_ID = re.compile(rb"^id: (\d+)", re.MULTILINE)
_END = b"event: end"


class Viewer(asyncio.Protocol):
    """Notes which facts arrive and when, and does nothing else."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self.arrived: list[tuple[int, float]] = []
        self.joined = asyncio.Event()
        self.ended = asyncio.Event()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    @override
    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self.joined.set()
        whole, _, self._rest = (self._rest + data).rpartition(b"\n")
        self.arrived += [(int(number), now) for number in _ID.findall(whole)]
        if _END in whole:
            self.ended.set()


def long_debate() -> list[Fact]:
    facts, _ = play(panel(max_rounds=19, stalemate_threshold=50), STALEMATE)
    assert len(facts) >= 100
    return facts


async def test_two_hundred_viewers_miss_nothing(nats: NatsServer, tmp_path: Path):
    """Nobody ever misses a fact; what is in time depends on how busy others keep the machine."""
    facts = long_debate()
    async with open_journal(nats.url) as journal:
        with serving(nats.url, tmp_path) as served:
            before = served.resident_mb
            for number in range(TRIES):
                p99 = await watched(journal, served, DebateRef("forensic", f"d{number}"), facts)
                if p99 <= in_time():
                    break
            grown = served.resident_mb - before
    assert p99 <= in_time()
    assert grown < 40


def in_time() -> float:
    """A quarter of a second; in proportion where more wants to run than there are processors."""
    return WITHIN_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


async def watched(journal: Journal, served: Served, ref: DebateRef, facts: Sequence[Fact]) -> float:
    """The time from a fact's writing to a viewer's reading that 99 of 100 keep."""
    await write(journal, ref, facts[:2])
    before, worked = served.resident_mb, served.cpu_s
    viewers = await join(f"{served.page}/debates/{ref.id}/events", VIEWERS)
    written: dict[int, float] = {}
    for ordinal, fact in enumerate(facts[2:], start=2):
        written[ordinal] = time.perf_counter()
        await write(journal, ref, [fact])
        await anyio.sleep(PACE_S)
    with anyio.fail_after(60):
        for viewer in viewers:
            await viewer.ended.wait()
    for viewer in viewers:
        assert [number for number, _ in viewer.arrived] == list(range(len(facts)))
    delays = sorted(
        at - written[number]
        for viewer in viewers
        for number, at in viewer.arrived
        if number in written
    )
    p99 = delays[int(len(delays) * 0.99)]
    report(
        f"{VIEWERS} viewers, {len(facts)} facts: median {delays[len(delays) // 2] * 1e3:.0f} ms,"
        f" p99 {p99 * 1e3:.0f} ms, slowest {delays[-1] * 1e3:.0f} ms; server {before:.0f} ->"
        f" {served.resident_mb:.0f} MB, {served.cpu_s - worked:.1f} s of a processor;"
        f" load {os.getloadavg()[0]:.1f} on {os.cpu_count()}"
    )
    return p99


async def join(url: str, count: int) -> list[Viewer]:
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None
    request = f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    viewers = []
    for _ in range(count):
        _, viewer = await loop.create_connection(
            lambda: Viewer(request), address.hostname, address.port
        )
        await viewer.joined.wait()
        viewers.append(viewer)
    return viewers


def report(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")


async def test_many_debates_are_listed_soon(nats: NatsServer, tmp_path: Path):
    figures = await measure(nats, tmp_path, 1000)
    assert figures.rebuilt_s < 15
    assert figures.first_list_s < 1
    assert figures.grown_mb < 30


@dataclass
class Figures:
    rebuilt_s: float
    first_list_s: float
    # Against a server with nothing to list.
    grown_mb: float


async def measure(nats: NatsServer, home: Path, debates: int) -> Figures:
    facts = recorded("absa/flip.jsonl")
    async with open_journal(nats.url) as journal:
        with serving(nats.url, home) as served:
            empty = await settled(served)
        began = time.perf_counter()
        await fill(journal, debates, facts)
        filled = time.perf_counter() - began
        with serving(nats.url, home) as served:
            client = Client(served.page, {})
            began = time.perf_counter()
            listed = (await client.get("/debates?limit=100")).json
            first = time.perf_counter() - began
            began = time.perf_counter()
            found = (await client.get("/debates?text=no%20such%20text")).json
            searched = time.perf_counter() - began
            health = (await client.get("/healthz")).json
            worked = served.cpu_s
            grown = await settled(served) - empty
    assert (listed["total"], len(listed["debates"]), found["total"]) == (debates, 100, 0)
    assert health["debates"] == debates
    report(
        f"{debates} debates x {len(facts)} facts: written in {filled:.1f} s, rebuilt in"
        f" {health['rebuilt_in_s']} s, first list {first * 1e3:.0f} ms, a search"
        f" {searched * 1e3:.0f} ms, {empty:.0f} MB + {grown:.1f} MB,"
        f" {worked:.1f} s of a processor since the start of the process"
    )
    return Figures(health["rebuilt_in_s"], first, grown)


async def settled(served: Served) -> float:
    client = Client(served.page, {})
    await client.get("/debates")
    await anyio.sleep(0.2)
    return served.resident_mb


async def fill(journal: Journal, debates: int, facts: Sequence[Fact]) -> None:
    written = [(tail_of(fact), encode(fact)) for fact in facts]
    subjects = journal.subjects
    for start in range(0, debates, BATCH):
        refs = [DebateRef("absa", f"d{n}") for n in range(start, min(start + BATCH, debates))]
        await journal.bus.append(
            *(
                Entry(subjects.at(ref, tail), data, f"{ref.id}.{tail}")
                for ref in refs
                for tail, data in written
            )
        )


async def main(debates: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        server = NatsServer(Path(home)).start()
        try:
            await measure(server, Path(home), debates)
        finally:
            server.stop()


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]))
