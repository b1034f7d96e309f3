"""Recorded debates are imported beside agents at work: nobody thinks about what is over."""

import json
import sys
from pathlib import Path

import anyio

from parley.agents.brain import Answer, Task
from parley.agents.worker import STALE, Worker
from parley.bus.contracts.facts import Closed
from parley.bus.jetstream.bus import open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import Subjects
from tests import servers
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
    with servers.running(tmp_path) as server:
        await _import_all(server, brain)
    assert brain.about == []


async def test_of_an_open_debate_only_the_step_that_waits_is_thought_about(tmp_path: Path) -> None:
    brain = Thinking()
    file = tmp_path / "open.jsonl"
    steps = _cut_after_its_last_ask(file)
    with servers.running(tmp_path) as server:
        async with open_bus(Server((server.url,))) as bus, anyio.create_task_group() as tasks:
            await bus.apply()
            worker = Worker(Journal(bus, Subjects()), "forensic", "noise", brain)
            tasks.start_soon(worker.run)
            await worker.ready.wait()
            command = [sys.executable, "-m", "parley", "import", str(file), "--nats", server.url]
            refused = await anyio.run_process(command, check=False)
            assert refused.returncode == 2
            assert b"--continue" in refused.stderr
            assert await bus.read(">") == []
            command.append("--continue")
            await anyio.run_process(command)
            await until(lambda: bool(brain.about), within_s=120)
            await until(lambda: worker.metrics.total(STALE) == len(steps) - 1, within_s=120)
            tasks.cancel_scope.cancel()
    assert {thought.split()[1] for thought in brain.about} == {steps[-1]}


def _cut_after_its_last_ask(file: Path) -> list[str]:
    """The steps of a recorded debate that is written there as it was while the last one waited."""
    lines = (RECORDED[0].parent / "max_rounds-a-06.jsonl").read_text().splitlines()
    facts = [json.loads(line).get("fact", {}) for line in lines]
    asks = [n for n, fact in enumerate(facts) if fact.get("type") == "asked"]
    file.write_text("".join(f"{line}\n" for line in lines[: asks[-1] + 1]))
    return [facts[n]["step"] for n in asks if "noise" in facts[n]["personas"]]


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
        assert await bus.read("debate.>") == []
        kept = [one.ref for one in await journal.archive.contents()]
        assert len(kept) == len(RECORDED)
        for ref in kept:
            facts = [one.fact for one in (await journal.read(ref))[0]]
            assert any(isinstance(one, Closed) for one in facts)
        await anyio.sleep(0.5)
        assert sum(worker.metrics.total(STALE) for worker in workers) == 0
        tasks.cancel_scope.cancel()
