"""Whoever reads slowly slows the reading down: what is read ahead stays bounded, and nothing is lost."""

from collections.abc import Callable, Sequence
from contextlib import aclosing

import anyio

from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.port import Entry, Record
from parley.bus.position import Position
from parley.bus.subjects import DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.following import Following

REF = DebateRef("merge", "one")
RECORDS, MOST = 200, 10


def test_reading_pauses_and_goes_on_without_a_gap() -> None:
    async def main() -> tuple[list[int], int]:
        seen: list[int] = []
        ahead = 0
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            journal = Journal(server.client(), Subjects())
            filters = journal.subjects.facts()

            async def tail(start: Position, on: Callable[[Sequence[Record]], None]) -> None:
                await journal.bus.tail(filters, start=start, on=on)

            following = Following(journal, tail, most=MOST)
            async with aclosing(following.facts(tasks)) as facts:
                tasks.start_soon(write, journal)
                async for one in facts:
                    seen.append(one.sequence)
                    ahead = max(ahead, len(following._read))
                    await anyio.sleep(0.5)
                    if len(seen) == RECORDS:
                        break
            tasks.cancel_scope.cancel()
        return seen, ahead

    async def write(journal: Journal) -> None:
        for number in range(RECORDS):
            subject = journal.subjects.at(REF, f"fired.step-{number}")
            data = f'{{"type":"fired","version":1,"step":"step-{number}"}}'.encode()
            await journal.bus.append(Entry(subject, data, subject))
            await anyio.sleep(0.01)

    seen, ahead = anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
    assert seen == list(range(1, RECORDS + 1))
    assert ahead <= MOST
