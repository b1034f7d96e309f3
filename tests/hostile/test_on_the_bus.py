"""
Everything that is no fact, on every subject that is ours, while real processes debate.

It is quarantined with a reason, nobody stops, its own debate ends, and the others end as if it had
never been said. The poison stays in the log, so that whoever starts later has to stand it, too.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import anyio
import pytest

from parley.agents.script import parse_script
from parley.bus.contracts.facts import Decided
from parley.bus.errors import NotFound
from parley.bus.journal import Journal, Logged
from parley.bus.subjects import DebateRef
from parley.coordinator.audit import Audit, audit
from parley.coordinator.reducer import fold
from tests.debates import ROSTER, panel, play
from tests.hostile.intruder import Intruder, intruder
from tests.hostile.payloads import FORGED, GARBAGE, SIDE_CHANNELS, STRANGE_SUBJECTS, subjects_of
from tests.processes import Deployment, Role, deployment, open_journal, submit, until_recorded

ENDS_WITHIN_S = 60.0
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

    def quarantined(self) -> dict[str, str]:
        """Reasons by subject, as the coordinators' logs give them."""
        lines = [line for role in self.coordinators for line in role.log.read_text().splitlines()]
        said = [json.loads(line) for line in lines if '"quarantined"' in line]
        return {line["subject"]: line["reason"] for line in said}


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
    await until_recorded(journal, ref, "ctl.ask.opening.all", within_s=20)
    return ref


async def assert_undisturbed(journal: Journal, ref: DebateRef) -> None:
    logged, report = await ended(journal, ref)
    assert report.holds, report.discrepancies
    pure, _ = play(PANEL, SCRIPT)
    assert [one.fact.decision for one in logged if isinstance(one.fact, Decided)] == [
        fact.decision for fact in pure if isinstance(fact, Decided)
    ]


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
        dead = {letter.sequence: letter.reason for letter in await journal.bus.dead_letters()}
        reasons = system.quarantined()
        for name in set(GARBAGE) - {"above the log's limit"}:
            mystery = journal.subjects.at(refs[name], "ctl.mystery")
            (record,) = await journal.bus.read(mystery)
            assert "no fact is known" in reasons[mystery]
            assert "no fact is known" in dead[record.sequence]
            assert reasons[journal.subjects.at(refs[name], "ctl.terminated")]
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
            assert report.state.decided is not None
            assert report.state.decided.decision == expected, tail
            forged = logged[report.discrepancies[0].ordinal]
            assert journal.subjects.of(ref, forged.fact) == journal.subjects.at(ref, tail)
    system.assert_alive()
    logs = "".join(role.log.read_text() for role in system.coordinators)
    assert logs.count('"illegal_fact"') >= len(FORGED)


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
    """Its description is overwritten; whoever puts it again notices, and puts it right."""
    spoiled = SCRIPT.model_copy(update={"preset": "spoiled"})
    text = json.dumps(spoiled.model_dump(mode="json", exclude_defaults=True)).encode()
    async with open_journal(system.deployed.nats.url) as journal:
        blob = await journal.bus.put_blob(text, "application/json")
        name = base64.urlsafe_b64encode(blob.sha256.encode())
        with intruder(system.deployed.nats.port) as someone:
            someone.publish(b"$O.parley-blobs.M." + name, b'{"nuid": ["?"]}')
            someone.flush()
        with pytest.raises(NotFound):
            await journal.bus.get_blob(blob)
        ref = await submit(journal, "spoiled", PANEL, spoiled)
        await assert_undisturbed(journal, ref)
    system.assert_alive()


async def test_more_than_the_server_takes(system: System) -> None:
    with intruder(system.deployed.nats.port) as someone:
        said = b""
        with suppress(OSError):
            someone.publish(b"debate.forensic.big.submitted", b"x" * 10_000_000)
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
        strange = await journal.bus.read("debate.forensic.*.submitted")
        known = {record.subject for record in strange}
        assert "debate.forensic.*.submitted" in known
        assert not any(
            ".*." in record.subject for record in await journal.bus.read("debate.*.*.ctl.opened")
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
