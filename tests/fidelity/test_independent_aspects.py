"""
004 §3, §4 and 001 §6.3 against an implementation that shares no line with Parley's, on drawn inputs.

Written from the documents alone; what they leave open is read as behaviour.md reads it.
"""

import json
from random import Random
from typing import Any

import pytest

from parley.console.cli.commands.rules import RULES

DRAWN = 300
EPS = 1e-9
Said = dict[str, Any]


def asked(rule: str, question: Said) -> Said:
    answer: Said = json.loads(RULES[rule](json.dumps(question).encode()))
    return answer


# 004 §3, §4: the override gate

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
POLARITIES = {
    "positive": "positive", "pos": "positive", "negative": "negative", "neg": "negative",
    "neutral": "neutral", "neu": "neutral",
}  # fmt: skip
L3 = {"NEGATION_SCOPE", "CONTRAST_SCOPE", "POLARITY_MISMATCH", "NEGATION", "CONTRAST", "IRONY"}


def gate_question(chance: Random) -> Said:
    aspects = chance.sample(["피부톤", "가격", "배송"], chance.randint(1, 3))
    spoken = ["positive", "POS", "negative", "neg ", "neutral", "mixed", None, ""]

    def hint() -> Said:
        return {
            "speaker": "EPM", "stance": "patch", "weight": chance.choice([0.5, 0.5, 0.8, 1.0]),
            "polarity_hint": chance.choice([*spoken, "positive", "negative"]),
        }  # fmt: skip

    def sentiment() -> Said:
        return {
            "aspect_ref": chance.choice(["피부톤", "가격"]),
            "polarity": chance.choice(["positive", "negative", "neutral"]),
            "confidence": chance.choice([0.3, 0.6, 0.7, 0.95]),
            "is_implicit": chance.random() < 0.25,
        }

    kinds = ["negation scope", "IRONY", "SPAN_MISMATCH", "OTHER"]
    return {
        "text": TEXT,
        "protocol": "v2",
        "aspect_hints": {one: [hint() for _ in range(chance.randint(0, 5))] for one in aspects},
        "summary": {
            "sentence_evidence_spans": chance.choice([[], ["맑아졌는데"], ["없는말"], ["맑"]]),
            "aspect_evidence": chance.choice([{}, {aspects[0]: "비싸요"}, {aspects[0]: ""}]),
        },
        "structural_risks": [
            {"type": chance.choice(kinds)} for _ in range(chance.choice([0, 0, 0, 1, 2]))
        ],
        "sentiments": [sentiment() for _ in range(chance.randint(0, 4))],
        "config": {
            "min_total": chance.choice([0.6, 1.0, 1.6]),
            "min_margin": chance.choice([0.3, 0.8]),
            "min_target_conf": chance.choice([0.55, 0.7]),
            "l3_conservative": chance.random() < 0.6,
        },
    }


def gate(question: Said) -> list[tuple[str, str]]:
    """What becomes of each aspect, by the table's order."""
    config = question["config"]
    grave = any(one["type"].upper().replace(" ", "_") in L3 for one in question["structural_risks"])
    applied, found = False, []
    for aspect, hints in question["aspect_hints"].items():
        known = [
            (POLARITIES.get((one["polarity_hint"] or "").strip().lower()), one["weight"])
            for one in hints
        ]
        pos = sum(weight for polarity, weight in known if polarity == "positive")
        neg = sum(weight for polarity, weight in known if polarity == "negative")
        target = "positive" if pos > neg else "negative"
        quotes = question["summary"]["sentence_evidence_spans"]
        span = question["summary"]["aspect_evidence"].get(aspect) or (quotes or [""])[0]
        held = [one for one in question["sentiments"] if one["aspect_ref"] == aspect]
        explicit = [one for one in held if not one["is_implicit"]]
        agreed = [
            one["polarity"] == target and one["confidence"] >= config["min_target_conf"] - EPS
            for one in explicit
        ]
        steps = [
            (applied, "max_one_override_per_sample"),
            (all(polarity in {None, "neutral"} for polarity, _ in known), "neutral_only"),
            (not span, "no_evidence_span"),
            (span not in TEXT, "evidence_span_not_in_text"),
            (len(span) < 2, "evidence_span_missing_trigger"),
            (pos + neg < config["min_total"] - EPS, "low_signal"),
            (abs(pos - neg) < config["min_margin"] - EPS, "action_ambiguity"),
            (config["l3_conservative"] and grave, "l3_conservative"),
            (bool(held) and not explicit, "implicit_soft_only"),
            (not held, "debate_override_add"),
            (all(agreed), "already_confident"),
            (True, "debate_override_flip"),
        ]
        outcome = next(name for holds, name in steps if holds)
        applied = applied or outcome.startswith("debate_override")
        found.append((aspect, outcome))
    return found


def test_the_override_gate() -> None:
    chance, seen = Random(4), set()
    for _ in range(DRAWN):
        question = gate_question(chance)
        answer = asked("override", question)
        expected = gate(question)
        seen |= {outcome for _, outcome in expected}
        said = [(one["aspect"], one["skip_reason"] or one["action"]) for one in answer["decisions"]]
        assert said == expected, question
    assert len(seen) == 12


# 001 §6.3: the Moderator

LABELS = ["positive", "negative", "neutral", "mixed"]
SPANS = [None, {"start": 0, "end": 10}, {"start": 1, "end": 9}, {"start": 2, "end": 11}]
SUMMARIES = [
    None,
    {"sentence_polarity": "neg"},
    {"final_tuples": [{"aspect_ref": "a", "polarity": "pos"}, {"aspect_ref": "b", "polarity": "neg"}]},
    {"final_tuples": [{"aspect_ref": "a", "polarity": "neg"}]},
    {"consensus": "긍정과 부정 의견이 있음"},
    {"rationale": "평가가 엇갈린다"},
    {"key_agreements": ["모호함"]},
    {"consensus": "그냥"},
]  # fmt: skip
INFERRED = [None, "negative", "mixed", "negative", "positive", "mixed", "neutral", None]


def moderator_question(chance: Random) -> tuple[Said, str | None]:
    def judged() -> Said:
        confidence = chance.choice([0, 0.2, 0.4, 0.41, 0.5, 0.53, 0.55, 0.6, 0.62, 0.7, 0.8, 0.9])
        return {"label": chance.choice(LABELS), "confidence": confidence}

    issues = [[], ["SPAN_MISMATCH severity:high x"], ["Negation scope"], ["note"], ["contrast: a"]]
    question: Said = {
        "stage1_ate": judged(),
        "stage1_atsa": judged() | {"span": chance.choice(SPANS)},
        "validator": {
            "issues": chance.choice(issues),
            "suggested_label": chance.choice([None, None, *LABELS]),
            "confidence": judged()["confidence"],
        },
    }
    if chance.random() < 0.8:
        question["stage2_ate"] = judged()
        question["stage2_atsa"] = judged() | {"span": chance.choice(SPANS)}
    place = chance.randrange(len(SUMMARIES))
    if SUMMARIES[place] is not None:
        question["debate_summary"] = SUMMARIES[place]
    return question, INFERRED[place]


def overlap(one: Said | None, other: Said | None) -> float:
    if one is None or other is None:
        return 0.0
    shared = max(0, min(one["end"], other["end"]) - max(one["start"], other["start"]))
    return float(shared / (max(one["end"], other["end"]) - min(one["start"], other["start"])))


def moderate(question: Said, inferred: str | None) -> tuple[str, float, list[str]]:
    first, second = question["stage1_ate"], question.get("stage2_ate")
    if first["confidence"] == 0 and (second is None or second["confidence"] == 0):
        return "neutral", 0.0, ["RuleZ"]
    drop = second is not None and first["confidence"] - second["confidence"] >= 0.2 - EPS
    taken = first if second is None or drop else second
    label, sure, rules = taken["label"], taken["confidence"], ["RuleB"]
    if second is not None and first["label"] != second["label"]:
        label, sure = "mixed", max(first["confidence"], second["confidence"])
        rules.append("RuleM")
    validator = question["validator"]
    critical = any(
        one.lower().startswith(("negation", "irony", "contrast")) or "severity:high" in one
        for one in validator["issues"]
    )
    if validator["suggested_label"] and (critical or validator["confidence"] >= sure - EPS):
        label, sure = validator["suggested_label"], max(sure, validator["confidence"])
        rules.append("RuleC")
    own = question["stage1_atsa"]
    aspect = question.get("stage2_atsa") or own
    near = overlap(aspect["span"], own["span"]) >= 0.8 - EPS
    if near and not drop and aspect["label"] == label:
        sure = (sure + aspect["confidence"]) / 2
        rules.append("RuleA")
    if aspect["label"] != label:
        if aspect["confidence"] - sure >= 0.1 - 1e-6:
            label, sure = aspect["label"], aspect["confidence"]
        rules.append("RuleD")
    if inferred not in {None, label} and (sure < 0.55 - EPS or label == "mixed"):
        label = str(inferred)
        rules.append("RuleE")
    return label, sure, rules


def test_the_moderator() -> None:
    chance, seen = Random(5), set()
    for _ in range(DRAWN):
        question, inferred = moderator_question(chance)
        answer = asked("moderator", question)
        label, sure, rules = moderate(question, inferred)
        seen |= set(rules)
        assert (answer["final_label"], answer["applied_rules"]) == (label, rules), question
        assert answer["confidence"] == pytest.approx(sure), question
    assert seen == {f"Rule{one}" for one in "ZBMCADE"}
