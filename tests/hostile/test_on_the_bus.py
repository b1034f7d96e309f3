"""
Everything that is no fact, on every subject that is ours, while real processes debate.

It is quarantined with a reason, nobody stops, its own debate ends, and the others end as if it had
never been said. All but the turns stays in the log, so that whoever starts later has to stand it.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import pytest

from parley.agents.script import parse_script
from parley.bus.codec import encode
from parley.bus.contracts.facts import Decided
from parley.bus.journal import Journal, Logged
from parley.bus.subjects import DebateRef
from parley.bus.wildcards import matches
from parley.coordinator.core.audit import Audit, audit
from parley.coordinator.core.misplaced import NOT_SUBMITTED
from parley.coordinator.core.reducer import fold
from tests.debates import ROSTER, panel, play
from tests.hostile.intruder import Intruder, intruder
from tests.hostile.payloads import (
    FORGED,
    GARBAGE,
    SIDE_CHANNELS,
    STRANGE_SUBJECTS,
    UNASKED,
    subjects_of,
)
from tests.processes import Deployment, Role, deployment, open_journal, submit, until_recorded

ENDS_WITHIN_S = 60.0
# A flush says that the server has read what was published, not that it stands in the log.
STORED_WITHIN_S = 30.0
BURIED_WITHIN_S = 20.0
FACTS_OF_A_DEBATE = [one for one in subjects_of("d") if one.startswith("debate.")]
PANEL = panel(deadline_s=4.0)
# Slow enough to be disturbed.
SCRIPT = parse_script(
    """
    rounds:
      - frequency: {verdict: ai_generated, confidence: .92, delay_s: .5}
        noise: {verdict: authentic, confidence: .88, delay_s: .5}
        watermark: {verdict: uncertain, confidence: .5, delay_s: .5}
        spatial: {verdict: ai_generated, confidence: .9, delay_s: .5}
      - watermark: {verdict: ai_generated, confidence: .9, delay_s: .5}
        spatial: {verdict: ai_generated, confidence: .9, delay_s: .5}
    """
)


@dataclass
class System:
    deployed: Deployment
    coordinators: list[Role]
    agents: list[Role]

    def assert_alive(self) -> None:
        for role in (*self.coordinators, *self.agents):
            assert role.process.poll() is None, role.log.read_text()[-2000:]
            assert "Traceback" not in role.log.read_text(), role.log.read_text()[-2000:]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with deployment(tmp_path_factory.mktemp("hostile")) as deployed:
        coordinators = [deployed.coordinator("c0"), deployed.coordinator("c1")]
        yield System(deployed, coordinators, deployed.agents(ROSTER))


async def ended(journal: Journal, ref: DebateRef) -> tuple[list[Logged], Audit]:
    """What is no closing does not count as one."""
    with anyio.fail_after(ENDS_WITHIN_S):
        while True:
            logged, _ = await journal.read(ref)
            if fold(one.fact for one in logged).closed is not None:
                return logged, audit([one.fact for one in logged])
            await anyio.sleep(0.2)


async def begun(journal: Journal, name: str) -> DebateRef:
    ref = await submit(journal, name, PANEL, SCRIPT)
    await until_recorded(journal, ref, "ctl.ask.opening.all", within_s=120)
    return ref


async def assert_undisturbed(journal: Journal, ref: DebateRef) -> None:
    logged, report = await ended(journal, ref)
    assert report.holds, report.discrepancies
    pure, _ = play(PANEL, SCRIPT)
    assert [one.fact.decision for one in logged if isinstance(one.fact, Decided)] == [
        fact.decision for fact in pure if isinstance(fact, Decided)
    ]


async def assert_buried(journal: Journal, reasons: Mapping[int, str]) -> None:
    """Each of these records becomes a dead letter for this reason, put aside by a coordinator."""
    found: dict[int, str] = {}
    with anyio.move_on_after(BURIED_WITHIN_S):
        while not found.keys() >= reasons.keys():
            await anyio.sleep(0.2)
            letters = await journal.bus.dead_letters()
            found = {one.sequence: one.reason for one in letters if not one.queue}
    missing = [await journal.bus.record(one) for one in reasons.keys() - found.keys()]
    assert not missing, [one.subject for one in missing]
    wrong = {n: found[n] for n, reason in reasons.items() if reason not in found[n]}
    assert not wrong


async def buried_of(
    journal: Journal, ref: DebateRef, *, records: int, after: int = 0
) -> list[tuple[str, str]]:
    """(subject, reason) of what coordinators put aside in a debate, in the log's order."""
    found: dict[int, tuple[str, str]] = {}
    with anyio.move_on_after(STORED_WITHIN_S + BURIED_WITHIN_S):
        while len(found) < records:
            await anyio.sleep(0.2)
            filter_subject = journal.subjects.debate(ref)
            standing = {one.sequence: one.subject for one in await journal.bus.read(filter_subject)}
            for one in await journal.bus.dead_letters():
                subject = one.trace.subject if one.trace else standing.get(one.sequence, "")
                if not one.queue and one.sequence > after and matches(filter_subject, subject):
                    found[one.sequence] = (subject, one.reason)
    return [found[sequence] for sequence in sorted(found)]


async def assert_garbage_buried(journal: Journal, ref: DebateRef, *, records: int) -> None:
    assert len(await buried_of(journal, ref, records=records)) == records
    _, garbage = await journal.read(ref)
    await assert_buried(journal, {one.record.sequence: one.reason for one in garbage})


def soil(someone: Intruder, debate: str, data: bytes) -> None:
    for subject in subjects_of(debate):
        someone.publish(subject.encode(), data)
    for subject in SIDE_CHANNELS:
        someone.publish(subject.encode(), data)
    someone.flush()


@pytest.mark.timeout(180)
async def test_garbage_on_every_subject(system: System) -> None:
    victims = {name: f"victim-{number}" for number, name in enumerate(GARBAGE)}
    async with open_journal(system.deployed.nats.url) as journal:
        refs = {name: await begun(journal, victim) for name, victim in victims.items()}
        others = [await begun(journal, f"bystander-{number}") for number in range(3)]
        with intruder(system.deployed.nats.port) as someone:
            for name, data in GARBAGE.items():
                soil(someone, victims[name], data)
                soil(someone, f"unknown-{victims[name]}", data)
        for name, ref in refs.items():
            _, report = await ended(journal, ref)
            assert report.holds, (name, report.discrepancies)
        for ref in others:
            await assert_undisturbed(journal, ref)
        for name in set(GARBAGE) - {"above the log's limit"}:
            strays = DebateRef(refs[name].panel, f"unknown-{victims[name]}")
            for ref in (refs[name], strays):
                await assert_garbage_buried(journal, ref, records=len(FACTS_OF_A_DEBATE))
            (again,) = await journal.bus.read(journal.subjects.redrive(strays, "opening", "noise"))
            letters = await journal.bus.dead_letters()
            assert [one.queue for one in letters if one.sequence == again.sequence] == [
                "forensic-noise"
            ]
        present = await journal.bus.roll_call(1.0)
        assert len(present) == len(system.coordinators) + len(system.agents)
    system.assert_alive()


async def test_forged_control_facts(system: System) -> None:
    """They are reported by the audit and change nothing, not even their own debate."""
    async with open_journal(system.deployed.nats.url) as journal:
        refs = {tail: await begun(journal, f"forged-{n}") for n, tail in enumerate(FORGED)}
        with intruder(system.deployed.nats.port) as someone:
            for tail, data in FORGED.items():
                someone.publish(journal.subjects.at(refs[tail], tail).encode(), data)
            someone.flush()
        pure, _ = play(PANEL, SCRIPT)
        (expected,) = [fact.decision for fact in pure if isinstance(fact, Decided)]
        for tail, ref in refs.items():
            logged, report = await ended(journal, ref)
            assert len(report.discrepancies) == 1, (tail, report.discrepancies)
            assert report.state.finding(Decided) is not None
            assert report.state.found(Decided).decision == expected, tail
            forged = logged[report.discrepancies[0].ordinal]
            assert journal.subjects.of(ref, forged.fact) == journal.subjects.at(ref, tail)
            await assert_buried(journal, {forged.sequence: ""})
    system.assert_alive()


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
async def test_facts_that_nobody_asked_for(system: System, *, closed: bool) -> None:
    async with open_journal(system.deployed.nats.url) as journal:
        ref = await begun(journal, f"unasked-{closed}")
        if closed:
            await ended(journal, ref)
        said = {journal.subjects.of(ref, fact): why for fact, why in UNASKED.values()}
        with intruder(system.deployed.nats.port) as someone:
            (before,) = (await journal.bus.position()).reached
            for fact, _ in UNASKED.values():
                someone.publish(journal.subjects.of(ref, fact).encode(), encode(fact))
            someone.flush()
        buried = await buried_of(journal, ref, records=len(UNASKED), after=before)
        assert len(buried) == len(UNASKED)
        assert all(said[subject] in reason for subject, reason in buried)
        await ended(journal, ref)
    system.assert_alive()


async def test_garbage_on_a_closed_debate(system: System) -> None:
    async with open_journal(system.deployed.nats.url) as journal:
        ref = await begun(journal, "closed-before")
        await assert_undisturbed(journal, ref)
        with intruder(system.deployed.nats.port) as someone:
            for name in ("nothing", "no JSON", "another version", "10,000 levels"):
                soil(someone, ref.id, GARBAGE[name])
        await assert_garbage_buried(journal, ref, records=4 * len(FACTS_OF_A_DEBATE))
        await assert_undisturbed(journal, ref)
    system.assert_alive()


async def test_facts_of_a_debate_that_nobody_submitted(system: System) -> None:
    """They wait for nobody; and should it be submitted later, it begins with its submission."""
    pure, _ = play(PANEL, SCRIPT)
    async with open_journal(system.deployed.nats.url) as journal:
        ref = DebateRef("forensic", "unheard-of")
        with intruder(system.deployed.nats.port) as someone:
            for fact in pure[1:]:
                subject = journal.subjects.of(ref, fact)
                someone.publish(subject.encode(), fact.model_dump_json(exclude_none=True).encode())
            someone.flush()
        published = [journal.subjects.of(ref, fact) for fact in pure[1:]]
        buried = await buried_of(journal, ref, records=len(published))
        assert {subject for subject, _ in buried} >= set(published)
        assert {reason for subject, reason in buried if subject in published} == {NOT_SUBMITTED}
        bystander = await begun(journal, "bystander-of-the-unheard-of")
        await assert_undisturbed(journal, bystander)
        await submit(journal, ref.id, PANEL, SCRIPT)
        logged, report = await ended(journal, ref)
        assert report.state.closed is not None
        begin = next(n for n, one in enumerate(logged) if one.fact.type == "submitted")
        assert all(one.ordinal < begin for one in report.discrepancies)
    system.assert_alive()


async def test_announcements_of_nothing(system: System) -> None:
    """The server's own words can be said by anybody: about no record, or another kind of record."""
    async with open_journal(system.deployed.nats.url) as journal:
        ref = await begun(journal, "announced")
        (ask,) = await journal.bus.read(journal.subjects.at(ref, "ctl.opened"))
        with intruder(system.deployed.nats.port) as someone:
            for sequence in (ask.sequence, 10**9, 0, -1, 2**70):
                said = {"consumer": "forensic-noise", "stream_seq": sequence}
                someone.publish(SIDE_CHANNELS[2].encode(), json.dumps(said).encode())
            someone.publish(b"live.debate-coordinators", b'{"name": "ghost"}')
            someone.publish(b"live.debate-coordinators", b'{"name": "c0", "leaving": true}')
            someone.flush()
        await assert_undisturbed(journal, ref)
        assert await journal.bus.dead_letters()
    system.assert_alive()


async def test_a_script_that_somebody_spoiled(system: System) -> None:
    """Its description is overwritten; the one before still leads to it, and it is put right."""
    spoiled = SCRIPT.model_copy(update={"preset": "spoiled"})
    text = json.dumps(spoiled.model_dump(mode="json", exclude_defaults=True)).encode()
    async with open_journal(system.deployed.nats.url) as journal:
        blob = await journal.bus.put_blob(text, "application/json")
        name = base64.urlsafe_b64encode(blob.sha256.encode())
        with intruder(system.deployed.nats.port) as someone:
            someone.publish(b"$O.parley-blobs.M." + name, b'{"nuid": ["?"]}')
            someone.flush()
        assert await journal.bus.get_blob(blob) == text
        ref = await submit(journal, "spoiled", PANEL, spoiled)
        await assert_undisturbed(journal, ref)
    system.assert_alive()


async def test_more_than_the_server_takes(system: System) -> None:
    with intruder(system.deployed.nats.port) as someone:
        said = b""
        with suppress(OSError):
            someone.publish(b"debate.9.forensic.big.submitted", b"x" * 10_000_000)
            said = someone.flush()
        assert b"PONG" not in said
    async with open_journal(system.deployed.nats.url) as journal:
        await assert_undisturbed(journal, await begun(journal, "bystander-of-the-big"))
    system.assert_alive()


async def test_subjects_that_reach_too_far_and_a_start_on_a_poisoned_log(system: System) -> None:
    """Wildcards and what is no text: stored by the server, followed by nobody."""
    async with open_journal(system.deployed.nats.url) as journal:
        with intruder(system.deployed.nats.port) as someone:
            for subject in STRANGE_SUBJECTS:
                for data in (b"{}", b"\xff", *FORGED.values()):
                    someone.publish(subject, data)
            someone.flush()
        await assert_undisturbed(journal, await begun(journal, "bystander-of-the-strange"))
        system.assert_alive()
        everything = await journal.bus.read(journal.subjects.everything())
        strange = [one for one in everything if journal.subjects.parse(one.subject) is None]
        assert "debate.0.forensic.*.submitted" in {one.subject for one in strange}
        ours = [one for one in STRANGE_SUBJECTS if one.startswith(b"debate.")]
        assert len(strange) == len(ours) * (2 + len(FORGED))
        await assert_buried(journal, {one.sequence: "belongs to no debate" for one in strange})
        assert not any(
            ".*." in record.subject for record in await journal.bus.read("debate.*.*.*.ctl.opened")
        )

        for role in (*system.coordinators, *system.agents):
            role.kill()
        for role in (*system.coordinators, *system.agents):
            role.launch()
        for role in (*system.coordinators, *system.agents):
            role.await_ready()
        await assert_undisturbed(journal, await begun(journal, "after-the-poison"))
        present = await journal.bus.roll_call(1.0)
        assert len(present) == len(system.coordinators) + len(system.agents)
    system.assert_alive()
