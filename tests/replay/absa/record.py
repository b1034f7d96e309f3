"""Record debates about aspects from a real bus: `python -m tests.replay.absa.record NAME…`."""

import sys
import tempfile
from pathlib import Path

import anyio

from tests.absa_debates import panel
from tests.absa_scenarios import SCENARIOS, Scenario, edit, turn
from tests.processes import closed_state, deployment, open_journal, submit
from tests.replay.record import parley

HERE = Path(__file__).parent
NAMES = ("flip", "l3", "risk-resolved", "first-generation", "disabled", "no-judge", "stalemate")
REMINDED = Scenario(
    "reminded",
    {},
    turn("tan", edit("set_polarity", "음식", None, "negative")),
    sets=("memory_condition=C2",),
)
RECORDINGS = {one.name: one for one in (*SCENARIOS, REMINDED)}


async def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as home, deployment(Path(home)) as deployed:
        deployed.coordinator()
        deployed.panel("absa")
        url = deployed.nats.url
        async with open_journal(url) as journal:
            for name in names or (*NAMES, REMINDED.name):
                one = RECORDINGS[name]
                chosen = panel(*one.sets, preset=one.preset)
                ref = await submit(journal, name, chosen, one.script, one.text)
                await closed_state(journal, ref)
                (HERE / f"{name}.result.json").write_bytes(parley("show", ref, url, "--json"))
                parley("export", ref, url, "-o", str(HERE / f"{name}.jsonl"))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
