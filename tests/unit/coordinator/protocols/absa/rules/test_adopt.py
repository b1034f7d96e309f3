"""The EV list and vectors V-01 to V-10: adopting Stage 2."""

from collections.abc import Sequence

import pytest

from parley.bus.contracts.absa.debate import (
    DebateSummary,
    EditTarget,
    ProposedEdit,
    SentimentTuple,
)
from parley.bus.contracts.absa.gate import (
    AdoptDecision,
    AdoptOutcome,
    Decision,
    GateDecision,
    OverrideAction,
    SkipReason,
)
from parley.bus.contracts.absa.params import AbsaParams, DebateParams
from parley.bus.contracts.absa.review import CorrectionLogEntry
from parley.bus.contracts.absa.sentiment import AspectSentiment, Polarity, StructuralRisk, Term
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.absa.rules.adopt import (
    AdoptInput,
    adopt,
    adopt_ungated,
    ev_components,
    ev_score,
)
from parley.coordinator.protocols.absa.rules.final import (
    PolarityContractViolation,
    build_final_aspects,
)

TEXT = "피부톤은 맑아졌는데 가격은 비싸요"
POS, NEG, NEU = Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL
DROP = ProposedEdit(op="drop_tuple", target=EditTarget(aspect_ref="가격", polarity="neutral"))
CONFIRM = ProposedEdit(op="confirm_tuple", target=EditTarget(aspect_ref="가격", polarity="pos"))
FLIPPED = CorrectionLogEntry(proposal_type="FLIP_POLARITY", target_aspect="가격", applied=True)
RISK = StructuralRisk(type="NEGATION")


def one(aspect: str, polarity: Polarity | None, confidence: float) -> AspectSentiment:
    return AspectSentiment(aspect_ref=aspect, polarity=polarity, confidence=confidence)


def applied(aspect: str, polarity: Polarity) -> GateDecision:
    return GateDecision(
        aspect=aspect,
        decision=Decision.APPLY,
        action=OverrideAction.FLIP,
        target_pol=polarity,
    )


def skipped(reason: SkipReason) -> GateDecision:
    return GateDecision(aspect="가격", decision=Decision.SKIP, skip_reason=reason)


def decide(  # noqa: PLR0913 - every part of the input that a vector changes
    *,
    stage1: Sequence[AspectSentiment] = (one("가격", NEU, 0.6),),
    stage2: Sequence[AspectSentiment] | None = (one("가격", NEU, 0.6),),
    risks: Sequence[StructuralRisk] = (),
    patch: Sequence[ProposedEdit] = (),
    tuples: Sequence[tuple[str, str]] = (),
    log: Sequence[CorrectionLogEntry] = (),
    decisions: Sequence[GateDecision] = (),
    ev_threshold: float = 0.5,
) -> AdoptOutcome:
    return adopt(
        AdoptInput(
            text=TEXT,
            stage1=stage1,
            structural_risks=risks,
            stage2=stage2,
            summary=DebateSummary(
                final_patch=tuple(patch),
                final_tuples=tuple(SentimentTuple(aspect_ref=a, polarity=p) for a, p in tuples),
            ),
            log=log,
            decisions=decisions,
            ev_threshold=ev_threshold,
        )
    )


def verdict(outcome: AdoptOutcome) -> tuple[str, str]:
    return outcome.adopt_decision.value, outcome.adopt_reason


@pytest.mark.parametrize(
    ("acted", "resolved", "before", "after", "grounded", "score"),
    [
        pytest.param(True, False, 0.6, 0.6, False, 0.4, id="EV-1"),
        pytest.param(True, False, 0.5, 0.7, False, 0.5, id="EV-2"),
        pytest.param(True, False, 0.5, 0.68, False, 0.49, id="EV-3"),
        pytest.param(False, True, 0.6, 0.9, False, 0.4, id="EV-4"),
        pytest.param(True, True, 0.6, 0.6, False, 0.7, id="EV-5"),
        pytest.param(False, True, 0.5, 0.5, True, 0.5, id="EV-6"),
        pytest.param(False, False, 0.5, 0.9, True, 0.3, id="EV-7"),
        pytest.param(True, True, 0.5, 0.9, True, 1.0, id="EV-8"),
        pytest.param(True, False, 0.9, 0.7, False, 0.4, id="EV-9"),
    ],
)
def test_ev_score(  # noqa: PLR0913, PLR0917 - one column of the list each
    acted: bool, resolved: bool, before: float, after: float, grounded: bool, score: float
) -> None:
    components = ev_components(
        debate_acted=acted,
        validator_resolved=resolved,
        grounded=grounded,
        confidence_gain=after - before,
    )
    assert ev_score(components) == score


def test_v_01_nothing_left() -> None:
    assert verdict(decide(stage2=())) == ("not_adopted", "low_signal")
    assert verdict(decide(stage2=None)) == ("not_adopted", "low_signal")


def test_v_02_risk_resolved() -> None:
    outcome = decide(risks=[RISK], log=[FLIPPED], patch=[DROP])
    assert verdict(outcome) == ("adopted", "risk_resolved")
    assert outcome.ev_score >= 0.7
    assert outcome.override_candidate is True


def test_v_03_risk_resolved_alone_is_too_little() -> None:
    outcome = decide(risks=[RISK], log=[FLIPPED], stage2=[one("가격", NEG, 0.9)])
    assert verdict(outcome) == ("not_adopted", "ev_below_threshold")
    assert outcome.ev_score == 0.4
    assert [item.polarity for item in outcome.final_tuples] == ["neutral"]


def test_v_04_debate_alone_is_too_little() -> None:
    outcome = decide(patch=[DROP], decisions=[applied("가격", NEU)])
    assert verdict(outcome) == ("not_adopted", "ev_below_threshold")
    assert outcome.ev_score == 0.4


def test_v_05_debate_with_rising_confidence() -> None:
    outcome = decide(patch=[DROP], stage1=[one("가격", NEU, 0.5)], stage2=[one("가격", NEG, 0.7)])
    assert verdict(outcome) == ("adopted", "debate_action")
    assert outcome.ev_score == 0.5
    assert [(item.key, item.polarity) for item in outcome.final_tuples] == [("가격", "negative")]


def test_v_06_an_applied_override_is_a_debate_action() -> None:
    outcome = decide(
        patch=[CONFIRM],
        decisions=[applied("가격", POS)],
        stage1=[one("가격", NEU, 0.5)],
        stage2=[one("가격", POS, 0.7)],
    )
    assert verdict(outcome) == ("adopted", "debate_action")


def test_v_07_unresolved_conflict() -> None:
    conflict = [one("가격", POS, 0.9), one("가격", NEG, 0.9)]
    assert verdict(decide(patch=[DROP], stage2=conflict)) == ("not_adopted", "conflict_blocked")
    resolved = decide(patch=[DROP], stage2=conflict, tuples=[("가격", "neg")])
    assert verdict(resolved) == ("adopted", "debate_action")
    before = decide(patch=[DROP], stage1=conflict, stage2=conflict, ev_threshold=0.4)
    assert verdict(before) == ("adopted", "debate_action")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (SkipReason.L3_CONSERVATIVE, "l3_conservative"),
        (SkipReason.ALREADY_CONFIDENT, "low_signal"),
        (SkipReason.NEUTRAL_ONLY, "neutral_only"),
    ],
    ids=["V-08", "V-08-already-confident", "V-08-neutral-only"],
)
def test_v_08_the_gate_explains(reason: SkipReason, expected: str) -> None:
    assert verdict(decide(decisions=[skipped(reason)])) == ("not_adopted", expected)


def test_v_09_nothing_happened() -> None:
    outcome = decide()
    assert verdict(outcome) == ("not_adopted", "low_signal")
    assert outcome.override_candidate is False


def test_v_10_gate_off() -> None:
    assert AbsaParams().adopt_gate_is_on
    assert AbsaParams(enable_debate=False).adopt_gate_is_on
    assert AbsaParams(debate=DebateParams(enabled=False), adopt_gate="on").adopt_gate_is_on
    assert not AbsaParams(debate=DebateParams(protocol="v1")).adopt_gate_is_on
    assert AbsaParams(debate=DebateParams(protocol="v1"), adopt_gate="on").adopt_gate_is_on
    patched = (one("가격", NEG, 0.9),)
    outcome = adopt_ungated((one("가격", NEU, 0.5),), patched)
    assert verdict(outcome) == ("adopted", "gate_off")
    assert outcome.ev_adopted
    assert outcome.final_sentiments == patched


def test_grounding_improved() -> None:
    implicit = AspectSentiment(aspect_ref="가격", polarity=NEG, confidence=0.5, is_implicit=True)
    outcome = decide(stage1=[implicit], stage2=[one("가격", NEG, 0.9)], ev_threshold=0.3)
    assert verdict(outcome) == ("adopted", "grounding_improved")
    assert outcome.ev_components.grounding_improvement == 0.2


def test_an_override_against_the_debate_blocks() -> None:
    outcome = decide(
        risks=[RISK],
        log=[FLIPPED],
        patch=[DROP],
        tuples=[("가격", "negative")],
        decisions=[applied("가격", POS)],
    )
    assert verdict(outcome) == ("not_adopted", "conflict_blocked")


def test_adopted_takes_exactly_the_debates_set() -> None:
    outcome = decide(
        stage1=[one("가격", NEU, 0.5), one("피부톤", NEU, 0.5)],
        stage2=[one("가격", POS, 0.95), one("피부톤", POS, 0.9)],
        patch=[DROP],
        tuples=[
            ("가 격", "NEG"),
            ("맑아졌는데", "positive"),
            ("포장", "positive"),
            ("", "positive"),
        ],
    )
    assert outcome.adopt_decision is AdoptDecision.ADOPTED
    price, added = outcome.final_sentiments
    assert (price.key, price.polarity, price.confidence) == ("가격", NEG, 0.95)
    assert price.polarity_distribution == {"negative": 0.9}
    assert (added.key, added.polarity, added.confidence) == ("맑아졌는데", POS, 0.7)
    assert isinstance(added.aspect_term, Term)
    assert [item.key for item in outcome.left_out] == ["포장", ""]


def test_a_debate_tuple_without_polarity_is_left_out() -> None:
    outcome = decide(
        stage1=[one("가격", NEU, 0.5)],
        stage2=[one("가격", POS, 0.9)],
        patch=[DROP],
        tuples=[("가격", "mixed")],
    )
    assert outcome.final_tuples == ()
    assert [item.polarity for item in outcome.left_out] == ["mixed"]


def test_a_final_tuple_needs_a_polarity() -> None:
    with pytest.raises(PolarityContractViolation, match="가격"):
        decide(stage1=[one("가격", None, 0.5)])


def test_implicit_aspects_have_no_term() -> None:
    implicit = AspectSentiment(
        aspect_term=Term(term="가격"), polarity=NEG, confidence=0.5, is_implicit=True
    )
    (shown,) = build_final_aspects([implicit])
    assert (shown.aspect_ref, shown.aspect_term) == ("가격", Term())


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.4 + EPS / 2, "adopted"), (0.4 + 2 * EPS, "not_adopted")],
    ids=["within", "beyond"],
)
def test_ev_threshold_has_a_tolerance(threshold: float, expected: str) -> None:
    assert decide(patch=[DROP], ev_threshold=threshold).adopt_decision.value == expected
