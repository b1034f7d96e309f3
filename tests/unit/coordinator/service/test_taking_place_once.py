"""
No debate takes place twice, although its purge takes every guard of its id away: on the bus in
memory, on virtual time.
"""

from collections.abc import Callable, Sequence

import anyio
import pytest
from typing_extensions import override

from parley.bus.codec import encode
from parley.bus.contracts.facts import CancelRequested, Fact
from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Entry, Record
from parley.bus.position import Start
from parley.bus.subjects import Subjects
from parley.coordinator.core.reducer import fold
from parley.coordinator.service.archiver import Archiving
from parley.coordinator.service.coordinator import Coordinator
from tests.debates import panel
from tests.unit.coordinator.service.test_archiver import (
    REF,
    SUBMITTED,
    coordinated,
    facts_of,
    hot,
    journal_of,
    simulate,
)

# Before an offer that the log does not show is written once more.
AT_ONCE = Archiving(after_s=1.0)


class Asks:
    """How often the debate's first ask was written, whatever was taken out of the log since."""

    def __init__(self, server: MemoryServer) -> None:
        self._subject = Subjects().at(REF, "ctl.ask.opening.all")
        self.count = 0
        server.log.on_record.append(self._see)

    def _see(self, record: Record) -> None:
        self.count += record.subject == self._subject


async def until_closed(journal: Journal) -> list[Fact]:
    while fold(facts := await facts_of(journal)).closed is None:  # noqa: ASYNC110 - virtual time
        await anyio.sleep(0.05)
    return facts


async def submitted_again(journal: Journal) -> None:
    """Without a guard, as whoever may submit can."""
    subject = journal.subjects.of(REF, SUBMITTED)
    await journal.bus.append(Entry(subject, encode(SUBMITTED), "again"))


@pytest.mark.parametrize("after_s", [0.0, 0.3, 0.8, 0.99, 1.2, 1.3])
def test_what_is_submitted_again_while_the_debate_is_being_archived_opens_nothing(
    after_s: float,
) -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal, asks = journal_of(server), Asks(server)
            async with coordinated(server, AT_ONCE) as (one,):
                await journal.submit(REF, SUBMITTED)
                facts = await until_closed(journal)
                await anyio.sleep(after_s)
                await submitted_again(journal)
                await anyio.sleep(60)
                assert one.open_debates == 0
            assert asks.count == 1
            assert await hot(journal) == []
            kept = [fact for fact in await facts_of(journal) if fact != SUBMITTED]
            assert kept == facts[1:]

    simulate(main)


class CutOff(MemoryBus):
    """
    A process that reaches nobody between `cut`, or its first decision, and `back`. What left the
    log in the meantime it never reads.
    """

    def __init__(self, server: MemoryServer, *, by_itself: bool = True) -> None:
        super().__init__(server)
        self._by_itself = by_itself
        self.cut = anyio.Event()
        self.back = anyio.Event()

    @property
    def _away(self) -> bool:
        return self.cut.is_set() and not self.back.is_set()

    @override
    def offer(self, entry: Entry) -> bool:
        if self._away or (self._by_itself and not self.back.is_set()):
            self.cut.set()
            return True
        return super().offer(entry)

    @override
    async def append(self, *entries: Entry) -> int:
        if self._away:
            await self.back.wait()
            raise Unavailable("no answer")
        return await super().append(*entries)

    @override
    async def signal(self, subject: str, data: bytes) -> None:
        if not self._away:
            await super().signal(subject, data)

    @override
    async def listen(self, subject: str, on: Callable[[str, bytes], None]) -> None:
        await super().listen(subject, lambda *said: None if self._away else on(*said))

    @override
    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        late: list[Record] = []

        def hold(records: Sequence[Record]) -> None:
            if self._away:
                late.extend(records)
                return
            on([one for one in (*late, *records) if self._log.holds(one.sequence)])
            late.clear()

        await super().tail(filters, start=start, on=hold)


def test_who_was_cut_off_while_others_held_and_archived_a_debate_does_not_hold_it_again() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            journal, asks, bus = journal_of(server), Asks(server), CutOff(server)
            cut_off = Coordinator(Journal(bus, Subjects()), "cut off", archiving=AT_ONCE)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cut_off.run)
                await cut_off.ready.wait()
                await journal.submit(REF, SUBMITTED)
                await bus.cut.wait()
                async with coordinated(server, AT_ONCE):
                    facts = await until_closed(journal)
                    while await hot(journal):  # noqa: ASYNC110 - virtual time
                        await anyio.sleep(0.05)
                bus.back.set()
                await anyio.sleep(60)
                assert cut_off.open_debates == 0
                tasks.cancel_scope.cancel()
            assert asks.count == 1
            assert await hot(journal) == []
            assert await facts_of(journal) == facts

    simulate(main)


def test_who_was_cut_off_lets_go_of_a_debate_that_others_closed_and_archived() -> None:
    """Long before the deadline that it waits for."""
    patient = SUBMITTED.model_copy(update={"panel": panel(deadline_s=1000.0)})

    async def main() -> None:
        async with open_memory_server() as server:
            journal, asks, bus = journal_of(server), Asks(server), CutOff(server, by_itself=False)
            cut_off = Coordinator(Journal(bus, Subjects()), "cut off", archiving=AT_ONCE)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cut_off.run)
                await cut_off.ready.wait()
                await journal.submit(REF, patient)
                await anyio.sleep(1)
                assert asks.count == 1
                bus.cut.set()
                async with coordinated(server, AT_ONCE):
                    await journal.cancel(REF, CancelRequested(why="enough"))
                    facts = await until_closed(journal)
                    while await hot(journal):  # noqa: ASYNC110 - virtual time
                        await anyio.sleep(0.05)
                bus.back.set()
                await anyio.sleep(1)
                assert cut_off.open_debates == 1
                await anyio.sleep(60)
                assert cut_off.open_debates == 0
                tasks.cancel_scope.cancel()
            assert asks.count == 1
            assert await hot(journal) == []
            assert await facts_of(journal) == facts

    simulate(main)
