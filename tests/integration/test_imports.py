"""Recorded debates are imported beside agents at work: nobody thinks about what is over."""

import sys
from pathlib import Path

import anyio

from parley.agents.brain import Answer, Task
from parley.agents.worker import STALE, Worker
from parley.bus.contracts.facts import Asked, Closed
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import Subjects
from tests.bus.worlds import NatsServer, until
from tests.debates import ROSTER

RECORDED = sorted((Path(__file__).parents[1] / "replay").glob("*.jsonl"))


class Thinking:
    name = "thinking"

    def __init__(self) -> None:
        self.about: list[str] = []

    async def speak(self, task: Task) -> Answer:
        self.about.append(f"{task.ref} {task.step} {task.persona}")
        raise AssertionError(self.about[-1])


async def test_no_ask_of_an_imported_debate_reaches_a_brain(tmp_path: Path) -> None:
    brain = Thinking()
    server = NatsServer(tmp_path).start()
    try:
        await _import_all(server, brain)
    finally:
        server.stop()
    assert brain.about == []


async def _import_all(server: NatsServer, brain: Thinking) -> None:
    async with open_bus(Server((server.url,))) as bus, anyio.create_task_group() as tasks:
        await bus.apply()
        journal = Journal(bus, Subjects())
        workers = [Worker(journal, "forensic", persona, brain) for persona in ROSTER]
        for worker in workers:
            tasks.start_soon(worker.run)
            await worker.ready.wait()
        for path in RECORDED:
            command = [sys.executable, "-m", "parley", "import", str(path), "--nats", server.url]
            await anyio.run_process(command)
        facts = [one.fact for one in journal.decode_all(await bus.read("debate.>"))[0]]
        assert sum(isinstance(one, Closed) for one in facts) == len(RECORDED)
        asked = [name for one in facts if isinstance(one, Asked) for name in one.personas]
        expected = sum(name in ROSTER for name in asked)
        await until(
            lambda: sum(worker.metrics.total(STALE) for worker in workers) == expected, within_s=60
        )
        tasks.cancel_scope.cancel()
