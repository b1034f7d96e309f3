"""
What a run leaves behind, read as the brief's own scripts read it (004 §1, §4, §6, §7; 001 §9).

The names are those that `pipeline_integrity_verification` and the threshold checklist look up.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.console.calling import parley

SCRIPT = """
panel: absa
steps:
  s1-ate: {ate: {aspects: [{term: 피부톤, confidence: .9}, {term: 가격, confidence: .9}]}}
  s1-atsa:
    atsa:
      aspect_sentiments:
        - {aspect_ref: 피부톤, polarity: neutral, confidence: .3}
        - {aspect_ref: 가격, polarity: negative, confidence: .8}
  d1-epm: {epm: {proposed_edits: [{op: set_polarity, target: {aspect_ref: 피부톤}, value: positve}]}}
  d1-cj: {cj: {proposed_edits: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]}}
  judge:
    judge:
      final_patch: [{op: confirm_tuple, target: {aspect_ref: 피부톤, polarity: positive}}]
      final_tuples: [{aspect_ref: 피부톤, polarity: positive}, {aspect_ref: 가격, polarity: negative}]
      sentence_evidence_spans: [맑아졌는데]
"""
TEXT = "피부톤은 맑아졌는데 가격은 비싸요"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("run")
    (home / "script.yaml").write_text(SCRIPT, encoding="utf-8")
    (home / "data.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    arguments = ("data.jsonl", "-o", "out", "--brain", "script:script.yaml")
    repair = ("--set", "polarity_repair=true")
    done = parley("batch", "absa", *arguments, *repair, cwd=home)
    assert done.code == 0, done.err
    assert "polarity words: 1 repaired, 0 invalid" in done.err
    return home / "out"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_as_many_records_as_the_manifest_says(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    expected = manifest["dataset"]["processing_count"]
    for name in ("outputs", "scorecards", "traces"):
        assert len(lines(run / f"{name}.jsonl")) == expected == 1


def test_the_whole_record_stands_in_the_scorecard(run: Path) -> None:
    (card,), (output,) = lines(run / "scorecards.jsonl"), lines(run / "outputs.jsonl")
    assert card["meta"]["text_id"] == card["runtime"]["uid"] == "a"
    assert card["meta"]["input_text"] == TEXT
    parsed = card["runtime"]["parsed_output"]
    assert parsed == output
    assert parsed["final_result"]["final_tuples"]
    assert parsed["meta"]["adopt_decision"] in {"adopted", "not_adopted"}
    assert parsed["meta"]["debate_summary"]["final_tuples"]
    assert [one["term"] for one in parsed["meta"]["stage1_aspects"]] == ["피부톤", "가격"]
    for memory in (card["memory"], card["meta"]["memory"]):
        assert memory["memory_access_policy"] == {"debate": "cj_only"}
        assert memory["memory_debate_slot_present_for"] == []
        assert memory["prompt_injection_chars"] == memory["retrieved_k"] == 0
    assert card["debate"]["override_stats"] == card["meta"]["debate_override_stats"]
    assert card["debate"]["mapping_coverage"] == card["meta"]["debate_mapping_coverage"]


def test_the_gate_is_read_line_by_line(run: Path) -> None:
    *aspects, closing = lines(run / "override_gate_debug.jsonl")
    assert closing["type"] == "ev_decision"
    assert {"ev_score", "ev_adopted", "ev_components"} <= closing.keys()
    for one in aspects:
        assert one["decision"] in {"APPLY", "SKIP"}
        assert (one["decision"] == "APPLY") == (one["override_action"] is not None)
        names = ("valid_hint_count", "pos_score", "neg_score", "total", "margin", "skip_reason")
        assert all(name in one for name in names)


def test_the_summary_of_the_gate(run: Path) -> None:
    summary = json.loads((run / "override_gate_debug_summary.json").read_text())
    assert summary["n_aspects"] == summary["decision_applied_n"] + summary["decision_skip_n"]
    assert sum(summary["skip_reason_count"].values()) == summary["decision_skip_n"]
    assert summary["skipped_neutral_only_n"] == summary["low_signal_breakdown"]["neutral_only"]
    assert summary["threshold_near_rate"].keys() == {"total_near_rate", "margin_near_rate"}
    for name in ("total_dist", "margin_dist"):
        assert {"min", "mean", "median", "p90", "max"} <= summary[name].keys()
    assert summary["by_sample"]["a"]["adopt_reason"]


def test_a_misspelt_polarity_is_repaired_and_counted(run: Path) -> None:
    """004 §4: strict by default; the repair by edit distance is a choice, and counted."""
    (card,) = lines(run / "scorecards.jsonl")
    assert (card["meta"]["polarity_repair_count"], card["meta"]["polarity_invalid_count"]) == (1, 0)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["figures"]["adoption"]["polarity_repair_rate"] == 1.0
    summary = json.loads((run / "override_gate_debug_summary.json").read_text())
    assert summary["override_hint_repair_total"] == 1


def test_by_default_nothing_is_repaired(run: Path) -> None:
    home = run.parent
    arguments = ("data.jsonl", "-o", "strict", "--brain", "script:script.yaml")
    assert parley("batch", "absa", *arguments, cwd=home).code == 0
    (card,) = lines(home / "strict" / "scorecards.jsonl")
    assert (card["meta"]["polarity_repair_count"], card["meta"]["polarity_invalid_count"]) == (0, 1)
