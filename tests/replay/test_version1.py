"""
Debates that version 1 of the rules decided: they fold, show and export, and are not verified.

`version1/outcomes.json` is what every recording of version 1 came to; those of today were made of
the same statements, and must come to the same.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.console.cli.main import call
from parley.coordinator.core.audit import audit
from parley.coordinator.core.results import result_of
from parley.files.lines import fact_lines
from parley.files.reader import read_archive

HERE = Path(__file__).parent
OLD = sorted((HERE / "version1").glob("*.jsonl"))
OUTCOMES = json.loads((HERE / "version1" / "outcomes.json").read_text(encoding="utf-8"))


# What version 3 decides otherwise on purpose: row 16, and the sentence label.
BY_RULING: dict[str, dict[str, str]] = {
    "absa/disabled": {"adopt_decision": "not_adopted", "adopt_reason": "low_signal"},
    "absa/flip": {"final_label": "mixed", "label": "mixed"},
    "absa/reminded": {"final_label": "mixed", "label": "mixed"},
    "absa/stalemate": {"final_label": "mixed", "label": "mixed"},
    "absa/risk-resolved": {"final_label": "mixed", "label": "mixed"},
}

Capture = pytest.CaptureFixture[str]


def called(capfd: Capture, *arguments: object) -> tuple[int, str]:
    code = call([str(one) for one in arguments])
    return code, capfd.readouterr().out


def outcome_of(result: dict[str, Any], keys: list[str]) -> dict[str, Any]:
    if "run" not in result:
        return {key: result[key] for key in keys}
    flat = {
        **(result.get("meta") or {}),
        **(result.get("final_result") or {}),
        **(result.get("moderator") or {}),
        **result["run"],
    }
    return {key: flat.get(key) for key in keys}


def ruled(name: str) -> dict[str, Any]:
    changed = BY_RULING.get(name, {})
    return {key: changed.get(key, value) for key, value in OUTCOMES[name].items()}


def named(outcome: dict[str, Any]) -> dict[str, Any]:
    """Without the terms of the tuples: version 3 fills them in (row 34 of the rulings)."""
    tuples = [{**one, "aspect_term": ""} for one in outcome.get("final_tuples") or ()]
    return {**outcome, "final_tuples": tuples} if tuples else outcome


@pytest.mark.parametrize("name", OUTCOMES)
def test_today_s_recording_comes_to_what_version_1_came_to(name: str) -> None:
    result = json.loads((HERE / f"{name}.result.json").read_text(encoding="utf-8"))
    expected = named(ruled(name))
    assert named(outcome_of(result, list(expected))) == expected


def test_there_are_recordings_of_version_1() -> None:
    assert [path.stem for path in OLD] == ["flip", "reported", "stalemate-a-02"]


@pytest.mark.parametrize("path", OLD, ids=[path.stem for path in OLD])
def test_a_debate_of_version_1_folds_shows_and_exports(
    path: Path, tmp_path: Path, capfd: Capture
) -> None:
    (debate,) = read_archive(path).debates
    assert debate.broken == ()
    found = audit(debate.facts)
    assert found.state.closed is not None
    assert found.discrepancies == ()
    result = json.loads(result_of(debate.ref, found.state).model_dump_json())
    name = path.stem if path.stem in OUTCOMES else f"absa/{path.stem}"
    assert outcome_of(result, list(OUTCOMES[name])) == OUTCOMES[name]
    copy = tmp_path / "copy.jsonl"
    copy.write_text("".join(f"{line}\n" for line in fact_lines(debate.ref, debate.recorded)))
    assert read_archive(copy).debates[0].facts == debate.facts
    assert called(capfd, "replay", path)[0] == 0


@pytest.mark.parametrize("path", OLD, ids=[path.stem for path in OLD])
def test_verify_says_which_version_decided(path: Path, capfd: Capture) -> None:
    code, out = called(capfd, "verify", path)
    assert code == 4
    (line,) = out.splitlines()
    assert "not verified: decided by version 1 of the rules of" in line
    assert line.endswith("this program verifies version 3")
    told = json.loads(called(capfd, "verify", path, "--json")[1])
    assert (told["holds"], told["discrepancies"]) == (False, [])
    assert told["unverified"].startswith("decided by version 1")
