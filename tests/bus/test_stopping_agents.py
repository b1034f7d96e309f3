"""An agent that is told to stop, asked of both buses."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio

from parley.agents.brain import Answer, Task
from parley.agents.forensic.labels import Verdict
from parley.agents.worker import REDELIVERED, TURNS, Worker, WorkerOptions
from parley.bus.contracts.facts import Ask
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.bus.journal import Journal
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import World, until

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]
REF = DebateRef("forensic", "d1")
DRAIN_S = 1.0


class Thinker:
    name = "thinker"

    def __init__(self, thinks_s: float) -> None:
        self.thinks_s = thinks_s
        self.begun = 0

    async def speak(self, task: Task) -> Answer:
        del task
        self.begun += 1
        await anyio.sleep(self.thinks_s)
        return Answer(Statement(verdict=Verdict.AUTHENTIC, confidence=0.5))


def worker(journal: Journal, brain: Thinker) -> Worker:
    options = WorkerOptions(drain_s=DRAIN_S, ack_wait_s=30.0)
    return Worker(journal, "forensic", "noise", brain, options)


async def ask(journal: Journal) -> None:
    given = Ask(
        step="opening",
        personas=("noise",),
        input=DebateInput(text="a photograph"),
        request=OpeningRequest(),
        deadline_s=60.0,
    )
    subject = journal.subjects.at(REF, "ctl.ask.opening.noise")
    await journal.bus.append(Entry(subject, given.model_dump_json().encode(), subject))


async def turns(journal: Journal) -> int:
    return len(await journal.bus.read(journal.subjects.at(REF, "turn.>")))


async def test_a_thought_that_ends_in_time_is_spoken(world: OpenWorld) -> None:
    stop = anyio.Event()
    brain = Thinker(DRAIN_S / 3)
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        one = worker(journal, brain)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.run, stop)
            await one.ready.wait()
            await ask(journal)
            await until(lambda: brain.begun == 1)
            assert one.describe().figures["in_flight"] == 1
            stop.set()
        assert await turns(journal) == 1
        assert (one.metrics.total(TURNS), one.describe().figures["in_flight"]) == (1, 0)


async def test_a_thought_that_takes_too_long_goes_to_another_at_once(world: OpenWorld) -> None:
    stop = anyio.Event()
    slow, quick = Thinker(100.0), Thinker(0.0)
    async with world() as w, w.connect() as bus, w.connect() as second:
        journal, elsewhere = Journal(bus, Subjects(w.prefix)), Journal(second, Subjects(w.prefix))
        one, other = worker(journal, slow), worker(elsewhere, quick)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.run, stop)
            await one.ready.wait()
            await ask(journal)
            await until(lambda: slow.begun == 1)
            began = anyio.current_time()
            stop.set()
        assert DRAIN_S <= anyio.current_time() - began + 0.01 < slow.thinks_s
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other.run)
            with anyio.fail_after(60):
                while await turns(journal) == 0:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()
        assert await turns(journal) == 1
        assert (slow.begun, quick.begun) == (1, 1)
        assert other.metrics.total(REDELIVERED) == 1
