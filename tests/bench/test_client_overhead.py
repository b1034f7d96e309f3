"""What the client adds to a debate: in turns with the same debate written and followed in the log."""

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from statistics import median

import anyio

import parley
from parley import until
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.port import Record
from parley.bus.subjects import CLOSED, DebateRef
from parley.testing import Scripted, world

DEBATES, TURNS = 8, 9
# Of the whole debate's CPU, its coordinator's and personas' included; guards against a blunder.
ALLOWED = 1.5
PANEL = parley.Panel("cost", labels=["no", "yes"], stop=until.rounds(2))
for _name in ("ann", "ben", "cem"):
    PANEL.seat(_name, Scripted("no", "yes"))


async def by_the_client(client: parley.Client, name: str) -> None:
    await (await client.submit(PANEL, "Is it so?", id=name)).result()


async def by_the_log(client: parley.Client, name: str) -> None:
    journal, ref, closed = client.journal, DebateRef("cost", name), anyio.Event()
    last = journal.subjects.at(ref, CLOSED)

    def on(records: Sequence[Record]) -> None:
        if any(one.subject == last for one in records):
            closed.set()

    about = DebateInput(text="Is it so?")
    await journal.submit(ref, Submitted(panel=PANEL.resolved(), input=about))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(journal.follow, ref, on=on))
        await closed.wait()
        tasks.cancel_scope.cancel()


async def cpu_of(
    way: Callable[[parley.Client, str], Awaitable[None]], client: parley.Client, name: str
) -> float:
    began = time.process_time()
    for number in range(DEBATES):
        await way(client, f"{name}-{number}")
    return time.process_time() - began


async def compare(client: parley.Client) -> float:
    ratios = []
    for turn in range(TURNS):
        bare = await cpu_of(by_the_log, client, f"log{turn}")
        ratios.append(await cpu_of(by_the_client, client, f"client{turn}") / bare)
    return median(ratios)


def test_the_client_costs_little_beside_the_debate() -> None:
    ratio = world(PANEL).run(compare)
    print(f"CPU of a debate by the client, against the log itself: {ratio:.2f}")
    assert ratio <= ALLOWED
