"""The coordinator as a process, on the bus in memory and virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from parley.agents.forensic.labels import Verdict
from parley.agents.worker import WorkerOptions, queue_of
from parley.bus.codec import encode
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    Closed,
    ControlFact,
    Fact,
    Opened,
    Status,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput
from parley.bus.contracts.verdicts.content import OpeningRequest, Statement
from parley.bus.errors import BadInput, NotFound, Unavailable
from parley.bus.journal import LARGEST_FACT_BYTES, Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Delivery, Entry, Record, Trace
from parley.bus.position import Start
from parley.bus.subjects import DebateRef, Subjects, partition_of, tail_of
from parley.bus.virtual import VirtualTimeLoop
from parley.coordinator.core.audit import audit
from parley.coordinator.core.policy import decide
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.reducer import Walked, fold, take
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts import flow as verdicts
from parley.coordinator.service.coordinator import Coordinator
from parley.coordinator.service.membership import BEAT_S, Beacon, Membership
from tests.debates import ROSTER, panel

REF = DebateRef("forensic", "d1")
OTHER = DebateRef("forensic", "d2")
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
    return [record.subject.split(".", 4)[4] for record in await journal.bus.read("debate.>")]


class InBatches(MemoryBus):
    """Hands on every second what arrived in the meantime, all at once, as a real tail may."""

    @override
    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        arrived: list[Record] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: super(InBatches, self).tail(filters, start=start, on=arrived.extend)
            )
            while True:
                await anyio.sleep(1)
                batch = arrived.copy()
                arrived.clear()
                on(batch)


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
    def offer(self, entry: Entry) -> bool:
        return False

    @override
    async def append(self, *entries: Entry) -> int:
        self._fail_once(entries[-1].subject)
        return await super().append(*entries)

    @override
    async def read(
        self, filter_subject: str, *, start: Start = 1, most: int | None = None
    ) -> list[Record]:
        self._fail_once(f"read {filter_subject}")
        return await super().read(filter_subject, start=start, most=most)

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


FORGED_ASK = Asked(
    decided_at=1,
    step="opening",
    personas=("noise", "spatial"),
    input=DebateInput(),
    request=OpeningRequest(),
    deadline_s=1.0,
)
FORGED_OPENING = Opened(decided_at=9)
FORGED = {
    "no control fact": ("ctl.mystery", b"{}"),
    "no closing": ("ctl.closed", b"\xff"),
    "no ask": ("ctl.ask.round-1.all", b"{}"),
    "no deadline": ("fired.opening", b"[]"),
    "no cancellation": ("cancel", b"null"),
    "nothing known": ("gossip", b""),
    "an opening": ("ctl.opened", encode(FORGED_OPENING)),
    "an ask": (tail_of(FORGED_ASK), encode(FORGED_ASK)),
    "a submission": ("submitted", encode(SUBMITTED)),
}


async def forge(server: MemoryServer, tail: str, data: bytes) -> None:
    subject = Subjects().at(REF, tail)
    await server.client().append(Entry(subject, data, f"forged {server.log.last_sequence}"))


@pytest.mark.parametrize("moment", ["opened", "waiting", "closed"])
@pytest.mark.parametrize(("tail", "data"), FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("replicas", [1, 3])
def test_what_was_forged_does_not_stop_a_debate(
    moment: str, tail: str, data: bytes, replicas: int
) -> None:
    """Nobody answers; still every decision is made and stands, and nobody holds on to the debate."""

    async def main() -> None:
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(open_memory_server())
            staff = [
                Coordinator(Journal(server.client(), Subjects()), f"c{n}") for n in range(replicas)
            ]
            tasks = await stack.enter_async_context(anyio.create_task_group())
            for one in staff:
                tasks.start_soon(one.run)
            await anyio.sleep(3)
            journal = Journal(server.client(), Subjects())
            await journal.submit(REF, SUBMITTED)
            await anyio.sleep({"opened": 0.01, "waiting": 1.0, "closed": 60.0}[moment])
            await forge(server, tail, data)
            await anyio.sleep(60)
            logged, _ = await journal.read(REF)
            report = audit([one.fact for one in logged])
            assert report.state.closed is not None
            assert [logged[one.ordinal].fact for one in report.discrepancies] == [
                one.fact for one in logged if one.fact in (FORGED_ASK, FORGED_OPENING)
            ]
            assert [one.open_debates for one in staff] == [0] * replicas
            tasks.cancel_scope.cancel()

    simulate(main)


def test_a_forged_closing_does_not_hide_a_debate_from_new_coordinators() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            async with coordinated(server, server.client()) as journal:
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(1)
            await forge(server, "ctl.closed", b"nothing of the kind")
            async with coordinated(server, server.client()) as journal:
                await anyio.sleep(60)
                logged, undecodable = await journal.read(REF)
            assert isinstance(logged[-1].fact, Closed)
            assert len(undecodable) == 1

    simulate(main)


def test_an_open_debate_whose_submission_has_aged_out_is_told_of() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            asked = Asked(
                decided_at=2,
                step="opening",
                personas=ROSTER,
                input=DebateInput(),
                request=OpeningRequest(),
                deadline_s=5.0,
            )
            closed = Closed(decided_at=9, status=Status.COMPLETED, reason="stalemate")
            for ref, fact in ((REF, asked), (OTHER, asked), (OTHER, closed)):
                subject = Subjects().of(ref, fact)
                server.log.write(Entry(subject, encode(fact), subject))
            async with coordinated(server, server.client()):
                await anyio.sleep(1)

    with capture_logs() as logs:
        simulate(main)
    told = [one["debate"] for one in logs if one["event"] == "submission_gone"]
    assert told == [str(REF)]


def test_what_is_no_submission_is_forgotten_and_takes_no_id() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            coordinator = Coordinator(Journal(server.client(), Subjects()), "c0")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(coordinator.run)
                await coordinator.ready.wait()
                await forge(server, "submitted", b"{}")
                await forge(server, "ctl.opened", encode(Opened(decided_at=1)))
                await anyio.sleep(10)
                assert coordinator.open_debates == 0
                journal = Journal(server.client(), Subjects())
                await journal.submit(REF, SUBMITTED)
                await anyio.sleep(60)
                logged, undecodable = await journal.read(REF)
                facts = [one.fact for one in logged]
                assert facts[1] == SUBMITTED
                report = audit(facts)
                assert report.state.closed is not None
                assert [one.ordinal for one in report.discrepancies] == [0]
                assert len(undecodable) == 1
                tasks.cancel_scope.cancel()

    simulate(main)


GHOST = Beacon(name="ghost", protocols=tuple(PROTOCOLS))


def owned_by(name: str, other: Beacon) -> frozenset[int]:
    """What falls to one of two."""
    peers = Membership(name, tuple(PROTOCOLS))
    peers.hear(other, 0.0)
    return peers.partitions((), 0.0)


def test_a_coordinator_that_only_says_it_lives_is_not_waited_for() -> None:
    async def main() -> None:
        async with open_memory_server() as server, coordinated(server, server.client()) as journal:

            async def haunt() -> None:
                ghost = GHOST.model_dump_json().encode()
                while True:
                    await journal.bus.signal(journal.subjects.beacons(), ghost)
                    await anyio.sleep(BEAT_S)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(haunt)
                refs = [DebateRef("forensic", f"d{n}") for n in range(8)]
                mine = owned_by("c0", GHOST)
                assert {partition_of(ref.id) in mine for ref in refs} == {True, False}
                for ref in refs:
                    await journal.submit(ref, SUBMITTED)
                await anyio.sleep(100)
                closed = await journal.bus.subjects(journal.subjects.closings())
                assert len(closed) == len(refs)
                tasks.cancel_scope.cancel()

    simulate(main)


def test_deadlines_are_not_put_off_by_coordinators_that_come_and_go() -> None:
    """The one who acts first is killed again and again; the other has seen when the step opened."""

    async def main() -> None:
        async with open_memory_server() as server, coordinated(server, server.client()) as journal:
            mine = owned_by("c0", Beacon(name="c1", protocols=tuple(PROTOCOLS)))
            refs = (DebateRef("forensic", f"d{n}") for n in range(99))
            ref = next(ref for ref in refs if partition_of(ref.id) not in mine)
            patient = Submitted(panel=panel(deadline_s=20.0), input=DebateInput())
            await journal.submit(ref, patient)
            for _ in range(8):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(Coordinator(Journal(server.client(), Subjects()), "c1").run)
                    await anyio.sleep(8)
                    tasks.cancel_scope.cancel()
            logged, _ = await journal.read(ref)
            begun, fired = (
                next(one.time_ns for one in logged if one.fact.type == kind)
                for kind in ("asked", "fired")
            )
            assert fired - begun < 31 * 10**9

    simulate(main)


def test_a_queue_that_gave_up_on_a_forged_ask_makes_nobody_abstain() -> None:
    async def main() -> None:
        async with open_memory_server() as server, coordinated(server, server.client()) as journal:
            await journal.submit(REF, SUBMITTED)
            await anyio.sleep(1)
            noise = queue_of(journal, "forensic", "noise", WorkerOptions(max_deliver=1))
            await journal.bus.ensure_queue(noise)
            await forge(server, tail_of(FORGED_ASK), encode(FORGED_ASK))

            async def refuse_the_forged(delivery: Delivery) -> None:
                if delivery.record.data == encode(FORGED_ASK):
                    await delivery.nak()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(journal.bus.work, noise.name, 2, refuse_the_forged)
                await anyio.sleep(2)
                assert not [tail for tail in await tails(journal) if "abstained" in tail]
                tasks.cancel_scope.cancel()

    simulate(main)


def broken(_state: DebateState) -> ControlFact:
    raise ZeroDivisionError


def wordy(state: DebateState) -> ControlFact:
    """More than the log takes, even without its request."""
    return ask_with(state, input=DebateInput.model_construct(text="x" * LARGEST_FACT_BYTES))


def ask_with(state: DebateState, **given: object) -> Asked:
    asked = decide(state)
    assert isinstance(asked, Asked)
    return asked.model_copy(update=given)


@pytest.mark.parametrize(("advance", "reason"), [(broken, "undecidable"), (wordy, "too_large")])
def test_a_debate_that_the_rules_cannot_go_on_with_is_closed_and_the_others_go_on(
    advance: Callable[[DebateState], ControlFact], reason: str
) -> None:
    """The audit, which knows the same rules, finds nothing wrong with it."""
    protocols = {
        **PROTOCOLS,
        "verdicts": replace(PROTOCOLS["verdicts"], advance=advance, cancel=verdicts.cancel),
    }

    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            coordinator = Coordinator(journal, "c0", protocols)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(coordinator.run)
                await coordinator.ready.wait()
                for number in range(3):
                    ref = DebateRef("forensic", f"d{number}")
                    await journal.submit(ref, SUBMITTED)
                    await anyio.sleep(1)
                    logged, _ = await journal.read(ref)
                    closed = logged[-1].fact
                    assert isinstance(closed, Closed)
                    assert (closed.status, closed.reason) == (Status.FAILED, reason)
                    assert audit([one.fact for one in logged], protocols).holds
                    assert not audit([one.fact for one in logged]).holds
                tasks.cancel_scope.cancel()

    simulate(main)


def test_what_was_decided_and_is_illegal_closes_its_debate_and_is_not_decided_again() -> None:
    def out_of_turn(state: DebateState) -> ControlFact:
        return Opened(decided_at=state.facts)

    async def main() -> None:
        protocols = {"verdicts": replace(PROTOCOLS["verdicts"], advance=out_of_turn)}
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            coordinator = Coordinator(Journal(server.client(), Subjects()), "c0", protocols)
            tasks.start_soon(coordinator.run)
            await coordinator.ready.wait()
            journal = Journal(server.client(), Subjects())
            await journal.submit(REF, SUBMITTED)
            await anyio.sleep(60)
            assert coordinator.open_debates == 0
            facts = [one.fact for one in (await journal.read(REF))[0]]
            assert [fact.type for fact in facts] == ["submitted", "opened", "opened", "closed"]
            assert isinstance(facts[-1], Closed)
            assert (facts[-1].status, facts[-1].reason) == (Status.FAILED, "undecidable")
            tasks.cancel_scope.cancel()

    simulate(main)


def test_a_debate_that_cannot_be_worked_on_is_closed_and_stops_nobody() -> None:
    """Whatever raises: the rules, the spelling of a decision, the folding of a fact."""

    def unspeakable(state: DebateState) -> ControlFact:
        return Closed.model_construct(
            decided_at=state.facts, status=Status.COMPLETED, reason="\ud800", detail=None
        )

    def broken(state: DebateState) -> ControlFact:
        if state.input.text == "unspeakable":
            return unspeakable(state)
        if state.input.text == "broken":
            raise RuntimeError(state.input.text)
        return verdicts.advance(state)

    async def main() -> None:
        protocols = {
            "verdicts": replace(PROTOCOLS["verdicts"], advance=broken, cancel=verdicts.cancel)
        }
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            coordinator = Coordinator(Journal(server.client(), Subjects()), "c0", protocols)
            tasks.start_soon(coordinator.run)
            await coordinator.ready.wait()
            journal = Journal(server.client(), Subjects())
            for text in ("broken", "unspeakable", "sound"):
                about = DebateInput(text=text)
                ref = DebateRef("forensic", text)
                await journal.submit(ref, Submitted(panel=panel(deadline_s=5.0), input=about))
            await anyio.sleep(60)
            for text in ("broken", "unspeakable"):
                facts = [one.fact for one in (await journal.read(DebateRef("forensic", text)))[0]]
                assert isinstance(facts[-1], Closed)
                assert (facts[-1].status, facts[-1].reason) == (Status.FAILED, "undecidable")
            sound = [one.fact for one in (await journal.read(DebateRef("forensic", "sound")))[0]]
            assert any(isinstance(one, Asked) for one in sound)
            assert coordinator.open_debates == 0
            tasks.cancel_scope.cancel()

    simulate(main)


def test_what_the_reducer_cannot_take_closes_its_debate_and_no_other() -> None:
    async def main() -> None:
        async with open_memory_server() as server, anyio.create_task_group() as tasks:
            coordinator = Coordinator(Journal(server.client(), Subjects()), "c0")
            tasks.start_soon(coordinator.run)
            await coordinator.ready.wait()
            journal = Journal(server.client(), Subjects())
            await journal.submit(REF, SUBMITTED)
            await journal.submit(OTHER, SUBMITTED)
            await anyio.sleep(1)
            tracked = coordinator._debates[REF]
            assert tracked.state is not None
            # A state that no log leads to: every fact of this debate raises from now on.
            tracked.state = tracked.state._replace(steps=(None,))  # type: ignore[arg-type]
            await journal.speak(REF, statement("noise"))
            for persona in ROSTER:
                await journal.speak(OTHER, statement(persona))
            await anyio.sleep(60)
            mine = [one.fact for one in (await journal.read(REF))[0]]
            assert isinstance(mine[-1], Closed)
            assert mine[-1].status is Status.FAILED
            others = [one.fact for one in (await journal.read(OTHER))[0]]
            assert isinstance(others[-1], Closed)
            assert others[-1].status is Status.COMPLETED
            tasks.cancel_scope.cancel()

    simulate(main)


@pytest.mark.parametrize("closed", [False, True])
def test_what_cannot_be_read_back_closes_its_debate_once_and_no_other(
    monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    """By a coordinator that starts: the log holds a fact that its reducer cannot take."""

    def choosy(state: DebateState, fact: Fact) -> Walked:
        if isinstance(fact, TurnTaken) and fact.brain == "poison":
            raise RuntimeError(fact.brain)
        return take(state, fact)

    async def main() -> None:
        async with open_memory_server() as server:
            journal = Journal(server.client(), Subjects())
            async with anyio.create_task_group() as tasks:
                before = Coordinator(Journal(server.client(), Subjects()), "c0")
                tasks.start_soon(before.run)
                await before.ready.wait()
                for ref in (REF, OTHER):
                    await journal.submit(ref, SUBMITTED)
                await anyio.sleep(1)
                poison = statement("noise").model_copy(update={"brain": "poison"})
                await journal.speak(REF, poison)
                await anyio.sleep(60 if closed else 1)
                tasks.cancel_scope.cancel()
            monkeypatch.setattr("parley.coordinator.service.coordinator.take", choosy)
            async with anyio.create_task_group() as tasks:
                after = Coordinator(Journal(server.client(), Subjects()), "c1")
                tasks.start_soon(after.run)
                await anyio.sleep(60)
                if closed:
                    # A late word makes it read the debate that is over.
                    await journal.speak(REF, statement("spatial"))
                    await anyio.sleep(60)
                tasks.cancel_scope.cancel()
            for ref in (REF, OTHER):
                facts = [one.fact for one in (await journal.read(ref))[0]]
                assert sum(isinstance(one, Closed) for one in facts) == 1
            mine = [one.fact for one in (await journal.read(REF))[0]]
            reasons = [one.reason for one in mine if isinstance(one, Closed)]
            assert (reasons == ["undecidable"]) is not closed

    simulate(main)


class Graveless(MemoryBus):
    """Takes no dead letter, for reasons that no wait can mend."""

    @override
    async def bury(self, sequence: int, reason: str, trace: Trace | None = None) -> None:
        raise (BadInput if sequence % 2 else NotFound)(reason)


def test_what_cannot_be_buried_stops_nobody() -> None:
    async def main() -> None:
        async with (
            open_memory_server() as server,
            coordinated(server, Graveless(server)) as journal,
        ):
            for number in range(2):
                ref = DebateRef("forensic", f"d{number}")
                subject = journal.subjects.at(ref, "turn.opening.noise")
                await journal.bus.append(Entry(subject, b"{", subject))
            await journal.submit(OTHER, SUBMITTED)
            await anyio.sleep(60)
            closed = [one.fact for one in (await journal.read(OTHER))[0]][-1]
            assert isinstance(closed, Closed)

    simulate(main)
