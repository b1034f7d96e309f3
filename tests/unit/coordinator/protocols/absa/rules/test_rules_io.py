"""The rules as filters: JSON in, JSON out, by the field names people write."""

import json
from typing import Any

import pytest

from parley.bus.errors import BadInput
from parley.console.cli.commands.rules import RULES

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
P3 = [{"polarity_hint": "positive", "weight": weight} for weight in (0.5, 0.5, 0.8)]
OVERRIDE = {
    "text": TEXT,
    "aspect_hints": {"피부톤": P3},
    "summary": {"sentence_evidence_spans": ["맑아졌는데"]},
    "structural_risks": [],
    "sentiments": [{"aspect_ref": "피부톤", "polarity": "neutral", "confidence": 0.5}],
}


def ask(rule: str, line: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(RULES[rule](json.dumps(line).encode()))
    return answer


def test_override() -> None:
    answer = ask("override", OVERRIDE)
    assert set(answer) == {"decisions", "sentiments", "stats", "skip_reasons", "gate_decision"}
    assert answer["gate_decision"] == "APPLY"
    (decision,) = answer["decisions"]
    assert set(decision) == {
        "aspect",
        "decision",
        "skip_reason",
        "action",
        "target_pol",
        "pos_score",
        "neg_score",
        "total",
        "margin",
        "valid_hint_count",
        "invalid_hint_count",
        "hint_repair_count",
    }
    assert decision["action"] == "debate_override_flip"
    assert answer["sentiments"][0]["polarity"] == "positive"
    assert answer["skip_reasons"]["L3_conservative"] == 0


@pytest.mark.parametrize(
    ("change", "decision", "confidence"),
    [
        ({"aspect_hints": {"피부톤": P3[1:]}}, "SKIP", 0.5),
        ({"aspect_hints": {"피부톤": P3[1:]}, "profile": "t1"}, "APPLY", 0.6),
        ({"aspect_hints": {"피부톤": P3[1:]}, "config": {"min_total": 1.3}}, "APPLY", 0.7),
        (
            {
                "aspect_hints": {"피부톤": P3[1:]},
                "profile": "t1",
                "config": {"min_target_conf": 0.65},
            },
            "APPLY",
            0.65,
        ),
        ({"protocol": "v1", "summary": {}}, "APPLY", 0.7),
    ],
    ids=["t0", "t1", "config", "config-over-profile", "v1"],
)
def test_override_settings(change: dict[str, Any], decision: str, confidence: float) -> None:
    answer = ask("override", {**OVERRIDE, **change})
    assert answer["gate_decision"] == decision
    assert answer["sentiments"][0]["confidence"] == confidence


def test_override_repair_and_disabled() -> None:
    misspelt = {"피부톤": [{"polarity_hint": "positve", "weight": 2.0}]}
    repaired = {**OVERRIDE, "aspect_hints": misspelt, "config": {"polarity_repair": True}}
    assert ask("override", repaired)["decisions"][0]["hint_repair_count"] == 1
    off = ask("override", {**OVERRIDE, "enabled": False})
    assert off["decisions"] == []
    assert off["stats"]["override_disabled"] is True


def test_adopt_reads_what_override_answers() -> None:
    gate = ask("override", OVERRIDE)
    answer = ask(
        "adopt",
        {
            "stage1": {"sentiments": OVERRIDE["sentiments"], "structural_risks": []},
            "stage2": {"sentiments": gate["sentiments"]},
            "summary": {"final_tuples": [{"aspect_ref": "피부톤", "polarity": "positive"}]},
            "correction_applied_log": [],
            "gate": gate,
        },
    )
    assert answer["adopt_decision"] == "adopted"
    assert answer["adopt_reason"] == "debate_action"
    assert answer["ev_score"] == 0.5
    assert answer["ev_components"]["debate_support"] == 0.4
    assert answer["final_tuples"] == [
        {"aspect_ref": "피부톤", "aspect_term": "피부톤", "polarity": "positive"}
    ]
    assert set(answer) == {
        "adopt_decision",
        "adopt_reason",
        "override_candidate",
        "ev_score",
        "ev_components",
        "final_tuples",
    }


def test_adopt_without_gate_or_stage2() -> None:
    stage1 = {"sentiments": OVERRIDE["sentiments"]}
    line = {"stage1": stage1, "stage2": None, "summary": {}, "gate": None}
    assert ask("adopt", line)["adopt_reason"] == "low_signal"
    off = ask("adopt", {**line, "gate_on": False})
    assert (off["adopt_decision"], off["adopt_reason"]) == ("adopted", "gate_off")
    assert off["final_tuples"][0]["polarity"] == "neutral"


def test_adopt_threshold() -> None:
    line = {
        "stage1": {"sentiments": OVERRIDE["sentiments"]},
        "stage2": {"sentiments": OVERRIDE["sentiments"]},
        "summary": {"final_patch": [{"op": "drop_tuple", "target": {"aspect_ref": "가격"}}]},
    }
    assert ask("adopt", line)["adopt_reason"] == "ev_below_threshold"
    assert ask("adopt", {**line, "config": {"ev_threshold": 0.4}})["adopt_decision"] == "adopted"


def test_hints() -> None:
    answer = ask(
        "hints",
        {
            "turns": [{"speaker": "critic", "stance": "con", "message": "비용이 과하다"}],
            "summary": {"winner": None, "consensus": "비싸다"},
            "stage1": {"aspects": [{"term": "가격"}, {"term": "서비스"}], "sentiments": []},
            "protocol": "v1",
            "language_code": "ko",
        },
    )
    assert answer["aspect_hints"] == {
        "가격": [{"speaker": "critic", "stance": "con", "weight": 1.0, "polarity_hint": "negative"}]
    }
    assert answer["mapping_stats"] == {"direct": 1, "fallback": 0, "none": 0}
    assert answer["provenance_template"] == "source:{speaker}/{stance}"
    assert "STAGE2_REVIEW_CONTEXT__MEMORY" not in answer


def test_moderator() -> None:
    answer = ask(
        "moderator",
        {
            "stage1_ate": {"label": "positive", "confidence": 0.6},
            "stage1_atsa": {"label": "positive", "confidence": 0.6, "span": {"start": 0, "end": 2}},
            "validator": {"issues": [], "suggested_label": None, "confidence": 0.0},
            "stage2_ate": {"label": "positive", "confidence": 0.7},
            "stage2_atsa": {"label": "positive", "confidence": 0.7},
            "debate_summary": None,
        },
    )
    assert (answer["final_label"], answer["confidence"]) == ("positive", 0.7)
    assert answer["applied_rules"] == ["RuleB"]
    assert answer["arbiter_flags"]["rule_b_applied"] is True


def test_integrity_reads_a_record_with_more_in_it() -> None:
    record = {
        "meta": {
            "text_id": "7",
            "adopt_decision": "adopted",
            "adopt_reason": "debate_action",
            "debate_summary": {"final_tuples": [{"aspect_ref": "a", "polarity": "pos"}]},
            "unknown": 1,
        },
        "final_result": {
            "label": "positive",
            "final_tuples": [{"aspect_ref": "a", "polarity": "negative"}],
            "final_aspects": [{"aspect_ref": "a", "polarity": "negative", "confidence": 1}],
        },
    }
    answer = ask("integrity", record)
    assert answer["passed"] is False
    assert answer["violations"][0]["reason"] == "ev_decision_or_reason_violation"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("override", {**OVERRIDE, "surprise": 1}),
        ("override", {**OVERRIDE, "config": {"min_target_conf": 1.5}}),
        ("override", {**OVERRIDE, "text": "\ud800"}),
        ("moderator", {"stage1_ate": {"label": "good", "confidence": 0.5}}),
    ],
    ids=["unknown-field", "out-of-range", "lone-surrogate", "unknown-label"],
)
def test_a_bad_line_is_refused(rule: str, line: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        RULES[rule](json.dumps(line).encode())
