"""kill -9 at awkward moments: the same outcome follows."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from parley.agents.forensic.labels import Verdict
from parley.agents.script import parse_script
from parley.agents.verdicts.script import VerdictScript
from parley.bus.contracts.facts import CancelRequested, Status
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.protocols.verdicts.result import VerdictResult
from tests.debates import ROSTER, panel
from tests.processes import (
    Deployment,
    deployment,
    open_journal,
    outcome,
    submit,
    until_recorded,
)

# Three rounds with a change in each; every turn takes a moment, so that there is time to kill.
SLOW = parse_script(
    """
    rounds:
      - frequency: {verdict: ai_generated, confidence: .70, delay_s: .3}
        noise: {verdict: authentic, confidence: .65, delay_s: .3}
        watermark: {verdict: uncertain, confidence: .50, delay_s: .3}
        spatial: {verdict: manipulated, confidence: .80, delay_s: .3}
      - noise: {verdict: manipulated, confidence: .70, delay_s: .5}
      - watermark: {verdict: manipulated, confidence: .60, delay_s: .5}
      - frequency: {verdict: manipulated, confidence: .70, delay_s: .5}
    """
)


def expected(result: VerdictResult) -> None:
    assert result.status is Status.COMPLETED
    assert result.total_rounds == 3
    assert result.termination_reason is TerminationReason.CONSENSUS_REACHED
    assert result.final_verdict == Verdict.MANIPULATED
    assert result.confidence == pytest.approx(0.70, abs=1e-4)
    assert result.errors == ()
    assert len(result.turns) == 12


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployment]:
    with deployment(tmp_path) as running:
        yield running


@pytest.mark.parametrize("moment", ["ctl.opened", "turn.opening.noise", "ctl.ask.round-2.all"])
async def test_the_only_coordinator_is_killed_and_started_again(deployed, moment):
    coordinator = deployed.coordinator()
    deployed.agents(ROSTER)
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(), SLOW)
        await until_recorded(journal, ref, moment, within_s=120)
        coordinator.kill()
        await anyio.sleep(1)
        assert await journal.bus.read(journal.subjects.at(ref, "ctl.closed")) == []
        coordinator.start()
        expected(await outcome(journal, ref))


async def test_one_of_two_coordinators_is_killed_and_the_other_finishes(deployed):
    first, second = deployed.coordinator("c0"), deployed.coordinator("c1")
    deployed.agents(ROSTER)
    async with open_journal(deployed.nats.url) as journal:
        refs = [await submit(journal, f"d{number}", panel(), SLOW) for number in range(8)]
        await until_recorded(journal, refs[-1], "ctl.ask.round-1.all", within_s=120)
        first.kill()
        for ref in refs:
            expected(await outcome(journal, ref))
    assert second.process.poll() is None


async def test_an_agent_is_killed_while_it_thinks_and_its_replica_answers(deployed):
    deployed.coordinator()
    deployed.agents([name for name in ROSTER if name != "noise"])
    noise = deployed.agent("noise")
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(deadline_s=20), SLOW)
        await until_recorded(journal, ref, "ctl.ask.round-1.all", within_s=120)
        noise.kill()
        deployed.agent("noise", replica=1)
        expected(await outcome(journal, ref))


@pytest.mark.own_server
async def test_the_server_is_killed_and_comes_back(deployed):
    deployed.coordinator()
    deployed.agents(ROSTER)
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(), SLOW)
        await until_recorded(journal, ref, "ctl.ask.round-1.all", within_s=120)
        deployed.nats.kill()
        await anyio.sleep(0.5)
        deployed.nats.start()
        expected(await outcome(journal, ref))


async def test_an_agent_that_never_answers_misses_its_deadline_and_the_debate_goes_on(deployed):
    deployed.coordinator()
    deployed.agents(ROSTER)
    script = VerdictScript.model_validate(
        {
            "rounds": [
                {
                    "frequency": ["ai_generated", 0.8],
                    "noise": {"silent": True},
                    "watermark": ["ai_generated", 0.6],
                    "spatial": ["authentic", 0.7],
                }
            ]
        }
    )
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(deadline_s=1), script)
        result = await outcome(journal, ref)
    assert result.termination_reason is TerminationReason.STALEMATE
    assert [(error.step, error.agent, error.reason) for error in result.errors] == [
        ("opening", "noise", "deadline")
    ]


async def test_nobody_answers_and_the_debate_ends_with_a_reason(deployed):
    deployed.coordinator()
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(deadline_s=1), SLOW)
        result = await outcome(journal, ref)
    assert result.status is Status.FAILED
    assert result.termination_reason is TerminationReason.QUORUM_LOST


async def test_a_debate_is_cancelled_while_it_runs(deployed):
    deployed.coordinator()
    deployed.agents(ROSTER)
    async with open_journal(deployed.nats.url) as journal:
        ref = await submit(journal, "d1", panel(), SLOW)
        await until_recorded(journal, ref, "ctl.ask.round-1.all", within_s=120)
        await journal.cancel(ref, CancelRequested(why="seen enough"))
        result = await outcome(journal, ref)
    assert result.status is Status.CANCELLED
    assert result.termination_reason is TerminationReason.CANCELLED
    assert result.incomplete
