"""
Debates recorded from a real bus: they must fold to the same result for ever.

`NAME.jsonl` is what `parley export` wrote, `NAME.result.json` what `parley show --json` said then.
"""

import json
from pathlib import Path

import pytest

from parley.coordinator.core.audit import audit
from parley.coordinator.protocols.verdicts.result import result_of
from parley.files.reader import read_archive

RECORDED = sorted(Path(__file__).parent.glob("*.jsonl"))


def test_there_is_a_recording_of_every_way_to_end():
    endings = {
        json.loads(path.with_suffix(".result.json").read_text())["termination_reason"]
        for path in RECORDED
    }
    assert endings == {
        "consensus_reached",
        "stalemate",
        "high_confidence_deadlock",
        "no_progress",
        "max_rounds",
        "quorum_lost",
        "cancelled",
    }


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_a_recorded_debate_replays_to_the_identical_result(path):
    (debate,) = read_archive(path).debates
    assert debate.broken == ()
    report = audit(debate.facts)
    assert report.holds, report.discrepancies
    announced = path.with_suffix(".result.json").read_text()
    replayed = result_of(debate.ref, report.state).model_dump_json()
    assert replayed + "\n" == announced
