"""Every process is replaced, one after another, while debates run: nobody notices."""

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from parley.agents.forensic.labels import Verdict
from parley.agents.script import parse_script
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.jetstream.bus import JetStreamBus
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from tests.debates import panel
from tests.processes import Deployment, Role, deployment, open_journal, outcome, submit

ROSTER = ("frequency", "noise")
EVERY_S = 0.05
# An ask that is handed out again in this time is counted as well.
ACKNOWLEDGED_WITHIN_S = 60.0
# Whenever a process is told to stop, something is being thought about in it.
SCRIPT = parse_script(
    """
    rounds:
      - frequency: {verdict: ai_generated, confidence: .70, delay_s: .2}
        noise: {verdict: authentic, confidence: .65, delay_s: .3}
      - noise: {verdict: ai_generated, confidence: .60, delay_s: .2}
    """
)


@pytest.mark.own_server
async def test_a_rolling_restart_hands_no_ask_out_twice(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        roles = [deployed.coordinator("c0"), deployed.coordinator("c1")]
        for replica in (0, 1):
            roles += deployed.agents(ROSTER, replica)
        async with open_journal(deployed.nats.url) as journal:
            refs: list[DebateRef] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(keep_submitting, journal, refs)
                await anyio.sleep(0.5)
                for role in roles:
                    await anyio.to_thread.run_sync(replace, deployed, role)
                tasks.cancel_scope.cancel()
            for ref in refs:
                await check_outcome(journal, ref)
            assert len(refs) > 20
            for persona in ROSTER:
                assert await deliveries(journal, persona) == len(await asks(journal))


async def keep_submitting(journal: Journal, refs: list[DebateRef]) -> None:
    while True:
        with anyio.CancelScope(shield=True):
            refs.append(await submit(journal, f"d{len(refs)}", panel(ROSTER), SCRIPT))
        await anyio.sleep(EVERY_S)


def replace(deployed: Deployment, role: Role) -> None:
    assert role.stop() == 0, role.log.read_text()
    log = role.log.read_text()
    assert "_drained" in log
    assert "given_back" not in log
    assert '"level": "error"' not in log
    assert deployed.nats.process.poll() is None
    role.start()


async def check_outcome(journal: Journal, ref: DebateRef) -> None:
    result = await outcome(journal, ref)
    assert result.termination_reason is TerminationReason.CONSENSUS_REACHED
    assert result.final_verdict == Verdict.AI_GENERATED
    assert result.total_rounds == 1
    assert result.errors == ()
    assert len(result.turns) == 2


async def asks(journal: Journal) -> list[str]:
    return await journal.bus.subjects(journal.subjects.at(DebateRef("*", "*"), "ctl.ask.>"))


async def deliveries(journal: Journal, persona: str) -> int:
    """How often the persona's queue handed anything out, since it exists."""
    bus = journal.bus
    assert isinstance(bus, JetStreamBus)
    # The last acknowledgements may still be on their way when the last debate is closed.
    with anyio.fail_after(ACKNOWLEDGED_WITHIN_S):
        while True:
            queue = next(one for one in await bus.queues() if one.name == f"forensic-{persona}")
            if (queue.lag, queue.in_flight) == (0, 0):
                return queue.delivered
            await anyio.sleep(0.05)
