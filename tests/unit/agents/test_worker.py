"""The worker on the bus in memory, where it is not the brain's fault."""

import anyio
from structlog.testing import capture_logs

from parley.agents.brain import Answer, Task
from parley.agents.forensic.labels import Verdict
from parley.agents.worker import STALE, Worker
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import (
    Asked,
    Closed,
    ControlFact,
    DeadlineFired,
    Failure,
    FailureReason,
    RequestByReference,
    Status,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.bus.memory import open_memory_server
from parley.bus.port import IMPORTED, Entry
from parley.bus.subjects import DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from tests.debates import panel

REF = DebateRef("forensic", "d1")


class Verbose:
    name = "verbose"

    async def speak(self, task: Task) -> Answer:
        del task
        evidence = ["x" * 1000] * 1000
        return Answer(
            Statement(verdict=Verdict.AUTHENTIC, confidence=1.0, evidence={"all": list(evidence)})
        )


def answer_to(ask: Asked) -> TurnTaken:
    """What the log holds once the worker has answered, and acknowledged, this ask."""

    async def main() -> TurnTaken:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            await journal.submit(REF, Submitted(panel=panel(), input=DebateInput()))
            worker = Worker(Journal(server.client(), Subjects()), "forensic", "noise", Verbose())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(worker.run)
                await worker.ready.wait()
                await journal.control(REF, journal.draft(REF, ask), after=0)
                await anyio.sleep(60)
                tasks.cancel_scope.cancel()
            logged, _ = await journal.read(REF)
            assert await journal.bus.dead_letters() == []
            (turn,) = [one.fact for one in logged if isinstance(one.fact, TurnTaken)]
            return turn

    return anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


ASK = Asked(
    decided_at=1,
    step="opening",
    personas=("noise",),
    input=DebateInput(),
    request=OpeningRequest(),
    deadline_s=30.0,
)


def test_an_answer_that_the_log_does_not_take_is_a_failure() -> None:
    turn = answer_to(ASK)
    assert isinstance(turn.content, Failure)
    assert turn.content.reason is FailureReason.UNUSABLE_ANSWER
    assert "are too many" in turn.content.detail


def test_a_request_that_is_not_where_the_ask_says_is_a_failure() -> None:
    nowhere = RequestByReference(blob=BlobRef(sha256="0" * 64, size=1))
    turn = answer_to(ASK.model_copy(update={"request": nowhere}))
    assert isinstance(turn.content, Failure)
    assert turn.content.reason is FailureReason.UNSUPPORTED_REQUEST


class Counting:
    name = "counting"

    def __init__(self) -> None:
        self.thoughts = 0

    async def speak(self, task: Task) -> Answer:
        del task
        self.thoughts += 1
        return Answer(Statement(verdict=Verdict.AUTHENTIC, confidence=1.0))


def thoughts_about_an_old_ask(*facts: ControlFact | DeadlineFired) -> int:
    """The worker comes an hour after the ask; these facts stand behind it in the log."""
    brain = Counting()

    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            worker = Worker(Journal(server.client(), Subjects()), "forensic", "noise", brain)
            await journal.submit(REF, Submitted(panel=panel(), input=DebateInput()))
            await journal.control(REF, journal.draft(REF, ASK), after=0)
            for fact in facts:
                if isinstance(fact, DeadlineFired):
                    await journal.fire(REF, fact)
                else:
                    await journal.control(REF, journal.draft(REF, fact), after=2)
            await anyio.sleep(3600)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(worker.run)
                await anyio.sleep(60)
                tasks.cancel_scope.cancel()
            assert worker.metrics.total(STALE) == 1 - brain.thoughts

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
    return brain.thoughts


def test_an_old_ask_that_nobody_waits_for_is_not_thought_about() -> None:
    closed = Closed(decided_at=2, status=Status.FAILED, reason="quorum_lost")
    assert thoughts_about_an_old_ask(closed) == 0
    assert thoughts_about_an_old_ask(DeadlineFired(step="opening")) == 0


def test_an_old_ask_is_answered_where_everything_stood_still() -> None:
    assert thoughts_about_an_old_ask() == 1
    assert thoughts_about_an_old_ask(DeadlineFired(step="round-1")) == 1


def test_a_young_ask_is_not_thought_about_where_it_waited_or_was_imported() -> None:
    closed = Closed(decided_at=2, status=Status.COMPLETED, reason="consensus_reached")

    async def main(wait_s: float, headers: tuple[str, ...]) -> int:
        brain = Counting()
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            worker = Worker(Journal(server.client(), Subjects()), "forensic", "noise", brain)
            for fact in (Submitted(panel=panel(), input=DebateInput()), ASK, closed):
                draft = journal.draft(REF, fact)  # type: ignore[arg-type]
                await journal.bus.append(
                    Entry(draft.subject, draft.data, draft.subject, None, headers)
                )
            await anyio.sleep(wait_s)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(worker.run)
                await anyio.sleep(60)
                tasks.cancel_scope.cancel()
        return brain.thoughts

    def thoughts(wait_s: float, *headers: str) -> int:
        return anyio.run(main, wait_s, headers, backend_options={"loop_factory": VirtualTimeLoop})

    assert thoughts(2.0) == 0
    assert thoughts(0.0, IMPORTED) == 0


class Cut:
    """A brain whose server goes away while it thinks."""

    name = "cut"

    async def speak(self, task: Task) -> Answer:
        raise Unavailable(f"no word about {task.step}")


def test_who_loses_the_server_in_the_middle_of_a_thought_says_that() -> None:
    async def main() -> list[str]:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            worker = Worker(Journal(server.client(), Subjects()), "forensic", "noise", Cut())
            await journal.submit(REF, Submitted(panel=panel(), input=DebateInput()))
            with capture_logs() as logs:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(worker.run)
                    await worker.ready.wait()
                    await journal.control(REF, journal.draft(REF, ASK), after=0)
                    await anyio.sleep(5)
                    tasks.cancel_scope.cancel()
            return [one["event"] for one in logs]

    events = anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
    assert "server_lost_while_thinking" in events
    assert "brain_crashed" not in events
