"""
Record the debates of this folder from a real bus: `python -m tests.replay.record NAME…`.

A recording is made once per version of the rules; make a new one when there is a new way to end.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from parley.agents.script import Script, parse_script
from parley.bus.contracts.facts import CancelRequested
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from tests.debates import ROSTER, panel
from tests.integration.test_crashes import SLOW
from tests.integration.test_vectors import script_of
from tests.processes import deployment, open_journal, outcome, submit, until_recorded
from tests.vectors_a import VECTORS

HERE = Path(__file__).parent

LOST = parse_script(
    """
    rounds:
      - {noise: {silent: true}, frequency: {fail: no sensor profile}, spatial: [authentic, .8]}
    """
)
MISSED = parse_script(
    """
    rounds:
      - {frequency: [ai_generated, .8], noise: [authentic, .7], watermark: [ai_generated, .6],
         spatial: {silent: true}}
      - {noise: {silent: true}}
      - {frequency: {fail: out of memory}}
    """
)
REPORTED = parse_script(
    """
    rounds:
      - {frequency: [ai_generated, .92, "peaks at every eighth pixel"], noise: [authentic, .88],
         watermark: [uncertain, .5], spatial: [ai_generated, .9]}
      - {watermark: [ai_generated, .9]}
    follow_ups:
      spatial: {summary: "the sky", regions: [[10, 20, 100, 80, 0.9]]}
    report:
      summary: Two methods contradict each other, so a foreign part is suspected in the sky.
      key_evidence: ["peaks at every eighth pixel"]
    """
)


def recordings() -> dict[str, tuple[VerdictPanel, Script]]:
    examples = {
        f"{vector.reason.value}-{vector.id.lower()}": (
            panel(vector.roster, **vector.params.model_dump()),
            script_of(vector),
        )
        for vector in VECTORS
    }
    return {
        **examples,
        "quorum_lost": (panel(deadline_s=1), LOST),
        "missed_turns": (panel(deadline_s=1), MISSED),
        "cancelled": (panel(), SLOW),
        "reported": (panel().model_copy(update={"manager": "manager"}), REPORTED),
    }


async def record(journal: Journal, name: str, url: str) -> None:
    ref = await submit(journal, name, *recordings()[name])
    if name == "cancelled":
        await until_recorded(journal, ref, "ctl.ask.round-1.all", within_s=10)
        await journal.cancel(ref, CancelRequested(why="seen enough"))
    await outcome(journal, ref)
    (HERE / f"{name}.result.json").write_bytes(parley("show", ref, url, "--json"))
    parley("export", ref, url, "-o", str(HERE / f"{name}.jsonl"))


def parley(command: str, ref: DebateRef, url: str, *options: str) -> bytes:
    arguments = [sys.executable, "-m", "parley", command, ref.id, "--nats", url, *options]
    return subprocess.run(arguments, check=True, capture_output=True).stdout


async def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home, deployment(Path(home)) as deployed:
        deployed.coordinator()
        deployed.agents((*ROSTER, "manager"))
        async with open_journal(deployed.nats.url) as journal:
            for name in names:
                await record(journal, name, deployed.nats.url)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
