"""Parts that break an invariant each, to see whether the simulation notices."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from typing_extensions import override

from parley.agents.worker import Worker
from parley.bus.archive import DebateArchive, KeptBudget, Summary
from parley.bus.codec import encode
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Asked, ControlFact, DeadlineFired, Decided, Fact, TurnTaken
from parley.bus.journal import Draft, Journal
from parley.bus.port import Bus, Delivery, Entry, Record
from parley.bus.subjects import CONTROL, DebateRef, Subjects
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts import flow as verdicts
from parley.coordinator.service.coordinator import Coordinator
from parley.coordinator.service.deadlines import next_deadline
from parley.coordinator.service.tracked import TrackedDebate
from tests.simulation.world import Build


class BlindJournal(Journal):
    """Writes a decision after whatever came last, not after what it was made on."""

    @override
    async def control(self, ref: DebateRef, draft: Draft, *, after: int) -> None:
        written = await self.bus.read(self.subjects.control_of(ref))
        last = written[-1].sequence if written else 0
        await super().control(ref, draft, after=max(after, last))

    @override
    def offer(self, ref: DebateRef, draft: Draft, *, after: int) -> bool:
        return False


class ChattyJournal(Journal):
    """Lets a persona speak as often as it is handed its ask."""

    @override
    async def speak(self, ref: DebateRef, fact: TurnTaken, *, sampled: bool = False) -> None:
        del sampled
        subject = self.subjects.of(ref, fact)
        said = await self.bus.read(subject)
        await self.bus.append(Entry(subject, encode(fact), f"{subject}.{len(said)}"))


class ForgetfulArchive(DebateArchive):
    """Leaves out what people said."""

    @override
    async def put(
        self,
        ref: DebateRef,
        records: Sequence[Record],
        summary: Summary,
        *,
        budgets: Iterable[KeptBudget] = (),
        blobs: Iterable[BlobRef] = (),
    ) -> Summary:
        kept = [one for one in records if ".turn." not in one.subject]
        return await super().put(ref, kept, summary, budgets=budgets, blobs=blobs)


class ForgetfulJournal(Journal):
    def __init__(self, bus: Bus, subjects: Subjects) -> None:
        super().__init__(bus, subjects)
        self.archive = ForgetfulArchive(bus, subjects)


class PatientJournal(Journal):
    """Waits for ever for those who were asked."""

    @override
    async def fire(self, ref: DebateRef, fact: DeadlineFired) -> None:
        pass


class HastyCoordinator(Coordinator):
    """Gives everybody a tenth of the time that the ask promised."""

    @override
    def _after(
        self, tracked: TrackedDebate, state: DebateState, record: Record, fact: Fact | None
    ) -> DebateState:
        after = super()._after(tracked, state, record, fact)
        if isinstance(fact, Asked):
            tracked.asked = (tracked.asked[0], tracked.asked[1] - 0.9 * fact.deadline_s)
            tracked.arm(next_deadline(tracked, after))
        return after


class CarelessWorker(Worker):
    """Acknowledges an ask before it has thought about it: a crash loses the turn."""

    @override
    async def _handle(self, delivery: Delivery) -> None:
        await delivery.ack()
        await super()._handle(delivery)


class SelfishCoordinator(Coordinator):
    """Never looks at what others have left undone."""

    @override
    async def _gain(self, partitions: frozenset[int]) -> None:
        pass


class OffendedCoordinator(Coordinator):
    """Wants nothing more to do with a debate in which somebody forged a fact."""

    @override
    def _after(
        self, tracked: TrackedDebate, state: DebateState, record: Record, fact: Fact | None
    ) -> DebateState:
        after = super()._after(tracked, state, record, fact)
        offended = after.facts == state.facts or after == state._replace(facts=after.facts)
        if offended and f".{CONTROL}" in record.subject:
            tracked.control = -1
        return after


def _wishful(state: DebateState) -> ControlFact:
    fact = verdicts.advance(state)
    if not isinstance(fact, Decided):
        return fact
    decision = fact.decision.model_copy(update={"confidence": 1.0})
    return fact.model_copy(update={"decision": decision})


def blind() -> Build:
    return Build(journal=BlindJournal)


def chatty() -> Build:
    return Build(journal=ChattyJournal)


def forgetful() -> Build:
    return Build(journal=ForgetfulJournal)


def patient() -> Build:
    return Build(journal=PatientJournal)


def hasty() -> Build:
    return Build(coordinator=HastyCoordinator)


def careless() -> Build:
    return Build(worker=CarelessWorker)


def selfish() -> Build:
    return Build(coordinator=SelfishCoordinator)


def offended() -> Build:
    return Build(coordinator=OffendedCoordinator)


def wishful() -> Build:
    """Decides otherwise than the rules say."""
    return Build(
        protocols={
            **PROTOCOLS,
            "verdicts": replace(PROTOCOLS["verdicts"], advance=_wishful, cancel=verdicts.cancel),
        }
    )
