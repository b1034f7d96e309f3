"""
What archived debates cost that are only there: the server's memory, and a coordinator's start.

    python -m tests.bench.growth --first 10000 --archived 200000 --open 10000

The records are written straight, small ones with a body; the open debates wait for nobody.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import anyio

from parley.bus.archive import SUMMARY
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.service.archiver import Archiving
from parley.coordinator.service.coordinator import Coordinator
from tests.bench.listing import summary_of_number
from tests.bus.worlds import NatsServer
from tests.debates import STALEMATE, panel, play
from tests.web.site import entry

# About what a small debate comes to, compressed.
BODY = os.urandom(1500)
AT_ONCE = 500


async def fill(bus: JetStreamBus, start: int, end: int) -> None:
    client, subjects = bus._connection.client, Subjects()
    for number in range(start, end):
        line = summary_of_number(number).model_dump_json(exclude_defaults=True)
        header = f"NATS/1.0\r\n{SUMMARY}{line}\r\n\r\n".encode()
        client.post(subjects.archive(DebateRef("review", f"n{number}")), BODY, headers=header)
        if client.congested or number % AT_ONCE == 0:
            await client.relief()
    while (await bus.archive.extent()).records < end:  # noqa: ASYNC110 - nobody tells
        await anyio.sleep(0.2)


async def ready_in_s(url: str) -> float:
    async with open_bus(Server((url,))) as bus, anyio.create_task_group() as tasks:
        began = time.monotonic()
        coordinator = Coordinator(Journal(bus, Subjects()), "bench", archiving=Archiving(60.0))
        tasks.start_soon(coordinator.run)
        await coordinator.ready.wait()
        took = time.monotonic() - began
        tasks.cancel_scope.cancel()
    return took


async def measure(server: NatsServer, first: int, archived: int, waiting: int) -> dict[str, float]:
    facts, _ = play(panel(), STALEMATE)
    asked = next(n for n, one in enumerate(facts) if one.type == "asked") + 1
    async with open_bus(Server((server.url,))) as bus:
        await bus.apply()
        journal = Journal(bus, Subjects())
        await fill(bus, 0, first)
        before = _server_kb(server)
        await fill(bus, first, archived)
        after = _server_kb(server)
        for number in range(waiting):
            ref = DebateRef("forensic", f"o{number}")
            for fact in facts[:asked]:
                bus.offer(entry(journal, ref, fact))
            if number % AT_ONCE == 0:
                await bus.append(entry(journal, DebateRef("forensic", f"x{number}"), facts[0]))
    return {
        "first": first,
        "archived": archived,
        "open": waiting,
        "kb_of_server_memory_a_debate": round((after - before) / (archived - first), 3),
        "ready_in_s": round(await ready_in_s(server.url), 3),
    }


def _server_kb(server: NatsServer) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return float(status.partition("VmRSS:")[2].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=10_000)
    parser.add_argument("--archived", type=int, default=200_000)
    parser.add_argument("--open", type=int, default=10_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        server = NatsServer(Path(home)).start()
        try:
            figures = anyio.run(measure, server, wanted.first, wanted.archived, wanted.open)
        finally:
            server.stop()
    sys.stdout.write(f"{json.dumps(figures, indent=1)}\n")


if __name__ == "__main__":
    main()
