"""
One debate for each rule of the aspect-sentiment pipeline: what is said, and what must come of it.

Played without a bus by the unit tests and over a real nats-server by the integration tests.
"""

from dataclasses import dataclass, field

from pydantic import JsonValue

from parley.agents.absa.script import AbsaScript
from tests.absa_debates import script, with_lines

TEXT = "음식은 맛있지만 서비스는 느려요"


def edit(
    op: str,
    aspect: str | None,
    polarity: str | None = None,
    value: str | None = None,
    **more: object,
) -> dict[str, object]:
    target = {"aspect_ref": aspect, "polarity": polarity}
    return {"op": op, "target": target, "value": value, **more}


def turn(key: str, *edits: dict[str, object]) -> dict[str, object]:
    return {f"d1-{key}": {key: {"proposed_edits": list(edits)}}}


def judge(**summary: object) -> dict[str, object]:
    return {"judge": {"judge": summary}}


def stage1(*sentiments: tuple[str, str | None, float], **more: object) -> dict[str, object]:
    terms = list(dict.fromkeys(name for name, _, _ in sentiments))
    return {
        "s1-ate": {"ate": {"aspects": [{"term": term, "confidence": 0.9} for term in terms]}},
        "s1-atsa": {
            "atsa": {
                "aspect_sentiments": [
                    {"aspect_ref": name, "polarity": polarity, "confidence": confidence, **more}
                    for name, polarity, confidence in sentiments
                ]
            }
        },
    }


def risks(*kinds: str, severity: str = "medium") -> dict[str, object]:
    return {
        "s1-validator": {
            "validator": {
                "structural_risks": [{"type": kind, "severity": severity} for kind in kinds]
            }
        }
    }


PROPOSE = edit("set_polarity", "음식", "neutral", "positive", evidence="맛있지만", confidence=0.9)
CONFIRM = edit("confirm_tuple", "음식", "positive")
TUPLES = [
    {"aspect_ref": "음식", "polarity": "positive"},
    {"aspect_ref": "서비스", "polarity": "negative"},
]
QUOTE = ["맛있지만"]
WEAK = stage1(("음식", "neutral", 0.3), ("서비스", "negative", 0.8))
BASE = with_lines(
    script("steps: {}"),
    {
        **WEAK,
        **turn("epm", PROPOSE),
        **turn("cj", CONFIRM),
        **judge(
            final_patch=[CONFIRM], final_tuples=TUPLES, sentence_polarity="mixed",
            sentence_evidence_spans=QUOTE,
        ),
    },
)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """`expect` maps dotted paths of the result to values."""

    name: str
    expect: dict[str, JsonValue]
    lines: dict[str, object] = field(default_factory=dict)
    sets: tuple[str, ...] = ()
    text: str = TEXT
    preset: str = "default"

    @property
    def script(self) -> AbsaScript:
        return with_lines(BASE, self.lines)


def skipped(reason: str) -> dict[str, JsonValue]:
    return {"meta.gate_decision": "SKIP", "meta.override_skipped_reason": reason}


GATE = [
    Scenario("flip", {"meta.gate_decision": "APPLY", "meta.adopt_reason": "debate_action", "meta.debate_override_stats.applied": 1}),
    Scenario("add", {"meta.correction_applied_log.0.reason": "debate_override_add", "meta.gate_decision": "APPLY"},
             stage1(("서비스", "negative", 0.8))),
    Scenario("max-one", {"meta.debate_override_stats.skipped_max_one_override_per_sample": 1, "meta.debate_override_stats.applied": 1},
             {**stage1(("음식", "neutral", 0.3), ("서비스", "neutral", 0.3)),
              **turn("epm", PROPOSE, edit("set_polarity", "서비스", "neutral", "negative")),
              **turn("cj", CONFIRM, edit("confirm_tuple", "서비스", "negative")),
              **judge(final_patch=[CONFIRM, edit("confirm_tuple", "서비스", "negative")], final_tuples=TUPLES, sentence_evidence_spans=QUOTE)}),
    Scenario("neutral-only", skipped("neutral_only"),
             {**turn("epm", edit("set_polarity", "음식", None, "neutral")), **turn("cj"), **judge(final_tuples=[])}),
    Scenario("no-evidence", skipped("no_evidence_span"), judge(final_patch=[CONFIRM], final_tuples=TUPLES)),
    Scenario("evidence-elsewhere", skipped("evidence_span_not_in_text"),
             judge(final_patch=[CONFIRM], final_tuples=TUPLES, sentence_evidence_spans=QUOTE, aspect_evidence={"음식": "배터리"})),
    Scenario("evidence-too-short", skipped("evidence_span_missing_trigger"),
             judge(final_patch=[CONFIRM], final_tuples=TUPLES, sentence_evidence_spans=["맛"])),
    Scenario("low-signal", skipped("low_signal"),
             {**turn("cj"), **judge(final_tuples=TUPLES, sentence_evidence_spans=QUOTE)}),
    Scenario("ambiguous", skipped("action_ambiguity"),
             {**turn("tan", edit("set_polarity", "음식", None, "negative"), edit("confirm_tuple", "음식", "negative"), edit("merge_tuples", "음식", "negative")),
              **judge(final_patch=[CONFIRM], final_tuples=TUPLES, sentence_evidence_spans=QUOTE)}),
    Scenario("l3", skipped("l3_conservative"), risks("CONTRAST")),
    Scenario("l3-allowed", {"meta.gate_decision": "APPLY", "meta.debate_override_effective.profile_id": "t2"},
             risks("CONTRAST"), ("override_profile=t2",)),
    Scenario("implicit", skipped("implicit_soft_only"), stage1(("음식", "neutral", 0.3), is_implicit=True)),
    Scenario("already-confident", skipped("already_confident"), stage1(("음식", "positive", 0.9), ("서비스", "negative", 0.8))),
    Scenario("invalid-hint", {"meta.debate_override_stats.override_hint_invalid_total": 1},
             turn("tan", edit("set_polarity", "음식", None, "mixed"))),
    Scenario("repaired-hint", {"meta.debate_override_stats.override_hint_repair_total": 1},
             turn("tan", edit("set_polarity", "음식", None, "positve")), ("polarity_repair=true",)),
    Scenario("override-off", {"meta.debate_override_stats.override_disabled": True, "meta.debate_override_stats.applied": 0},
             preset="abl_no_debate_override"),
]  # fmt: skip

ADOPT = [
    Scenario("ev-too-low", {"meta.adopt_decision": "not_adopted", "meta.adopt_reason": "ev_below_threshold"},
             {**stage1(("음식", "positive", 0.9), ("서비스", "negative", 0.8)),
              **judge(final_patch=[edit("drop_tuple", "서비스", "negative")], final_tuples=TUPLES[:1], sentence_evidence_spans=QUOTE)}),
    Scenario("conflict", {"meta.adopt_decision": "not_adopted", "meta.adopt_reason": "conflict_blocked"},
             judge(final_patch=[CONFIRM], final_tuples=[{"aspect_ref": "음식", "polarity": "negative"}], sentence_evidence_spans=QUOTE)),
    Scenario("risk-resolved", {"meta.adopt_decision": "adopted", "meta.adopt_reason": "risk_resolved"},
             {"s1-validator": {"validator": {"structural_risks": [{"type": "SPAN_MISMATCH"}],
                                             "correction_proposals": [{"target_aspect": "서비스", "proposal_type": "DROP_ASPECT"}]}}}),
    Scenario("gate-off", {"meta.adopt_reason": "gate_off"}, sets=("adopt_gate=off",)),
    Scenario("nothing-happened", {"meta.adopt_reason": "low_signal", "meta.adopt_decision": "not_adopted"},
             {**stage1(("음식", "positive", 0.9)), **turn("epm"), **turn("cj"), **judge()}, ("contrast_guess=true",)),
    Scenario("left-out", {"meta.tuples_left_out.0.aspect_ref": "배터리"},
             judge(final_patch=[CONFIRM], final_tuples=[*TUPLES, {"aspect_ref": "배터리", "polarity": "positive"}], sentence_evidence_spans=QUOTE)),
]  # fmt: skip

FLIP_SERVICE = {"s2": {"atsa": {"sentiment_review": [
    {"aspect_ref": "서비스", "action": "flip_polarity", "revised_polarity": "positive"}]}}}  # fmt: skip
MODERATOR = [
    Scenario("rule-z", {"moderator.applied_rules": ["RuleZ"], "final_result.label": "neutral"},
             {**stage1(), **turn("epm"), **turn("cj"), **judge()}, text="그냥 그래"),
    Scenario("rule-b-missing", {"moderator.rationale": "RuleB: Stage2 missing; keep Stage1.", "moderator.selected_stage": "stage1"},
             {**judge()}, preset="abl_no_stage2"),
    Scenario("rule-b-drop", {"moderator.arbiter_flags.stage2_rejected_due_to_confidence": True},
             {**stage1(("음식", "positive", 0.9), ("서비스", "positive", 0.5)), **turn("epm"), **turn("cj"), **judge(),
              "s2": {"atsa": {"sentiment_review": [{"aspect_ref": "음식", "action": "drop"}]}}}),
    Scenario("rule-m", {"moderator.applied_rules": ["RuleB", "RuleM", "RuleD"], "moderator.final_label": "mixed"},
             {**stage1(("서비스", "negative", 0.8)), **turn("epm"), **turn("cj"), **judge(), **FLIP_SERVICE}),
    Scenario("rule-c", {"moderator.applied_rules": ["RuleB", "RuleC", "RuleD"], "moderator.final_label": "negative",
                        "moderator.rationale": "RuleB: Stage2 preferred. RuleC: Validator critical veto. RuleD: diff<0.1 conflict -> sentence ATE.",
                        "moderator.arbiter_flags.validator_override_applied": True, "stage1_validator.suggested_label": "negative"},
             {**stage1(("음식", "positive", 0.75)), **risks("IRONY"), **turn("epm"), **turn("cj"), **judge()}, ("suggested_label=negative",)),
    Scenario("rule-c-blocked", {"moderator.applied_rules": ["RuleB"], "moderator.final_label": "positive"},
             {**stage1(("음식", "positive", 0.75)), **turn("epm"), **turn("cj"), **judge()}, ("suggested_label=negative", "contrast_guess=true")),
    # 001 §6.3: a risk of high severity is critical, also that of a contrast with one aspect only.
    Scenario("rule-c-contrast", {"moderator.applied_rules": ["RuleB", "RuleC", "RuleD"], "moderator.final_label": "negative"},
             {**stage1(("음식", "positive", 0.75)), **turn("epm"), **turn("cj"), **judge()}, ("suggested_label=negative",)),
    Scenario("rule-a", {"moderator.applied_rules": ["RuleB", "RuleA"]},
             {**stage1(("서비스", "negative", 0.8)), **turn("epm"), **turn("cj"), **judge(),
              "s1-ate": {"ate": {"aspects": [{"term": "서비스", "span": {"start": 9, "end": 12}, "confidence": 0.9}]}}}),
    Scenario("rule-e", {"moderator.final_label": "positive", "moderator.arbiter_flags.rule_e_fired": True},
             {**stage1(("음식", "neutral", 0.4)), **turn("epm"), **turn("cj"),
              **judge(sentence_polarity="positive", sentence_evidence_spans=QUOTE)}),
    Scenario("no-moderator", {"moderator.applied_rules": []}, preset="abl_no_moderator"),
]  # fmt: skip

V1_TURNS: dict[str, object] = {
    f"d{number}-{key}": {key: {"message": f"음식은 {word}", "key_points": ["음식"]}}
    for number in (1, 2)
    for key, word in (("analyst", "보통"), ("critic", "좋다"), ("empath", "맛있다"))
}
ENDS = [
    Scenario("consensus", {"run.termination_reason": "consensus_reached"}, {**turn("epm"), **turn("cj")}),
    Scenario("max-rounds", {"run.termination_reason": "max_rounds"}),
    Scenario("deadlock", {"run.termination_reason": "high_confidence_deadlock"},
             {**turn("epm", {**PROPOSE, "confidence": 0.95}), **turn("cj", {**edit("confirm_tuple", "음식", "negative"), "confidence": 0.95})}),
    Scenario("stalemate", {"run.termination_reason": "stalemate", "run.declarations.2.details.iteration": 3}, sets=("debate.rounds=4",)),
    Scenario("no-progress", {"run.termination_reason": "no_progress"},
             {f"d1-{key}": {key: {"fail": "away"}} for key in ("epm", "tan", "cj")}),
    Scenario("disabled", {"run.termination_reason": "debate_disabled", "debate": None}, preset="abl_no_debate"),
    Scenario("first-generation", {"meta.protocol": "v1", "meta.adopt_reason": "gate_off", "run.declarations.1.details.iteration": 2},
             V1_TURNS, sets=("debate.protocol=v1",)),
]  # fmt: skip

FAILURES = [
    Scenario("no-judge", {"run.status": "failed", "run.reason": "no_usable_answer", "run.detail": "judge: judge cannot answer (brain_error: ill)"},
             {"judge": {"judge": {"fail": "ill"}}, "judge-again": {"judge": {"fail": "ill"}}}),
    Scenario("asked-again", {"run.status": "completed", "run.errors.0.step": "s1-ate"},
             {"s1-ate": {"ate": {"fail": "once"}}, "s1-ate-again": WEAK["s1-ate"]}),
    Scenario("structure-error", {"run.status": "failed", "run.reason": "no_usable_answer", "run.detail": "s2: ate: stage2_structure_error: aspects"},
             {"s2": {"ate": {"kind": "ate"}}, "s2-again": {"ate": {"kind": "ate"}}}),
    Scenario("no-polarity", {"run.status": "failed"},
             {**stage1(("음식", None, 0.8)), **turn("epm"), **turn("cj"), **judge()}),
    Scenario("unknown-op", {"run.status": "completed", "debate.rounds.0.turns.0.proposed_edits.0.op": "explode"},
             turn("epm", {**PROPOSE, "op": "explode"})),
    Scenario("out-of-range", {"run.status": "completed", "meta.stage1_aspects.0.term": "서비스"},
             {"s1-ate": {"ate": {"aspects": [{"term": "배터리"}, {"term": "서비스", "span": {"start": 500, "end": 900}}]}}}),
    Scenario("edit-elsewhere", {"run.status": "completed", "meta.gate_decision": "APPLY",
                                "final_result.final_tuples": [{"aspect_ref": "음식", "aspect_term": "음식", "polarity": "positive"},
                                                              {"aspect_ref": "서비스", "aspect_term": "서비스", "polarity": "negative"}]},
             turn("tan", edit("set_aspect_ref", None, "positive", "배터리"), edit("drop_tuple", "화면", "negative"))),
    Scenario("review-out-of-range", {"run.status": "completed", "meta.correction_applied_log.0.applied": False,
                                     "meta.correction_applied_log.0.reason": "revise_span: revised_span out of range"},
             {"s2": {"ate": {"aspect_review": [{"term": "서비스", "action": "revise_span", "revised_span": {"start": 500, "end": 900}}]}}}),
    Scenario("review-elsewhere", {"run.status": "completed", "meta.correction_applied_log.0.reason": "add: aspect_not_substring",
                                  "meta.stage2_aspects.1.term": "서비스"},
             {"s2": {"ate": {"aspect_review": [{"term": "배터리", "action": "add", "revised_span": {"start": 0, "end": 2}}]}}}),
    Scenario("long", {"run.status": "completed"}, text=TEXT + " 아" * 50_000),
    Scenario("emoji", {"run.status": "completed"}, text="🙂🙃🙂"),
]  # fmt: skip

SCENARIOS = [*GATE, *ADOPT, *MODERATOR, *ENDS, *FAILURES]


def at(content: JsonValue, path: str) -> JsonValue:
    for part in path.split("."):
        if isinstance(content, list):
            content = content[int(part)]
        else:
            assert isinstance(content, dict), path
            content = content[part]
    return content
