"""
How long the list of very many archived debates takes to be built, and its pages afterwards.

    python -m tests.bench.listing --debates 1000000

The archive's records are written straight, each with the headers that a list reads and no body.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio

from parley.bus.archive import SUMMARY, Summary
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects
from parley.console.listing.debates import open_list
from parley.listing import Wanted
from parley.reading import Reading
from tests.bus.worlds import NatsServer

BEGAN_NS = 1_700_000_000 * 10**9
AT_ONCE = 500
PANELS = ("review", "triage", "rare")
QUESTIONS = {
    "first page": Wanted(),
    "a rare panel": Wanted(panel="rare"),
    "failed ones": Wanted(state="failed"),
    "search": Wanted(text="number 12345"),
}


async def fill(bus: JetStreamBus, debates: int) -> None:
    client, subjects = bus._connection.client, Subjects()
    for number in range(debates):
        ref = DebateRef(PANELS[2 if number % 1000 == 0 else number % 2], f"n{number}")
        line = summary_of_number(number).model_dump_json(exclude_defaults=True)
        header = f"NATS/1.0\r\n{SUMMARY}{line}\r\n\r\n".encode()
        client.post(subjects.archive(ref), b"", headers=header)
        if client.congested or number % AT_ONCE == 0:
            await client.relief()
    with anyio.fail_after(600):
        while (await bus.archive.extent()).records < debates:  # noqa: ASYNC110
            await anyio.sleep(0.2)


def summary_of_number(number: int) -> Summary:
    return Summary(
        protocol="verdicts",
        topic=f"Should change number {number} be merged as it is, or after another review?",
        status="failed" if number % 500 == 0 else "completed",
        reason="consensus_reached",
        answer="approve",
        confidence=0.8,
        labels=(("reject", "bad"), ("approve", "good")),
        step="round-2",
        submitted_ns=BEGAN_NS + number * 10**9,
        closed_ns=BEGAN_NS + number * 10**9 + 10**8,
        facts=15,
        stream="PARLEY",
        through=15 * number + 15,
        chain=f"{number:064x}",
    )


async def measure(url: str, folder: Path, debates: int) -> dict[str, float]:
    async with open_bus(Server((url,))) as bus:
        await bus.apply()
        began = time.monotonic()
        await fill(bus, debates)
        figures = {"debates": float(debates), "written_in_s": time.monotonic() - began}
    before = _peak_mib()
    for built in ("built_in_s", "opened_again_in_s"):
        async with open_bus(Server((url,))) as bus:
            journal = Journal(bus, Subjects())
            async with (
                open_list(Reading(journal), folder) as found,
                anyio.create_task_group() as tasks,
            ):
                began = time.monotonic()
                tasks.start_soon(found.follow)
                await found.ready.wait()
                figures[built] = time.monotonic() - began
                for name, wanted in QUESTIONS.items():
                    began = time.monotonic()
                    page = await found.page(wanted, 50)
                    figures[f"{name}, s"] = time.monotonic() - began
                    assert page.rows, name
                    if page.following is not None:
                        began = time.monotonic()
                        await found.page(wanted, 50, page.following)
                        figures[f"{name}, next page, s"] = time.monotonic() - began
                tasks.cancel_scope.cancel()
    figures["more_memory_mib"] = _peak_mib() - before
    figures["file_mib"] = _size_mib(folder)
    return figures


def _size_mib(folder: Path) -> float:
    return sum(one.stat().st_size for one in folder.iterdir()) / 2**20


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def listing(debates: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home:
        server = NatsServer(Path(home)).start()
        try:
            folder = Path(home) / "list"
            figures = anyio.run(measure, server.url, folder, debates)
        finally:
            server.stop()
    return {name: round(value, 3) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=100_000)
    sys.stdout.write(f"{json.dumps(listing(parser.parse_args().debates), indent=1)}\n")


if __name__ == "__main__":
    main()
