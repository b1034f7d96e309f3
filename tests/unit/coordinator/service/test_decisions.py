"""Decisions on their way into the log, which alone tells what became of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from typing_extensions import override

from parley.bus.contracts.facts import Closed, Finding
from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Bus, Entry, Link
from parley.bus.subjects import CLOSED, DebateRef, Subjects
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.state import DebateState
from parley.coordinator.effects.effect import Effect
from parley.coordinator.service.coordinator import Coordinator
from parley.coordinator.service.deadlines import TICK_S
from parley.coordinator.service.decisions import DOUBT_S, Decisions
from parley.coordinator.service.metrics import CONTROL_FACTS
from parley.coordinator.service.tracked import TrackedDebate
from tests.unit.coordinator.service.test_coordinator import REF, SUBMITTED, simulate, tails
from tests.web.site import recorded, write


class Forgetful(MemoryBus):
    """Loses the first offer of every subject."""

    losses = 0

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.lost: list[str] = []
        self.appended: list[str] = []

    @property
    @override
    def link(self) -> Link:
        return Link(up=True, losses=self.losses)

    @override
    def offer(self, entry: Entry) -> bool:
        if entry.subject in self.lost:
            return super().offer(entry)
        self.lost.append(entry.subject)
        return True

    @override
    async def append(self, *entries: Entry) -> int:
        self.appended += [entry.subject for entry in entries]
        return await super().append(*entries)


class Broken(Forgetful):
    """The way to the server breaks whenever something gets lost."""

    @override
    def offer(self, entry: Entry) -> bool:
        self.losses += entry.subject not in self.lost
        return super().offer(entry)


class Deaf(Forgetful):
    """Cannot be offered anything."""

    @override
    def offer(self, entry: Entry) -> bool:
        self.lost.append(entry.subject)
        return False


@asynccontextmanager
async def running(bus: MemoryBus) -> AsyncIterator[Coordinator]:
    coordinator = Coordinator(Journal(bus, Subjects()), "c0")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(coordinator.run)
        await coordinator.ready.wait()
        yield coordinator
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("kind", "latest_s"), [(Forgetful, DOUBT_S + 2 * TICK_S), (Broken, 2 * TICK_S), (Deaf, 0.01)]
)
def test_a_lost_decision_is_written_again(kind: type[Forgetful], latest_s: float) -> None:
    """At once if it was not sent, soon if the connection broke, otherwise after a while."""

    async def main() -> None:
        async with open_memory_server() as server:
            bus = kind(server)
            async with running(bus):
                journal = Journal(server.client(), Subjects())
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(latest_s)
                assert "ctl.opened" in await tails(journal)
                await anyio.sleep(60)
                assert CLOSED in (await tails(journal))[-1]
                assert set(bus.lost) <= set(bus.appended)

    simulate(main)


def test_what_arrives_is_neither_written_nor_counted_twice() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            bus = server.client()
            async with running(bus) as coordinator:
                journal = Journal(server.client(), Subjects())
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(60)
                written = [tail for tail in await tails(journal) if tail.startswith("ctl.")]
                assert CLOSED in written
                assert coordinator.metrics.total(CONTROL_FACTS) == len(written) == len(set(written))

    simulate(main)


class Slow(MemoryBus):
    """Takes an offer to the log so late that whoever made it has been told to stop."""

    @override
    def offer(self, entry: Entry) -> bool:
        self._log.at(2.0, lambda: super(Slow, self).offer(entry))
        return True


def test_who_is_told_to_stop_waits_for_what_it_decided_and_decides_nothing_more() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            stop = anyio.Event()
            ended: list[float] = []

            async def coordinate() -> None:
                coordinator = Coordinator(Journal(Slow(server), Subjects()), "c0")
                await coordinator.run(stop)
                ended.append(anyio.current_time())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(coordinate)
                await anyio.sleep(1)
                journal = Journal(server.client(), Subjects())
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(0.5)
                stop.set()
                await anyio.sleep(1)
                assert not ended
                await anyio.sleep(2)
                assert ended == [pytest.approx(3.0, abs=0.1)]
                await anyio.sleep(30)
                assert await tails(journal) == ["submitted", "ctl.opened"]

    simulate(main)


def test_what_somebody_else_overtook_is_not_insisted_on() -> None:
    """Its guard has passed; written after the newer fact it would be a decision that nobody made."""

    async def main() -> None:
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            bus = Forgetful(server)
            journal = Journal(bus, Subjects())
            decisions = Decisions(journal, PROTOCOLS, 1)
            decisions.start(tasks)
            tracked = TrackedDebate(state=fold([SUBMITTED]))
            assert decisions.make_if_due(REF, tracked, 0.0)
            assert [one.rpartition(".")[2] for one in bus.lost] == ["opened"]
            tracked.control = tracked.acting_after = 7
            bus.losses += 1
            decisions.look_after({REF: tracked}, 2 * DOUBT_S)
            await anyio.sleep(1)
            assert not bus.appended
            tracked.control = 0
            decisions.look_after({REF: tracked}, 2 * DOUBT_S)
            await anyio.sleep(1)
            assert bus.appended == bus.lost

    simulate(main)


class Raising:
    """An effect of somebody's package, with a mistake."""

    def __init__(self, _bus: Bus) -> None:
        pass

    async def __call__(self, ref: DebateRef, _state: DebateState, _fact: Finding) -> Finding:
        raise RuntimeError(ref)


@pytest.mark.parametrize("effect", [Effect(open=Raising), None], ids=["raises", "is-missing"])
def test_an_effect_that_fails_closes_its_debate_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, effect: Effect | None
) -> None:
    effects = {} if effect is None else {"recalled": effect}
    monkeypatch.setattr("parley.coordinator.effects.effect.EFFECTS", effects)
    other = DebateRef("absa", "d2")
    facts = recorded("absa/reminded.jsonl")
    due = [isinstance(one, Finding) and bool(one.observed) for one in facts].index(True)

    async def main() -> None:
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            journal = Journal(server.client(), Subjects())
            await write(journal, other, facts[:due])
            one = Coordinator(Journal(server.client(), Subjects()), "c0")
            tasks.start_soon(one.run)
            await one.ready.wait()
            await journal.submit(REF, SUBMITTED)
            await anyio.sleep(100)
            last = [(await journal.read(ref))[0][-1].fact for ref in (other, REF)]
            reasons = [one.reason for one in last if isinstance(one, Closed)]
            assert reasons == ["undecidable", "quorum_lost"]
            tasks.cancel_scope.cancel()

    simulate(main)
