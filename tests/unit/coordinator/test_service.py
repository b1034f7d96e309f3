"""The coordinator as a process, on the bus in memory and virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
from typing_extensions import override

from parley.agents.runtime import WorkerOptions, queue_of
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    ControlFact,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts import Statement, Verdict
from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Delivery, Entry, Record
from parley.bus.subjects import DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.audit import audit
from parley.coordinator.policy import decide
from parley.coordinator.reducer import fold
from parley.coordinator.service import Coordinator
from tests.debates import ROSTER, panel

REF = DebateRef("forensic", "d1")
SUBMITTED = Submitted(panel=panel(deadline_s=5.0), input=DebateInput(text="a photograph"))


def simulate(main: Callable[[], Awaitable[None]]) -> None:
    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})


@asynccontextmanager
async def coordinated(server: MemoryServer, bus: MemoryBus) -> AsyncIterator[Journal]:
    """A journal of the log that a coordinator on this bus attends to."""
    coordinator = Coordinator(Journal(bus, Subjects()), "c0")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(coordinator.run)
        await coordinator.ready.wait()
        yield Journal(server.client(), Subjects())
        tasks.cancel_scope.cancel()


def statement(persona: str) -> TurnTaken:
    content = Statement(verdict=Verdict.AUTHENTIC, confidence=0.9)
    return TurnTaken(step="opening", persona=persona, content=content)


async def tails(journal: Journal) -> list[str]:
    return [record.subject.split(".", 3)[3] for record in await journal.bus.read("debate.>")]


class InBatches(MemoryBus):
    """Hands on every second what arrived in the meantime, all at once, as a real tail may."""

    @override
    async def tail(
        self, filters: Sequence[str], *, start: int, on: Callable[[Record], None]
    ) -> None:
        arrived: list[Record] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: super(InBatches, self).tail(filters, start=start, on=arrived.append)
            )
            while True:
                await anyio.sleep(1)
                batch = arrived.copy()
                arrived.clear()
                for record in batch:
                    on(record)


def test_a_decision_is_void_once_another_control_fact_was_seen() -> None:
    """
    The deadline, the turns that came after it, and what another coordinator made of both arrive
    together. The abstention that the deadline alone calls for must not be written any more.
    """

    async def main() -> None:
        async with (
            open_memory_server() as server,
            coordinated(server, InBatches(server)) as journal,
        ):
            await journal.submit(REF, SUBMITTED)
            while "fired.opening" not in await tails(journal):  # noqa: ASYNC110 - virtual time
                await anyio.sleep(0.01)
            for persona in ROSTER:
                await journal.speak(REF, statement(persona))
            logged, _ = await journal.read(REF)
            decided = decide(fold(one.fact for one in logged))
            assert decided is not None
            last = max(one.sequence for one in logged if isinstance(one.fact, ControlFact))
            await journal.control(REF, journal.draft(REF, decided), after=last)
            await anyio.sleep(20)
            logged, _ = await journal.read(REF)
            assert "ctl.abstained.opening.frequency" not in await tails(journal)
            report = audit([one.fact for one in logged])
            assert report.holds, report.discrepancies
            assert report.state.closed is not None

    simulate(main)


class Hiccups(MemoryBus):
    """Every kind of request fails once before it succeeds."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.failed: list[str] = []

    def _fail_once(self, what: str) -> None:
        if what not in self.failed:
            self.failed.append(what)
            raise Unavailable(f"{what}: no answer")

    @override
    async def append(self, *entries: Entry) -> int:
        self._fail_once(entries[-1].subject)
        return await super().append(*entries)

    @override
    async def read(self, filter_subject: str, *, start: int = 1) -> list[Record]:
        self._fail_once(f"read {filter_subject}")
        return await super().read(filter_subject, start=start)

    @override
    async def signal(self, subject: str, data: bytes) -> None:
        self._fail_once(f"signal {subject}")
        await super().signal(subject, data)


def test_a_coordinator_outlives_requests_that_fail() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            client = Journal(server.client(), Subjects())
            await client.submit(REF, SUBMITTED)
            bus = Hiccups(server)
            async with coordinated(server, bus) as journal:
                noise = queue_of(client, "forensic", "noise", WorkerOptions(max_deliver=1))
                await journal.bus.ensure_queue(noise)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(journal.bus.work, noise.name, 1, give_back)
                    await anyio.sleep(60)
                    tasks.cancel_scope.cancel()
                logged, _ = await journal.read(REF)
                reasons = {one.fact.reason for one in logged if isinstance(one.fact, Abstained)}
                assert reasons == {AbstainReason.UNDELIVERABLE, AbstainReason.DEADLINE}
                assert {one.split(" ")[0] for one in bus.failed} > {"read", "signal"}
                assert logged[-1].fact.type == "closed"

    simulate(main)


async def give_back(delivery: Delivery) -> None:
    await delivery.nak()
