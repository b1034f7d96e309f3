"""Dead letters of debates, asked of both buses: redriven where it counts, and never twice."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio
import pytest

from parley.agents.brain import Answer, Task
from parley.agents.forensic.labels import Verdict
from parley.agents.script import ScriptedBrain
from parley.agents.worker import Worker, WorkerOptions
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    AbstainReason,
    Ask,
    Asked,
    CancelRequested,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.bus.errors import NotFound
from parley.bus.journal import Journal
from parley.bus.port import USED_UP, Record
from parley.bus.subjects import DebateRef, Subjects
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.service.coordinator import Coordinator
from parley.operations import Fate, Letter, Operations
from tests.bus.worlds import World, entry
from tests.debates import STALEMATE, panel

OpenWorld = Callable[[], AbstractAsyncContextManager[World]]
ROSTER = ("frequency", "noise")
REF = DebateRef("forensic", "d1")
ASKED = Asked(
    decided_at=1,
    step="opening",
    personas=("noise",),
    input=DebateInput(),
    request=OpeningRequest(),
    deadline_s=5.0,
)
ONCE = WorkerOptions(max_deliver=1, ack_wait_s=0.5)


class Broken:
    """A brain with a bug."""

    name = "broken"

    async def speak(self, task: Task) -> Answer:
        raise LookupError(task.step)


class Counting:
    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._script = ScriptedBrain(STALEMATE)

    async def speak(self, task: Task) -> Answer:
        self.asked.append(task.step)
        return await self._script.speak(task)


@asynccontextmanager
async def at_work(*staff: Coordinator | Worker) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        yield
        tasks.cancel_scope.cancel()


async def until_log(journal: Journal, reached: Callable[[DebateState], bool]) -> DebateState:
    with anyio.fail_after(90):
        while True:
            state = fold(one.fact for one in (await journal.read(REF))[0])
            if reached(state):
                return state
            await anyio.sleep(0.02)


async def a_dead_letter(journal: Journal) -> Letter:
    with anyio.fail_after(90):
        while not (found := await Operations(journal).dead_letters()):  # noqa: ASYNC110
            await anyio.sleep(0.02)
    (one,) = found
    return one


def worker(journal: Journal, persona: str, brain: Counting | Broken) -> Worker:
    return Worker(journal, "forensic", persona, brain, ONCE)


async def submit(journal: Journal) -> None:
    given = DebateInput(text="a photograph")
    await journal.submit(REF, Submitted(panel=panel(ROSTER, max_rounds=1), input=given))


@asynccontextmanager
async def given_up(world: OpenWorld) -> AsyncIterator[tuple[Journal, Letter]]:
    """The step waits for `noise`, whose ask is dead; no coordinator was there to notice."""
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        async with at_work(Coordinator(journal, "c0")):
            await submit(journal)
            await until_log(journal, lambda state: state.open_step is not None)
        async with at_work(worker(journal, "noise", Broken())):
            dead = await a_dead_letter(journal)
        yield journal, dead


async def test_a_redriven_ask_is_answered_and_its_turn_counts(world: OpenWorld) -> None:
    async with given_up(world) as (journal, dead):
        assert (dead.dead.queue, dead.dead.reason) == ("forensic-noise", USED_UP)
        assert (dead.ref, dead.persona) == (REF, "noise")
        assert dead.ask is not None
        assert dead.ask.step == "opening"
        assert await Operations(journal).fate(dead) is Fate.REDRIVEN
        assert await Operations(journal).redrive(dead) is Fate.REDRIVEN
        assert await Operations(journal).dead_letters() == []
        brain = Counting()
        async with at_work(
            worker(journal, "noise", brain),
            worker(journal, "frequency", Counting()),
            Coordinator(journal, "c1"),
        ):
            state = await until_log(journal, lambda state: state.closed is not None)
        facts = [one.fact for one in (await journal.read(REF))[0]]
        turns = [fact for fact in facts if isinstance(fact, TurnTaken) and fact.step == "opening"]
        assert sorted(turn.persona for turn in turns) == ["frequency", "noise"]
        assert brain.asked.count("opening") == 1
        assert state.steps[0].heard
        assert {heard.said.type for heard in state.steps[0].heard} == {"turn"}


async def test_redriving_twice_asks_once_and_speaks_once(world: OpenWorld) -> None:
    async with given_up(world) as (journal, dead):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(Operations(journal).redrive, dead)
        again = await journal.bus.read(journal.subjects.redrive(REF, "opening", "noise"))
        assert len(again) == 1
        assert isinstance(dead.ask, Ask)
        await journal.redrive(REF, dead.ask, "noise")
        brain = Counting()

        async def turns() -> list[Record]:
            return await journal.bus.read(journal.subjects.at(REF, "turn.opening.noise"))

        async with at_work(worker(journal, "noise", brain)):
            with anyio.fail_after(60):
                while len(brain.asked) < 2 or not await turns():  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            await anyio.sleep(0.2)
        assert len(await turns()) == 1
        assert await Operations(journal).dead_letters() == []


async def test_a_persona_that_has_spoken_is_not_asked_again(world: OpenWorld) -> None:
    async with given_up(world) as (journal, dead):
        said = Statement(verdict=Verdict.AUTHENTIC, confidence=0.5)
        await journal.speak(REF, TurnTaken(step="opening", persona="noise", content=said))
        assert await Operations(journal).redrive(dead) is Fate.SPOKEN
        assert await journal.bus.read(journal.subjects.redrives()) == []
        assert await Operations(journal).dead_letters() == []


async def test_nothing_is_sent_once_the_abstention_is_written(world: OpenWorld) -> None:
    """The step still waits for somebody else; later it is over, then the debate."""
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        async with at_work(Coordinator(journal, "c0"), worker(journal, "noise", Broken())):
            await submit(journal)
            state = await until_log(
                journal, lambda state: bool(state.steps and state.steps[0].heard)
            )
            dead = await a_dead_letter(journal)
            assert state.open_step is not None
            assert state.open_step.waiting_for == ("frequency",)
            assert await Operations(journal).redrive(dead) is Fate.ABSTAINED
        said = Statement(verdict=Verdict.AUTHENTIC, confidence=0.5)
        await journal.speak(REF, TurnTaken(step="opening", persona="frequency", content=said))
        assert await Operations(journal).redrive(dead) is Fate.STEP_OVER
        async with at_work(Coordinator(journal, "c1")):
            await journal.cancel(REF, CancelRequested())
            await until_log(journal, lambda state: state.closed is not None)
        assert await Operations(journal).redrive(dead) is Fate.CLOSED
        assert await journal.bus.read(journal.subjects.redrives()) == []
        assert await Operations(journal).dead_letters() == [dead]


async def test_an_ask_that_no_coordinator_wrote_is_not_redriven(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        await _append(journal, journal.subjects.of(REF, ASKED), encode(ASKED))
        async with at_work(worker(journal, "noise", Broken())):
            dead = await a_dead_letter(journal)
        assert await Operations(journal).redrive(dead) is Fate.UNASKED


async def test_nothing_is_sent_once_the_debate_is_closed(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        async with at_work(
            Coordinator(journal, "c0"),
            worker(journal, "noise", Broken()),
            worker(journal, "frequency", Counting()),
        ):
            await submit(journal)
            state = await until_log(journal, lambda state: state.closed is not None)
        heard = {one.said.persona: one.said for one in state.steps[0].heard}
        assert getattr(heard["noise"], "reason", None) is AbstainReason.UNDELIVERABLE
        # On a busy machine the other one's time may have run out as well.
        dead, *_ = [
            one for one in await Operations(journal).dead_letters() if one.persona == "noise"
        ]
        assert await Operations(journal).redrive(dead) is Fate.CLOSED
        assert await journal.bus.read(journal.subjects.redrives()) == []
        assert dead in await Operations(journal).dead_letters()


async def test_a_redriven_ask_that_fails_again_is_a_dead_letter_again(world: OpenWorld) -> None:
    async with given_up(world) as (journal, dead):
        await Operations(journal).redrive(dead)
        async with at_work(worker(journal, "noise", Broken())):
            again = await a_dead_letter(journal)
        assert again.dead.sequence > dead.dead.sequence
        assert (again.ref, again.persona) == (REF, "noise")
        assert await Operations(journal).redrive(again) is Fate.REDRIVEN


async def test_what_a_reader_cannot_use_is_kept_and_cannot_be_redriven(world: OpenWorld) -> None:
    async with world() as w, w.connect() as bus:
        journal = Journal(bus, Subjects(w.prefix))
        async with at_work(Coordinator(journal, "c0")):
            await submit(journal)
            await until_log(journal, lambda state: state.open_step is not None)
            forged = journal.subjects.at(REF, "turn.opening.noise")
            sequence = await _append(journal, forged, b'{"type": "nonsense"}')
            dead = await a_dead_letter(journal)
        assert (dead.dead.sequence, dead.dead.queue, dead.ref) == (sequence, "", REF)
        assert dead.dead.reason.startswith("TurnTaken: ")
        assert await Operations(journal).redrive(dead) is Fate.NO_ASK
        # The record itself may be taken out of the log meanwhile.
        assert (await Operations(journal).dead_letter(dead.dead.number)).dead == dead.dead
        await bus.forget_dead(dead.dead.number)
        with pytest.raises(NotFound, match="parley dlq list"):
            await Operations(journal).dead_letter(dead.dead.number)


async def _append(journal: Journal, subject: str, data: bytes) -> int:
    return await journal.bus.append(entry(subject, subject, data))
