"""Debates on their way out of the log, and what comes after: on the bus in memory, on virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from typing_extensions import override

from parley.agents.forensic.labels import Verdict
from parley.bus.archive import Archived
from parley.bus.contracts.budget import Budget
from parley.bus.contracts.facts import (
    Ask,
    Asked,
    CancelRequested,
    DeadlineFired,
    Fact,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import PanelLabel, Statement
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Entry, Guard
from parley.bus.subjects import PURSE, DebateRef, Subjects, debate_purse
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.core.audit import audit
from parley.coordinator.core.reducer import fold
from parley.coordinator.service.archiver import ARCHIVED, Archiving
from parley.coordinator.service.coordinator import Coordinator
from tests.debates import panel

REF, OTHER = DebateRef("forensic", "d1"), DebateRef("forensic", "d2")
SUBMITTED = Submitted(panel=panel(deadline_s=5.0), input=DebateInput(text="a  photograph"))
TURN = TurnTaken(
    step="opening",
    persona="noise",
    content=Statement(verdict=Verdict.AUTHENTIC, confidence=0.9),
)
SOON = Archiving(after_s=30.0)
# Past the time in which the server remembers what was written.
FORGOTTEN_S = 200.0


def simulate(main: Callable[[], Awaitable[None]]) -> None:
    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


def journal_of(server: MemoryServer) -> Journal:
    return Journal(server.client(), Subjects())


@asynccontextmanager
async def coordinated(
    server: MemoryServer, archiving: Archiving | None = SOON, replicas: int = 1
) -> AsyncIterator[list[Coordinator]]:
    staff = [Coordinator(journal_of(server), f"c{n}", archiving=archiving) for n in range(replicas)]
    async with anyio.create_task_group() as tasks:
        for one in staff:
            tasks.start_soon(one.run)
        for one in staff:
            await one.ready.wait()
        await anyio.sleep(3 if replicas > 1 else 0)
        yield staff
        tasks.cancel_scope.cancel()


async def hot(journal: Journal) -> list[str]:
    return [one.subject for one in await journal.bus.read(">")]


async def archived(journal: Journal, ref: DebateRef = REF) -> Archived:
    found = await journal.archive.get(ref)
    assert found is not None
    return found


async def facts_of(journal: Journal, ref: DebateRef = REF) -> list[Fact]:
    logged, undecodable = await journal.read(ref)
    assert undecodable == []
    return [one.fact for one in logged]


async def archive_one(server: MemoryServer, journal: Journal) -> list[Fact]:
    """A debate that left the log; its facts."""
    async with coordinated(server):
        await journal.submit(REF, SUBMITTED)
        await anyio.sleep(25)
        facts = await facts_of(journal)
        assert fold(facts).closed is not None
        await anyio.sleep(40)
    assert await hot(journal) == []
    return facts


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_closed_debate_leaves_the_log_as_a_whole(replicas: int) -> None:
    async def main() -> None:
        async with open_memory_server(epoch_ns=10**18) as server:
            journal = journal_of(server)
            async with coordinated(server, replicas=replicas):
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(25)
                records = await journal.bus.read(journal.subjects.debate(REF))
                facts = await facts_of(journal)
                assert fold(facts).closed is not None
                assert (await journal.bus.archive.extent()).records == 0
                await anyio.sleep(40)
            assert await hot(journal) == []
            assert await facts_of(journal) == facts
            assert audit(facts).holds
            found = await archived(journal)
            assert list(found.records) == records
            assert found.broken == ()
            summary = found.summary
            assert (summary.status, summary.topic) == ("failed", "a photograph")
            assert (summary.reason, summary.protocol) == ("quorum_lost", "verdicts")
            assert (summary.stream, summary.through) == ("memory", records[-1].sequence)
            assert summary.submitted_ns == records[0].time_ns
            assert (await journal.bus.archive.extent()).records == 1
            assert await journal.bus.dead_letters() == []

    simulate(main)


def test_without_archiving_everything_stays() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server, archiving=None):
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(1000)
            assert fold(await facts_of(journal)).closed is not None
            assert len(await hot(journal)) > 3
            assert (await journal.bus.archive.extent()).records == 0

    simulate(main)


LATE = {
    "a submission": SUBMITTED,
    "a turn": TURN,
    "a cancellation": CancelRequested(why="late"),
    "a deadline": DeadlineFired(step="opening"),
}


async def write(journal: Journal, fact: Fact) -> None:
    match fact:
        case Submitted():
            await journal.submit(REF, fact)
        case CancelRequested():
            await journal.cancel(REF, fact)
        case DeadlineFired():
            await journal.fire(REF, fact)
        case TurnTaken():
            await journal.speak(REF, fact)
        case _:
            pytest.fail("only coordinators write it")


def test_a_finding_of_another_protocol_keeps_no_debate_out_of_the_archive() -> None:
    """Only a submission can say that a debate is somebody else's."""

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server):
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(1)
                subject = journal.subjects.at(REF, "ctl.of_nobody")
                await journal.bus.append(Entry(subject, b"{}", "strange"))
                await anyio.sleep(100)
            assert await hot(journal) == []
            assert (await archived(journal)).summary.status == "failed"

    simulate(main)


def test_what_nobody_can_read_leaves_the_log_of_an_archived_debate() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            await archive_one(server, journal)
            async with coordinated(server):
                subject = journal.subjects.at(REF, "ctl.ask.round-1.all")
                await journal.bus.append(Entry(subject, b"{}", "strange"))
                await anyio.sleep(5)
            assert await hot(journal) == []
            (letter,) = await journal.bus.dead_letters()
            assert letter.trace is not None
            assert letter.trace.subject == subject

    simulate(main)


@pytest.mark.parametrize("running", [True, False], ids=["at-once", "found-at-the-start"])
@pytest.mark.parametrize("fact", LATE.values(), ids=LATE)
def test_what_comes_after_the_purge_opens_nothing(fact: Fact, *, running: bool) -> None:
    """No guard and no msg_id is left to refuse it; the archive stands for them."""

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            facts = await archive_one(server, journal)
            await anyio.sleep(FORGOTTEN_S)
            if not running:
                await write(journal, fact)
            async with coordinated(server) as (one,):
                if running:
                    await write(journal, fact)
                await anyio.sleep(100)
                assert one.open_debates == 0
            assert await hot(journal) == []
            assert await facts_of(journal) == facts
            (letter,) = await journal.bus.dead_letters()
            assert letter.trace is not None
            assert letter.trace.subject == journal.subjects.of(REF, fact)
            if running or isinstance(fact, Submitted):
                assert letter.reason == ARCHIVED
            assert (await journal.bus.archive.extent()).records == 1

    simulate(main)


def test_a_redrive_after_the_purge_asks_nobody_for_a_debate_that_is_gone() -> None:
    """The turn that it leads to is put aside."""

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            facts = await archive_one(server, journal)
            await anyio.sleep(FORGOTTEN_S)
            (ask, *_) = [one for one in facts if isinstance(one, Asked)]
            async with coordinated(server):
                await journal.redrive(REF, Ask.model_validate(dict(ask)), "noise")
                await journal.speak(REF, TURN)
                await anyio.sleep(100)
            assert await journal.bus.read(journal.subjects.everything()) == []
            assert await facts_of(journal) == facts

    simulate(main)


def test_a_debate_under_redrive_stays_until_its_time_is_over() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server):
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(25)
                (ask, *_) = [one for one in await facts_of(journal) if isinstance(one, Asked)]
                again = Ask.model_validate({**dict(ask), "deadline_s": 100.0})
                await journal.redrive(REF, again, "noise")
                await anyio.sleep(60)
                assert (await journal.bus.archive.extent()).records == 0
                await anyio.sleep(60)
            assert await hot(journal) == [journal.subjects.redrive(REF, ask.step, "noise")] or not (
                await hot(journal)
            )
            assert (await journal.bus.archive.extent()).records == 1

    simulate(main)


# What looks like a reference to a blob, and is none.
NO_BLOB = {"sha256": 5, "size": "large", "media_type": []}


@pytest.mark.parametrize("trick", ["account", "evidence", "labels"])
def test_nothing_that_others_may_write_keeps_a_debate_out_of_the_archive(trick: str) -> None:
    many = [{"name": f"label{n:05d}" + "x" * 20, "means": "x"} for n in range(10_000)]
    seated = SUBMITTED.panel.model_copy(update={"budget": Budget(calls=5)})
    if trick == "labels":
        assert isinstance(seated, VerdictPanel)
        labels = (*seated.labels, *map(PanelLabel.model_validate, many))
        seated = seated.model_copy(update={"labels": labels})
    said = TURN.content.model_copy(update={"evidence": {"photo": NO_BLOB}})
    turn = TURN.model_copy(update={"content": said})

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server):
                if trick == "account":
                    key = f"{debate_purse(REF)}.noise"
                    await journal.bus.register(PURSE).replace(key, b"\xff\xfe", Guard(key, 0))
                await journal.submit(REF, SUBMITTED.model_copy(update={"panel": seated}))
                await anyio.sleep(1)
                await journal.speak(REF, turn)
                await anyio.sleep(100)
            assert await hot(journal) == []
            assert turn in await facts_of(journal)
            assert "5" not in {one.sha256 for one in (await archived(journal)).blobs}

    simulate(main)


@pytest.mark.parametrize("running", [True, False], ids=["at-once", "found-at-the-start"])
@pytest.mark.parametrize("fact", LATE.values(), ids=LATE)
def test_a_record_of_the_archive_that_cannot_be_read_stops_nobody(
    fact: Fact, *, running: bool
) -> None:
    """Another version's, say; its debate is left alone, the others go on."""

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            await journal.bus.archive.put(
                journal.subjects.archive(REF), b"", ('Parley-Summary: {"version":9}',)
            )
            if not running:
                await write(journal, fact)
            async with coordinated(server) as (one,):
                if running:
                    await write(journal, fact)
                await journal.submit(OTHER, SUBMITTED)
                await anyio.sleep(100)
                assert one.open_debates == 0
            assert fold(await facts_of(journal, OTHER)).closed is not None
            if not isinstance(fact, TurnTaken):
                assert journal.subjects.of(REF, fact) in await hot(journal)

    simulate(main)


class Dying(MemoryBus):
    """Its process is gone at a step of archiving: before the record, after it, after the purge."""

    def __init__(self, server: MemoryServer, dies_at: str) -> None:
        super().__init__(server)
        self._dies_at = dies_at

    @override
    async def purge(self, filter_subject: str, *, through: int) -> None:
        if self._dies_at == "after the purge":
            await super().purge(filter_subject, through=through)
        raise Unavailable("gone")


@pytest.mark.parametrize("dies_at", ["before the purge", "after the purge"])
def test_whoever_comes_next_finishes_what_a_crash_left(dies_at: str) -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            dying = Coordinator(
                Journal(Dying(server, dies_at), Subjects()), "dying", archiving=SOON
            )
            with anyio.move_on_after(70):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(dying.run)
                    await dying.ready.wait()
                    await journal.submit(REF, SUBMITTED)
            first = await archived(journal)
            facts = await facts_of(journal)
            assert (await hot(journal) == []) == (dies_at == "after the purge")
            async with coordinated(server):
                await anyio.sleep(100)
            assert await hot(journal) == []
            assert await archived(journal) == first
            assert await facts_of(journal) == facts
            assert await journal.bus.dead_letters() == []

    simulate(main)


def test_rests_of_a_purge_that_broke_off_are_no_debate() -> None:
    """A server that died while it purged may have kept the submission."""

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server, archiving=None):
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(25)
            records = await journal.bus.read(journal.subjects.debate(REF))
            async with coordinated(server, Archiving(after_s=1.0)):
                await anyio.sleep(10)
            assert await hot(journal) == []
            server.log._records = {one.sequence: one for one in records[:2]}
            for record in records[:2]:
                server.log._index.add(record.subject, record.sequence)
            async with coordinated(server) as (one,):
                await anyio.sleep(10)
                assert one.open_debates == 0
            assert await hot(journal) == []
            assert await journal.bus.dead_letters() == []
            assert len(await facts_of(journal)) == len(records)

    simulate(main)


def test_a_turn_between_record_and_purge_is_put_aside() -> None:
    class Slow(MemoryBus):
        @override
        async def purge(self, filter_subject: str, *, through: int) -> None:
            late = journal_of(self._server)
            await late.speak(REF, TURN.model_copy(update={"persona": "spatial"}))
            await super().purge(filter_subject, through=through)

    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            slow = Coordinator(Journal(Slow(server), Subjects()), "slow", archiving=SOON)
            with anyio.move_on_after(100):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(slow.run)
                    await slow.ready.wait()
                    await journal.submit(REF, SUBMITTED)
            assert await hot(journal) == []
            (letter,) = await journal.bus.dead_letters()
            assert letter.reason == ARCHIVED

    simulate(main)


def test_no_more_at_a_time_than_wanted() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal = journal_of(server)
            async with coordinated(server, Archiving(after_s=1.0, per_second=2.0)):
                for n in range(20):
                    await journal.submit(DebateRef("forensic", f"n{n}"), SUBMITTED)
                await anyio.sleep(9)
                assert 2 <= (await journal.bus.archive.extent()).records <= 10
                await anyio.sleep(20)
            assert (await journal.bus.archive.extent()).records == 20
            assert await hot(journal) == []

    simulate(main)
