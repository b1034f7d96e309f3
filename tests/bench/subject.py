"""Parley under the same load: the real coordinator, the real workers, scripted brains."""

from collections.abc import Sequence

import anyio
from anyio.abc import TaskGroup

from parley.agents.script import ScriptedBrain, parse_script
from parley.agents.worker import Worker, WorkerOptions
from parley.bus.contracts.facts import Submitted
from parley.bus.contracts.panel import DebateInput
from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.port import Record
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.service.coordinator import Coordinator
from tests.bench.floor import ARGUMENT
from tests.debates import ROSTER, panel

# Somebody changes in every round and nobody agrees: the three rounds are played to the end.
SCRIPT = parse_script(
    f"""
    rounds:
      - frequency: [ai_generated, 0.80, "{ARGUMENT * 2}"]
        noise: [authentic, 0.80, "{ARGUMENT * 2}"]
        watermark: [uncertain, 0.50, "{ARGUMENT * 2}"]
        spatial: [manipulated, 0.60, "{ARGUMENT * 2}"]
      - {{spatial: [authentic, 0.60]}}
      - {{spatial: [manipulated, 0.60]}}
      - {{spatial: [authentic, 0.60]}}
    """
)
SUBMITTED = Submitted(panel=panel(), input=DebateInput(text="bench"))


async def agents(url: str, tasks: TaskGroup) -> None:
    """The four personas in one process, on one connection, as `parley agent` seats them."""
    journal = Journal(await hold_open(url, tasks), Subjects())
    for persona in ROSTER:
        options = WorkerOptions(concurrency=200)
        worker = Worker(journal, "forensic", persona, ScriptedBrain(SCRIPT), options)
        tasks.start_soon(worker.run)
        await worker.ready.wait()


async def hold_open(url: str, tasks: TaskGroup) -> JetStreamBus:
    opened: list[JetStreamBus] = []
    ready = anyio.Event()

    async def hold() -> None:
        async with open_bus(Server(urls=(url,))) as bus:
            opened.append(bus)
            ready.set()
            await anyio.sleep_forever()

    tasks.start_soon(hold)
    await ready.wait()
    return opened[0]


class Debates:
    """The coordinator, and a client that submits and waits for the closings, in one process."""

    def __init__(self) -> None:
        self._closing: dict[str, anyio.Event] = {}
        self._journal: Journal

    async def start(self, url: str, tasks: TaskGroup) -> None:
        bus = await hold_open(url, tasks)
        await bus.apply()
        self._journal = Journal(bus, Subjects())
        coordinator = Coordinator(self._journal, "bench")
        tasks.start_soon(coordinator.run)
        await coordinator.ready.wait()
        start = await bus.position()

        async def closings() -> None:
            await bus.tail([Subjects().closings()], start=start, on=self._on_closed)

        tasks.start_soon(closings)

    def _on_closed(self, records: Sequence[Record]) -> None:
        for record in records:
            closing = self._closing.pop(record.subject.split(".")[3], None)
            if closing is not None:
                closing.set()

    async def leave_open(self, count: int) -> None:
        """Debates that wait for agents that do not exist."""
        patient = SUBMITTED.model_copy(update={"panel": panel(deadline_s=3600)})
        opened = anyio.Event()
        last = self._journal.subjects.at(
            DebateRef("forensic", f"idle{count - 1}"), "ctl.ask.opening.all"
        )

        def on(records: Sequence[Record]) -> None:
            if any(record.subject == last for record in records):
                opened.set()

        async def follow() -> None:
            await self._journal.bus.tail([self._journal.subjects.every_ask()], start=1, on=on)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            for number in range(count):
                await self._journal.submit(DebateRef("forensic", f"idle{number}"), patient)
            await opened.wait()
            tasks.cancel_scope.cancel()

    async def debate(self, name: str) -> None:
        closed = self._closing[name] = anyio.Event()
        await self._journal.submit(DebateRef("forensic", name), SUBMITTED)
        await closed.wait()
