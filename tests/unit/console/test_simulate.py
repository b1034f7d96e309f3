import json
from pathlib import Path

import pytest
import yaml

from parley.bus.contracts.panel import DebateInput
from parley.console.runtime.plan import Wishes, read_script, scripted_panel
from parley.console.runtime.rehearsal import play
from parley.coordinator.core.audit import audit
from tests.unit.console.calling import Call
from tests.vectors_a import VECTORS, Vector


def script_of(vector: Vector) -> dict[str, object]:
    def lines(said: dict[str, tuple[object, float]]) -> dict[str, list[object]]:
        return {agent: [str(verdict), confidence] for agent, (verdict, confidence) in said.items()}

    opening = dict(zip(vector.roster, vector.opening, strict=True))
    return {
        "panel": "forensic",
        "preset": vector.preset,
        "params": dict(vector.overrides),
        "roster": list(vector.roster),
        "rounds": [lines({**opening}), *(lines({**change}) for change in vector.changes)],
    }


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_vectors(parley: Call, tmp_path: Path, vector: Vector) -> None:
    called = parley("simulate", write(tmp_path / "v.yaml", script_of(vector)), "--json")
    assert called.code == 0
    assert called.err == ""
    result = json.loads(called.out)
    assert result["status"] == "completed"
    assert result["total_rounds"] == vector.rounds
    assert result["termination_reason"] == vector.reason.value
    assert result["consensus_reached"] == (vector.reason.value == "consensus_reached")
    assert result["final_verdict"] == vector.verdict
    assert result["confidence"] == pytest.approx(vector.confidence, abs=5e-5)
    assert result["disagreement_history"] == pytest.approx(vector.disagreement_history)
    assert result["nominal_llm_calls"] == vector.nominal_calls
    assert result["actual_llm_calls"] == 0
    assert result["insufficient_evidence"] == vector.insufficient_evidence
    assert [one["agent"] for one in result["opening_statements"]] == list(vector.roster)
    assert [one["termination_status"] for one in result["declarations"]] == [
        *["continue"] * vector.rounds,
        "terminate",
    ]
    assert len(result["turns"]) == len(vector.roster) * vector.rounds
    assert {one["agent"] for one in result["follow_ups"]} == set(vector.follow_ups)


def test_a_follow_up_without_anybody_to_take_it(parley: Call, tmp_path: Path) -> None:
    vector = next(one for one in VECTORS if one.id == "A-03")
    called = parley("simulate", write(tmp_path / "v.yaml", script_of(vector)), "--json")
    assert json.loads(called.out)["follow_ups"] == [
        {
            "agent": "spatial",
            "action": "localize_manipulation",
            "reason": "high_confidence_deadlock",
            "status": "unassigned",
        }
    ]


def test_flags_win_over_the_script(parley: Call, tmp_path: Path) -> None:
    vector = next(one for one in VECTORS if one.id == "A-02")
    file = write(tmp_path / "v.yaml", script_of(vector))
    fast = json.loads(parley("simulate", file, "--preset", "fast", "--json").out)
    assert fast["termination_reason"] == "consensus_reached"
    longer = json.loads(parley("simulate", file, "--set", "stalemate_threshold=3", "--json").out)
    assert longer["total_rounds"] == 3
    two = json.loads(parley("simulate", file, "--roster", "noise,frequency", "--json").out)
    assert list(two["final_verdicts"]) == ["noise", "frequency"]


def test_the_story_in_words(parley: Call, tmp_path: Path) -> None:
    vector = next(one for one in VECTORS if one.id == "A-01")
    lines = parley("simulate", write(tmp_path / "v.yaml", script_of(vector))).out.splitlines()
    assert lines[0] == "panel forensic, preset default: frequency, noise, watermark, spatial"
    assert "  frequency: ai_generated 0.85" in lines
    assert "  watermark: uncertain 0.50 -> ai_generated 0.70" in lines
    assert "over: consensus reached, the agents agree" in lines
    assert "verdict: ai_generated, confidence 0.77" in lines
    assert lines[-1] == "closed: completed (consensus reached)"


SILENT = """
params: {deadline_s: 2}
rounds:
  - {frequency: [authentic, .9], noise: {silent: true},
     watermark: {verdict: authentic, confidence: .9, delay_s: 1}, spatial: [manipulated, .9]}
  - {spatial: {fail: out of memory}, watermark: {delay_s: 3}}
"""


def test_who_is_silent_slow_or_failing_is_recorded(parley: Call, tmp_path: Path) -> None:
    file = write(tmp_path / "silent.yaml", SILENT)
    result = json.loads(parley("simulate", file, "--json").out)
    assert [(one["step"], one["agent"], one["reason"]) for one in result["errors"][:3]] == [
        ("opening", "noise", "deadline"),
        ("round-1", "spatial", "brain_error"),
        ("round-1", "watermark", "deadline"),
    ]
    assert "noise" not in {one["agent"] for one in result["opening_statements"]}


def test_lost_quorum_fails_the_debate(parley: Call, tmp_path: Path) -> None:
    file = write(tmp_path / "few.yaml", "rounds: [{noise: [authentic, .9]}]")
    result = json.loads(parley("simulate", file, "--json").out)
    assert result["status"] == "failed"
    assert result["termination_reason"] == "quorum_lost"
    assert result["final_verdict"] == "uncertain"


def test_what_is_played_holds_before_the_audit(tmp_path: Path) -> None:
    script = read_script(write(tmp_path / "silent.yaml", SILENT))
    panel = scripted_panel(script, Wishes()).panel
    played = list(play(panel, script.content, DebateInput()))
    checked = audit([fact for fact, _ in played])
    assert checked.holds
    assert checked.state == played[-1][1]


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("rounds: [{noize: [authentic, .9]}]", ["unknown agent 'noize': did you mean 'noise'?"]),
        ("rounds: [{noise: [fake, .9]}]", ["rounds.0.noise.verdict: unknown verdict 'fake'"]),
        ("rounds: [{noise: [authentic, 1.9]}]", ["rounds.0.noise.confidence: should be less"]),
        ("rounds: [{noise: [authentic, .nan]}]", ["confidence: should be a finite number"]),
        ("rounds: [{noise: [authentic]}]", ["rounds.0.noise: a short line is"]),
        ("rounds: []", ["rounds: "]),
        ("panel: forensc\nrounds: [{}]", ["unknown panel 'forensc': did you mean 'forensic'?"]),
        ("preset: fsat\nrounds: [{}]", ["unknown preset 'fsat': did you mean 'fast'?"]),
        ("roster: [noize]\nrounds: [{}]", ["unknown persona 'noize': did you mean 'noise'?"]),
        ("params: {max_round: 2}\nrounds: [{}]", ["params: unknown key 'max_round'"]),
        ("rounds: [{}", ["line 1, column"]),
        (
            "colour: red\nrounds: [{noise: [a fake, 2]}, {spatial: {confidnce: 1}}]",
            ["unknown key 'colour'", "verdict: ", "confidence: ", "did you mean 'confidence'?"],
        ),
    ],
    ids=[
        "agent", "verdict", "range", "nan", "short", "rounds", "panel", "preset", "roster",
        "params", "syntax", "many",
    ],
)  # fmt: skip
def test_every_mistake_of_a_script_is_one_line(
    parley: Call, tmp_path: Path, content: str, problems: list[str]
) -> None:
    file = write(tmp_path / "wrong.yaml", content)
    called = parley("simulate", file)
    assert called.code == 2
    assert called.out == ""
    lines = called.err.splitlines()
    assert len(lines) == len(problems)
    for problem in problems:
        assert any(line.startswith(f"parley: {file}: ") and problem in line for line in lines)


def test_a_script_that_is_not_there(parley: Call, tmp_path: Path) -> None:
    called = parley("simulate", tmp_path / "missing.yaml")
    assert called.code == 2
    assert "no such file" in called.err
