"""Debates about aspects recorded from a real bus: they must fold to the same record for ever."""

from pathlib import Path

import pytest

from parley.coordinator.core.audit import audit
from parley.coordinator.core.results import result_of
from parley.files.reader import read_archive

RECORDED = sorted(Path(__file__).parent.glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_a_recorded_debate_replays_to_the_identical_record(path: Path) -> None:
    (debate,) = read_archive(path).debates
    assert debate.broken == ()
    report = audit(debate.facts)
    assert report.holds, report.discrepancies
    announced = path.with_suffix(".result.json").read_text(encoding="utf-8")
    assert result_of(debate.ref, report.state).model_dump_json() + "\n" == announced


def test_there_is_something_to_replay() -> None:
    assert len(RECORDED) == 8
