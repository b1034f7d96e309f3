"""Deadlines of people, in days, on the bus in memory and virtual time."""

import anyio

from parley.bus.contracts.facts import DeadlineFired, Submitted, TurnTaken
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.journal import Journal
from parley.bus.memory import MemoryServer, open_memory_server
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.core.audit import audit
from parley.coordinator.service.coordinator import Coordinator
from tests.unit.coordinator.core.test_people import BOTS, DAYS, author, panel_with
from tests.unit.coordinator.service.test_coordinator import simulate

REF = DebateRef("review", "d1")
HOUR = 3600.0


async def coordinate_for(server: MemoryServer, seconds: float) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Coordinator(Journal(server.client(), Subjects()), "c0").run)
        await anyio.sleep(seconds)
        tasks.cancel_scope.cancel()


async def open_debate(server: MemoryServer, journal: Journal) -> None:
    """Everybody but the author has spoken."""
    panel = panel_with(author(deadline_s=3 * DAYS), rounds=1)
    await journal.submit(REF, Submitted(panel=panel, input=DebateInput(text="a change")))
    await coordinate_for(server, 5)
    for name in BOTS:
        content = Statement(verdict="reject", confidence=0.8)
        await journal.speak(REF, TurnTaken(step="opening", persona=name, content=content))


def test_restarts_of_everything_do_not_begin_a_persons_deadline_anew() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            await open_debate(server, journal)
            for _ in range(7):
                await coordinate_for(server, 30)
                await anyio.sleep(10 * HOUR)
            logged, _ = await journal.read(REF)
            assert not any(isinstance(one.fact, DeadlineFired) for one in logged)
            await anyio.sleep(1.8 * HOUR)
            await coordinate_for(server, 0.3 * HOUR)
            logged, _ = await journal.read(REF)
            asked = next(one.time_ns for one in logged if one.fact.type == "asked")
            fired = next(one for one in logged if isinstance(one.fact, DeadlineFired))
            assert fired.fact == DeadlineFired(step="opening", persona="author")
            assert 0 <= (fired.time_ns - asked) / 1e9 - 3 * DAYS < 1
            assert audit([one.fact for one in logged]).holds

    simulate(main)


def test_an_answer_given_while_nobody_coordinates_is_in_time() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            await open_debate(server, journal)
            await anyio.sleep(2 * DAYS)
            content = Statement(verdict="approve", confidence=0.9)
            turn = TurnTaken(step="opening", persona="author", content=content, brain="human")
            await journal.speak(REF, turn)
            await anyio.sleep(5 * DAYS)
            await coordinate_for(server, 10)
            logged, _ = await journal.read(REF)
            kinds = [one.fact.type for one in logged]
            assert "abstained" not in kinds
            assert kinds.count("asked") == 2

    simulate(main)
