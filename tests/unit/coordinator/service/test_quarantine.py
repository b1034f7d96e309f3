"""What becomes a dead letter, and what is normal; on the bus in memory and virtual time."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from parley.agents.forensic.labels import Verdict
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    CancelRequested,
    Closed,
    DeadlineFired,
    Fact,
    Opened,
    Status,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import Statement
from parley.bus.errors import NotFound
from parley.bus.journal import Journal
from parley.bus.memory import MemoryServer, open_memory_server
from parley.bus.metrics import Metrics
from parley.bus.port import Entry
from parley.bus.subjects import DebateRef, Subjects, partition_of, tail_of
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.core.audit import audit
from parley.coordinator.core.misplaced import NOT_SUBMITTED
from parley.coordinator.core.reducer import fold
from parley.coordinator.service.coordinator import Coordinator
from parley.coordinator.service.quarantine import Quarantine
from tests.debates import ROSTER, panel

REF = DebateRef("forensic", "d1")
SUBMITTED = Submitted(panel=panel(deadline_s=5.0), input=DebateInput(text="a photograph"))
CLOSED = Closed(decided_at=1, status=Status.FAILED, reason="forged", detail="")


def turn(persona: str, step: str = "opening") -> TurnTaken:
    content = Statement(verdict=Verdict.AUTHENTIC, confidence=0.9)
    return TurnTaken(step=step, persona=persona, content=content)


def of(fact: Fact) -> tuple[str, bytes]:
    return tail_of(fact), encode(fact)


def test_what_was_put_aside_leaves_the_log_once_its_debate_is_archived() -> None:
    async def main(server: MemoryServer, journal: Journal, _staff: list[Coordinator]) -> None:
        bus, subjects = server.client(), journal.subjects
        subject = subjects.at(REF, "submitted")
        await bus.append(Entry(subject, b"{}", "strange"))
        quarantine = Quarantine(bus, subjects, Metrics())
        async with anyio.create_task_group() as tasks:
            quarantine.start(tasks)
            (record,) = await bus.read(subject)
            for take_out in (False, True, False, True):
                quarantine.put(record, "illegal", take_out=take_out)
        assert await bus.read(subject) == []
        assert len(await bus.dead_letters()) == 1

    simulate(main, replicas=0)


OUT_OF_PLACE = {
    "a stranger's turn": (of(turn("stranger")), "'stranger' was not asked in step 'opening'"),
    "an unasked turn": (of(turn("noise", "round-9")), "step 'round-9' was never asked"),
    "an unasked deadline": (of(DeadlineFired(step="round-9")), "step 'round-9' was never asked"),
    "an illegal opening": (of(Opened(decided_at=1)), "'opened' is illegal"),
    "a second submission": (of(SUBMITTED), "its debate was submitted before"),
    "no fact": (("turn.opening.noise", b"{"), "TurnTaken: "),
}
UNEXPECTED = {
    "a turn": turn("noise"),
    "a deadline": DeadlineFired(step="opening"),
    "a cancellation": CancelRequested(),
    "an opening": Opened(decided_at=1),
    "a closing": CLOSED,
}
MOMENTS = {"waiting": 1.0, "closed": 60.0}


async def publish(server: MemoryServer, subject: str, data: bytes) -> int:
    return await server.client().append(
        Entry(subject, data, f"published {server.log.last_sequence}")
    )


def simulate(
    main: Callable[[MemoryServer, Journal, list[Coordinator]], Awaitable[None]], replicas: int = 1
) -> None:
    async def run() -> None:
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            journals = [Journal(server.client(), Subjects()) for _ in range(replicas)]
            staff = [Coordinator(one, f"c{n}") for n, one in enumerate(journals)]
            for one in staff:
                tasks.start_soon(one.run)
            await anyio.sleep(3)
            await main(server, Journal(server.client(), Subjects()), staff)
            assert [one.open_debates for one in staff] == [0] * replicas
            tasks.cancel_scope.cancel()

    anyio.run(run, backend_options={"loop_factory": VirtualTimeLoop})


async def buried(journal: Journal) -> dict[int, str]:
    return {one.sequence: one.reason for one in await journal.bus.dead_letters()}


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("said", "reason"), OUT_OF_PLACE.values(), ids=OUT_OF_PLACE)
def test_what_has_no_place_in_its_debate_is_buried(
    said: tuple[str, bytes], reason: str, moment: str, replicas: int
) -> None:
    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(MOMENTS[moment])
        tail, data = said
        sequence = await publish(server, journal.subjects.at(REF, tail), data)
        await anyio.sleep(60)
        found = await buried(journal)
        assert list(found) == [sequence]
        assert reason in found[sequence]

    simulate(main, replicas)


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("fact", UNEXPECTED.values(), ids=UNEXPECTED)
def test_facts_of_a_debate_that_nobody_submitted_are_buried(fact: Fact, replicas: int) -> None:
    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        sequence = await publish(server, journal.subjects.of(REF, fact), encode(fact))
        await anyio.sleep(10)
        assert await buried(journal) == {sequence: NOT_SUBMITTED}

    simulate(main, replicas)


@pytest.mark.parametrize(
    "subject", ["debate.x", "debate.3.forensic.x", "debate.0.forensic.>.submitted", "debate.*.*.*"]
)
def test_subjects_that_belong_to_no_debate_are_buried(subject: str) -> None:
    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        sequence = await publish(server, subject, encode(SUBMITTED))
        await anyio.sleep(1)
        assert await buried(journal) == {sequence: "its subject belongs to no debate"}

    simulate(main)


def test_what_comes_late_is_normal_and_a_second_turn_is_not() -> None:
    """Everybody was asked and abstained; then all of it is said after all, and said again."""

    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(5.5)
        late: list[Fact] = [turn(persona) for persona in ROSTER]
        late += [DeadlineFired(step="opening"), CancelRequested(), CancelRequested()]
        for again in (False, True):
            for fact in late:
                await publish(server, journal.subjects.of(REF, fact), encode(fact))
            await anyio.sleep(60)
            reasons = (f"{one!r} has spoken in step 'opening' before" for one in ROSTER)
            assert list((await buried(journal)).values()) == (list(reasons) if again else [])

    simulate(main)


UNASKED = {
    "a stranger": turn("stranger"),
    "another step": turn("noise", "round-9"),
    "a second time": turn("noise"),
}


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("fact", UNASKED.values(), ids=UNASKED)
def test_a_turn_that_nobody_asked_for_leaves_the_log_and_changes_nothing(
    fact: TurnTaken, replicas: int
) -> None:
    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(1)
        await journal.speak(REF, turn("noise"))
        sequence = await publish(server, journal.subjects.of(REF, fact), encode(fact))
        await anyio.sleep(60)
        with pytest.raises(NotFound):
            await journal.bus.record(sequence)
        (letter,) = await journal.bus.dead_letters()
        assert letter.trace is not None
        assert letter.trace.subject == journal.subjects.of(REF, fact)
        assert letter.trace.size == len(encode(fact))
        logged, _undecodable = await journal.read(REF)
        report = audit([one.fact for one in logged])
        assert report.holds, report.discrepancies
        assert report.state.closed is not None

    simulate(main, replicas)


@pytest.mark.parametrize("debate", ["d1", "never", "no name"])
def test_turns_that_came_while_no_coordinator_ran_leave_the_log(debate: str) -> None:
    async def coordinated(server: MemoryServer) -> None:
        with anyio.move_on_after(60):
            await Coordinator(Journal(server.client(), Subjects()), "c").run()

    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            await journal.submit(REF, SUBMITTED)
            await coordinated(server)
            kept = await journal.bus.read(">")
            assert fold(one.fact for one in journal.decode_all(kept)[0]).closed is not None
            subject = f"debate.{partition_of(debate)}.forensic.{debate}.turn.round-9.noise"
            sequence = await publish(server, subject, b"{")
            await coordinated(server)
            assert list(await buried(journal)) == [sequence]
            assert await journal.bus.read(">") == kept

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


def test_what_was_dropped_is_not_buried_by_the_next_coordinator() -> None:
    async def main(server: MemoryServer, journal: Journal, _: list[Coordinator]) -> None:
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(1)
        await publish(server, journal.subjects.at(REF, "gossip"), b"")
        await anyio.sleep(1)
        (letter,) = await journal.bus.dead_letters()
        await journal.bus.forget_dead(letter.number)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Coordinator(Journal(server.client(), Subjects()), "next").run)
            await anyio.sleep(60)
            tasks.cancel_scope.cancel()
        assert await buried(journal) == {}

    simulate(main)


def test_a_record_is_counted_once_however_often_its_debate_is_read() -> None:
    async def main(server: MemoryServer, journal: Journal, staff: list[Coordinator]) -> None:
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(60)
        await publish(server, journal.subjects.at(REF, "gossip"), b"")
        for persona in ROSTER[:3]:
            said = turn(persona)
            await publish(server, journal.subjects.of(REF, said), encode(said))
            await anyio.sleep(1)
        assert staff[0].describe().figures["quarantined"] == 1

    simulate(main)
