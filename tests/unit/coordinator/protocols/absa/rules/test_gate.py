"""Vectors G-01 to G-31: the override gate, step by step."""

from collections.abc import Mapping, Sequence

import pytest

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.debate import Protocol as Generation
from parley.bus.contracts.absa.gate import (
    Decision,
    GateDecision,
    GateOutcome,
    OverrideAction,
    SkipReason,
)
from parley.bus.contracts.absa.params import AbsaParams, OverrideThresholds
from parley.bus.contracts.absa.review import AspectHint
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    StructuralRisk,
)
from parley.configs.absa_thresholds import override_thresholds
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.absa.rules.gate import (
    GateInput,
    disabled_gate,
    representative_skip,
    run_gate,
)

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
EVIDENCE = DebateSummary(sentence_evidence_spans=("맑아졌는데",))
SKIN, PRICE = "피부톤", "가격"
P3 = (("positive", 0.5), ("positive", 0.5), ("positive", 0.8))
N3 = (("negative", 0.5), ("negative", 0.5), ("negative", 0.8))
T0, T1, T2 = (override_thresholds(AbsaParams(override_profile=name)) for name in ("t0", "t1", "t2"))

Hints = Sequence[tuple[str | None, float]]


def sentiment(
    aspect: str, polarity: Polarity | None, confidence: float, *, implicit: bool = False
) -> AspectSentiment:
    return AspectSentiment(
        aspect_ref=aspect, polarity=polarity, confidence=confidence, is_implicit=implicit
    )


BASE = (
    sentiment(SKIN, Polarity.NEUTRAL, 0.5),
    sentiment(PRICE, Polarity.POSITIVE, 0.6),
)


def gate(  # noqa: PLR0913 - every part of the input that a vector changes
    hints: Mapping[str, Hints],
    *,
    summary: DebateSummary = EVIDENCE,
    risks: Sequence[str] = (),
    sentiments: Sequence[AspectSentiment] = BASE,
    thresholds: OverrideThresholds = T0,
    repair: bool = False,
    generation: Generation = "v2",
    text: str = TEXT,
    aspects: Sequence[AspectItem] = (AspectItem(term=SKIN), AspectItem(term=PRICE)),
    dropped: frozenset[str] = frozenset(),
    blocked: frozenset[tuple[str, Polarity]] = frozenset(),
) -> GateOutcome:
    return run_gate(
        GateInput(
            text=text,
            aspect_hints={
                aspect: [AspectHint(speaker="x", weight=w, polarity_hint=p) for p, w in found]
                for aspect, found in hints.items()
            },
            summary=summary,
            structural_risks=[StructuralRisk(type=kind) for kind in risks],
            aspects=aspects,
            sentiments=sentiments,
            thresholds=thresholds,
            polarity_repair=repair,
            dropped=dropped,
            blocked=blocked,
        ),
        generation,
    )


def only(outcome: GateOutcome) -> GateDecision:
    (decision,) = outcome.decisions
    return decision


def of(outcome: GateOutcome, aspect: str) -> list[tuple[Polarity | None, float]]:
    return [(item.polarity, item.confidence) for item in outcome.sentiments if item.key == aspect]


def test_g_01_one_override_per_sample() -> None:
    outcome = gate({SKIN: P3, PRICE: N3})
    skin, price = outcome.decisions
    assert (skin.decision, skin.action) == (Decision.APPLY, OverrideAction.FLIP)
    assert price.skip_reason is SkipReason.MAX_ONE_OVERRIDE
    assert of(outcome, SKIN) == [(Polarity.POSITIVE, 0.7)]
    assert of(outcome, PRICE) == [(Polarity.POSITIVE, 0.6)]
    assert outcome.sentiments[0].polarity_distribution == {"positive": 0.8, "neutral": 0.2}
    assert [entry.reason for entry in outcome.log] == ["debate_override_flip neutral->positive"]
    assert outcome.log[0].proposal_type == "DEBATE_OVERRIDE"
    assert outcome.log[0].rationale == "debate_hint positive"
    assert outcome.stats.applied == 1
    assert outcome.stats.skipped_max_one_override_per_sample == 1
    assert outcome.gate_decision is Decision.APPLY
    assert outcome.representative_skip is None


def test_g_02_neutral_only_counts_twice() -> None:
    outcome = gate({SKIN: (("neutral", 0.6), (None, 0.5))})
    assert only(outcome).skip_reason is SkipReason.NEUTRAL_ONLY
    assert only(outcome).invalid_hint_count == 0
    assert outcome.stats.skipped_neutral_only == 1
    assert outcome.stats.skipped_low_signal == 1
    assert outcome.gate_decision is Decision.SKIP


def test_g_03_invalid_polarity() -> None:
    hints = {SKIN: (("mixed", 0.5), ("positve", 0.5))}
    strict = only(gate(hints))
    assert (strict.skip_reason, strict.invalid_hint_count) == (SkipReason.NEUTRAL_ONLY, 2)
    repaired = only(gate(hints, repair=True))
    assert (repaired.invalid_hint_count, repaired.hint_repair_count) == (1, 1)
    assert repaired.skip_reason is SkipReason.LOW_SIGNAL


@pytest.mark.parametrize(
    ("hints", "summary", "reason"),
    [
        pytest.param(P3, DebateSummary(), SkipReason.NO_EVIDENCE_SPAN, id="G-04"),
        pytest.param(
            P3,
            DebateSummary(sentence_evidence_spans=("하얘졌어요",)),
            SkipReason.EVIDENCE_NOT_IN_TEXT,
            id="G-05",
        ),
        pytest.param(
            P3,
            DebateSummary(sentence_evidence_spans=("맑",)),
            SkipReason.EVIDENCE_MISSING_TRIGGER,
            id="G-06",
        ),
        pytest.param(
            P3,
            DebateSummary(sentence_evidence_spans=("x",)),
            SkipReason.EVIDENCE_NOT_IN_TEXT,
            id="G-07",
        ),
        pytest.param(
            P3,
            DebateSummary(
                aspect_evidence={SKIN: "없는말"}, sentence_evidence_spans=("맑아졌는데",)
            ),
            SkipReason.EVIDENCE_NOT_IN_TEXT,
            id="G-08",
        ),
        pytest.param(
            (("positive", 0.5), ("positive", 0.8)), EVIDENCE, SkipReason.LOW_SIGNAL, id="G-10"
        ),
        pytest.param((("positive", 0.5),), DebateSummary(), SkipReason.NO_EVIDENCE_SPAN, id="G-23"),
    ],
)
def test_evidence_and_signal(hints: Hints, summary: DebateSummary, reason: SkipReason) -> None:
    outcome = gate({SKIN: hints}, summary=summary)
    assert only(outcome).skip_reason is reason
    assert outcome.representative_skip is reason
    assert outcome.sentiments == BASE


def test_g_09_empty_aspect_evidence_falls_back_to_the_sentence() -> None:
    summary = DebateSummary(aspect_evidence={SKIN: ""}, sentence_evidence_spans=("맑아졌는데",))
    assert only(gate({SKIN: P3}, summary=summary)).decision is Decision.APPLY


def test_g_11_total_at_the_threshold_passes() -> None:
    decision = only(gate({SKIN: (("positive", 0.8), ("positive", 0.8))}))
    assert decision.decision is Decision.APPLY
    assert decision.total == pytest.approx(1.6)


def test_g_12_margin_too_small() -> None:
    outcome = gate({SKIN: (("positive", 1.3), ("negative", 0.8))})
    assert only(outcome).skip_reason is SkipReason.ACTION_AMBIGUITY
    assert outcome.stats.skipped_conflict == 1
    assert outcome.skip_reasons.action_ambiguity == 1


def test_g_13_margin_at_the_threshold_passes() -> None:
    outcome = gate({SKIN: (("positive", 1.3), ("negative", 0.5))})
    assert only(outcome).decision is Decision.APPLY
    assert only(outcome).margin == pytest.approx(0.8)


def test_g_14_l3_risk_blocks() -> None:
    outcome = gate({SKIN: P3}, risks=["negation scope"])
    assert only(outcome).skip_reason is SkipReason.L3_CONSERVATIVE
    assert outcome.skip_reasons.l3_conservative == 1
    assert outcome.stats.skipped_conflict == 1
    assert outcome.skip_reasons.model_dump()["L3_conservative"] == 1
    assert outcome.l3_types == ("NEGATION_SCOPE",)


def test_g_15_l3_risk_allowed() -> None:
    lenient = T0.model_copy(update={"l3_conservative": False})
    outcome = gate({SKIN: P3}, risks=["NEGATION"], thresholds=lenient)
    assert only(outcome).decision is Decision.APPLY


def test_g_16_other_risks_do_not_block() -> None:
    outcome = gate({SKIN: P3}, risks=["MISSING_SECOND_ASPECT", "SPAN_MISMATCH"])
    assert only(outcome).decision is Decision.APPLY


def test_g_17_only_implicit() -> None:
    outcome = gate({SKIN: P3}, sentiments=[sentiment(SKIN, Polarity.NEGATIVE, 0.6, implicit=True)])
    assert only(outcome).skip_reason is SkipReason.IMPLICIT_SOFT_ONLY
    assert outcome.skip_reasons.implicit_soft_only == 1
    assert outcome.stats.skipped_conflict == 1


def test_g_18_explicit_sibling_alone_is_flipped() -> None:
    outcome = gate(
        {SKIN: P3},
        sentiments=[
            sentiment(SKIN, Polarity.NEGATIVE, 0.6, implicit=True),
            sentiment(SKIN, Polarity.NEGATIVE, 0.6),
        ],
    )
    assert only(outcome).decision is Decision.APPLY
    assert of(outcome, SKIN) == [(Polarity.NEGATIVE, 0.6), (Polarity.POSITIVE, 0.7)]


def test_g_19_add() -> None:
    outcome = gate({PRICE: N3}, sentiments=BASE[:1])
    assert only(outcome).action is OverrideAction.ADD
    assert of(outcome, PRICE) == [(Polarity.NEGATIVE, 0.7)]
    added = outcome.sentiments[-1]
    assert (added.evidence, added.polarity_distribution) == ("debate_override", {"negative": 0.8})
    assert [entry.reason for entry in outcome.log] == ["debate_override_add"]


def test_g_20_already_confident() -> None:
    outcome = gate({SKIN: P3}, sentiments=[sentiment(SKIN, Polarity.POSITIVE, 0.7)])
    assert only(outcome).skip_reason is SkipReason.ALREADY_CONFIDENT
    assert outcome.stats.skipped_already_confident == 1


def test_g_21_right_but_unsure() -> None:
    outcome = gate({SKIN: P3}, sentiments=[sentiment(SKIN, Polarity.POSITIVE, 0.6)])
    assert of(outcome, SKIN) == [(Polarity.POSITIVE, 0.7)]
    assert outcome.sentiments[0].polarity_distribution == {"positive": 0.8}
    assert outcome.log[0].reason == "debate_override_flip positive->positive"


def test_g_22_a_high_confidence_is_kept() -> None:
    outcome = gate({SKIN: P3}, sentiments=[sentiment(SKIN, Polarity.NEGATIVE, 0.95)])
    assert of(outcome, SKIN) == [(Polarity.POSITIVE, 0.95)]


def test_g_24_ambiguity_comes_before_l3() -> None:
    outcome = gate({SKIN: (("positive", 0.8), ("negative", 0.8))}, risks=["IRONY"])
    assert only(outcome).skip_reason is SkipReason.ACTION_AMBIGUITY


def test_g_25_profile_t1() -> None:
    outcome = gate({SKIN: (("positive", 0.5), ("positive", 0.8))}, thresholds=T1)
    assert of(outcome, SKIN) == [(Polarity.POSITIVE, 0.6)]


def test_g_26_profile_t2() -> None:
    outcome = gate({SKIN: (("positive", 0.8),)}, thresholds=T2, risks=["CONTRAST"])
    assert of(outcome, SKIN) == [(Polarity.POSITIVE, 0.55)]


def test_g_27_already_confident_leaves_the_override_free() -> None:
    outcome = gate(
        {SKIN: P3, PRICE: N3},
        sentiments=[sentiment(SKIN, Polarity.POSITIVE, 0.9), BASE[1]],
    )
    assert outcome.decisions[0].skip_reason is SkipReason.ALREADY_CONFIDENT
    assert outcome.log[0].reason == "debate_override_flip positive->negative"


def test_g_28_disabled() -> None:
    outcome = disabled_gate((), BASE)
    assert outcome.decisions == ()
    assert outcome.stats.override_disabled is True
    assert outcome.stats.applied == 0
    assert outcome.sentiments == BASE


def test_g_29_plain_gate_needs_no_evidence() -> None:
    outcome = gate(
        {PRICE: (("negative", 1.0), ("negative", 1.0))}, summary=DebateSummary(), generation="v1"
    )
    assert only(outcome).total == 2.0
    assert of(outcome, PRICE) == [(Polarity.NEGATIVE, 0.7)]


def test_g_30_plain_gate_conflict() -> None:
    hints = (("negative", 1.0), ("positive", 1.0)) * 2
    outcome = gate({PRICE: hints}, summary=DebateSummary(), generation="v1")
    assert outcome.stats.skipped_conflict == 1
    assert outcome.stats.applied == 0


def test_g_31_plain_gate_low_signal() -> None:
    outcome = gate({PRICE: (("negative", 1.0),)}, summary=DebateSummary(), generation="v1")
    assert outcome.stats.skipped_low_signal == 1


def test_plain_gate_may_override_several_aspects() -> None:
    outcome = gate({SKIN: P3, PRICE: N3}, summary=DebateSummary(), generation="v1", risks=["IRONY"])
    assert outcome.stats.applied == 2


def test_representative_skip_is_the_furthest() -> None:
    decisions = [
        GateDecision(aspect="a", decision=Decision.SKIP, skip_reason=SkipReason.NEUTRAL_ONLY),
        GateDecision(aspect="b", decision=Decision.SKIP, skip_reason=SkipReason.L3_CONSERVATIVE),
    ]
    assert representative_skip(decisions) is SkipReason.L3_CONSERVATIVE


def test_add_brings_the_aspect_unless_it_was_dropped() -> None:
    brought = gate({"가격": N3}, sentiments=(), aspects=())
    assert [item.term for item in brought.aspects] == ["가격"]
    assert brought.aspects[0].span is not None
    assert TEXT[brought.aspects[0].span.start : brought.aspects[0].span.end] == "가격"
    refused = gate({"가격": N3}, sentiments=(), aspects=(), dropped=frozenset({"가격"}))
    assert refused.aspects == ()
    foreign = gate({"포장": N3}, sentiments=(), aspects=())
    assert foreign.aspects == ()


def test_memory_blocks_between_l3_and_implicit() -> None:
    blocked = frozenset({(SKIN, Polarity.POSITIVE)})
    outcome = gate({SKIN: P3}, blocked=blocked)
    assert only(outcome).skip_reason is SkipReason.CONTRADICTORY_MEMORY
    assert outcome.skip_reasons.contradictory_memory == 1
    assert outcome.stats.skipped_conflict == 1
    assert only(gate({SKIN: N3}, blocked=blocked)).decision is Decision.APPLY


def test_empty_text_fails_the_evidence() -> None:
    assert only(gate({SKIN: P3}, text="")).skip_reason is SkipReason.EVIDENCE_NOT_IN_TEXT


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        (1.6 - EPS / 2, Decision.APPLY),
        (1.6 - 2 * EPS, Decision.SKIP),
        (1.6, Decision.APPLY),
    ],
    ids=["within", "beyond", "equal"],
)
def test_min_total_has_a_tolerance(weight: float, expected: Decision) -> None:
    assert only(gate({SKIN: (("positive", weight),)})).decision is expected


@pytest.mark.parametrize(
    ("negative", "expected"),
    [(1.0 + EPS / 2, Decision.APPLY), (1.0 + 2 * EPS, Decision.SKIP)],
    ids=["within", "beyond"],
)
def test_min_margin_has_a_tolerance(negative: float, expected: Decision) -> None:
    outcome = gate({SKIN: (("positive", 1.8), ("negative", negative))})
    assert only(outcome).decision is expected


@pytest.mark.parametrize(
    ("confidence", "skipped"),
    [(0.7 - EPS / 2, True), (0.7 - 2 * EPS, False)],
    ids=["within", "beyond"],
)
def test_min_target_conf_has_a_tolerance(confidence: float, skipped: bool) -> None:
    outcome = gate({SKIN: P3}, sentiments=[sentiment(SKIN, Polarity.POSITIVE, confidence)])
    assert (only(outcome).skip_reason is SkipReason.ALREADY_CONFIDENT) is skipped


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("positve", Polarity.POSITIVE),
        ("nuetral", Polarity.NEUTRAL),
        ("pogitive", Polarity.POSITIVE),
        ("pegitive", None),
        ("mixed", None),
        ("p" * 1000, None),
    ],
)
def test_repair_takes_the_one_nearest_word(raw: str, expected: Polarity | None) -> None:
    sample = only(gate({SKIN: ((raw, 1.0),)}, repair=True)).hint_polarity_sample
    assert sample[0].canon is expected


@pytest.mark.parametrize("raw", [" Positive ", "POS", "pos"])
def test_whitelist_is_trimmed_and_case_insensitive(raw: str) -> None:
    assert only(gate({SKIN: ((raw, 2.0),)})).pos_score == 2.0
