"""Vectors M-01 to M-33: the moderator's rules in their order."""

from dataclasses import dataclass, field
from typing import Final

import pytest

from parley.bus.contracts.absa.debate import DebateSummary, SentimentTuple
from parley.bus.contracts.absa.moderator import (
    ModeratorInput,
    SpanLabel,
    StageLabel,
    ValidatorView,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    Polarity,
    SentenceLabel,
    Severity,
    Span,
    StructuralRisk,
    ValidatorOutput,
)
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.absa.rules.aggregate import sentence_label, span_label
from parley.coordinator.protocols.absa.rules.moderator import (
    moderate,
    span_iou,
    unmoderated,
    validator_view,
)

Opinion = tuple[SentenceLabel, float]
P: Final = "positive"
N: Final = "negative"
U: Final = "neutral"

B_MISSING = "RuleB: Stage2 missing; keep Stage1."
B_DROP = "RuleB: Stage2 drop>=0.2; keep Stage1."
B_STAGE2 = "RuleB: Stage2 preferred."
M = "RuleM: conflicting stage1/stage2 labels -> mixed."
C = "RuleC: Validator critical veto."
A = "RuleA: IoU>=0.8 span aligned."
D_NEAR = "RuleD: diff<0.1 conflict -> sentence ATE."
D_ATSA = "RuleD: diff>=0.1 ATSA wins."
D_ATE = "RuleD: diff>=0.1 ATE wins."
E_NEGATIVE = "RuleE: debate consensus -> negative."
Z = "RuleZ: insufficient signal (both confidences 0)."


@dataclass(frozen=True)
class Given:
    """An ATSA not named has its stage's ATE; a Stage 1 not named equals Stage 2."""

    s1: Opinion | None = None
    s2: Opinion | None = None
    a1: Opinion | None = None
    a2: Opinion | None = None
    span1: tuple[int, int] | None = None
    span2: tuple[int, int] | None = None
    validator: ValidatorView = field(default_factory=ValidatorView)
    summary: DebateSummary | None = None

    def input(self) -> ModeratorInput:
        s1 = self.s1 or self.s2
        assert s1 is not None
        a2 = self.a2 or self.s2
        return ModeratorInput(
            stage1_ate=StageLabel(label=s1[0], confidence=s1[1]),
            stage1_atsa=_with_span(self.a1 or s1, self.span1),
            validator=self.validator,
            stage2_ate=StageLabel(label=self.s2[0], confidence=self.s2[1]) if self.s2 else None,
            stage2_atsa=_with_span(a2, self.span2) if a2 else None,
            debate_summary=self.summary,
        )


def _with_span(opinion: Opinion, span: tuple[int, int] | None) -> SpanLabel:
    place = Span(start=span[0], end=span[1]) if span else None
    return SpanLabel(label=opinion[0], confidence=opinion[1], span=place)


def veto(label: SentenceLabel | None, confidence: float, *issues: str) -> ValidatorView:
    return ValidatorView(suggested_label=label, confidence=confidence, issues=issues)


def consensus(text: str) -> DebateSummary:
    return DebateSummary(consensus=text)


def tuples(*polarities: str) -> DebateSummary:
    return DebateSummary(
        final_tuples=tuple(SentimentTuple(aspect_ref="a", polarity=p) for p in polarities)
    )


@pytest.mark.parametrize(
    ("given", "label", "confidence", "rationale", "stage"),
    [
        pytest.param(Given(s1=(P, 0), s2=(N, 0)), U, 0, [Z], "stage1", id="M-01"),
        pytest.param(Given(s1=(P, 0)), U, 0, [Z], "stage1", id="M-02"),
        pytest.param(Given(s1=(P, 0), s2=(P, 0.4)), P, 0.4, [B_STAGE2], "stage2", id="M-03"),
        pytest.param(Given(s1=(P, 0.55), a1=(P, 0.5)), P, 0.55, [B_MISSING], "stage1", id="M-04"),
        pytest.param(
            Given(s1=(P, 0.6), s2=(P, 0.7), a2=(P, 0.7)), P, 0.7, [B_STAGE2], "stage2", id="M-05"
        ),
        pytest.param(Given(s1=(P, 0.6), s2=(P, 0.4)), P, 0.6, [B_DROP], "stage1", id="M-06"),
        pytest.param(
            Given(s1=(P, 0.6), s2=(P, 0.41), a2=(P, 0.41)),
            P,
            0.41,
            [B_STAGE2],
            "stage2",
            id="M-07",
        ),
        pytest.param(
            Given(s1=(P, 0.6), s2=(N, 0.41), a2=(N, 0.5)),
            "mixed",
            0.6,
            [B_STAGE2, M, D_ATE],
            "stage2",
            id="M-08",
        ),
        pytest.param(
            Given(s1=(P, 0.7), s2=(N, 0.49), a2=(N, 0.5)),
            "mixed",
            0.7,
            [B_DROP, M, D_ATE],
            "stage1",
            id="M-09",
        ),
        pytest.param(
            Given(s1=(P, 0.5), s2=(N, 0.45), a2=(N, 0.75)),
            N,
            0.75,
            [B_STAGE2, M, D_ATSA],
            "stage2",
            id="M-10",
        ),
        pytest.param(
            Given(
                s1=(P, 0.7), s2=(P, 0.75), a2=(P, 0.65), validator=veto(N, 0.9, "NEGATION scope")
            ),
            N,
            0.9,
            [B_STAGE2, C, D_ATE],
            "stage2",
            id="M-11",
        ),
        pytest.param(
            Given(s2=(P, 0.75), a2=(P, 0.7), validator=veto(N, 0.3, "contrast: x")),
            N,
            0.75,
            [B_STAGE2, C, D_NEAR],
            "stage2",
            id="M-12",
        ),
        pytest.param(
            Given(s2=(P, 0.75), a2=(P, 0.7), validator=veto(N, 0.3, "SPAN_MISMATCH severity:high")),
            N,
            0.75,
            [B_STAGE2, C, D_NEAR],
            "stage2",
            id="M-13",
        ),
        pytest.param(
            Given(s2=(P, 0.75), a2=(P, 0.7), validator=veto(N, 0.75, "SPAN")),
            N,
            0.75,
            [B_STAGE2, C, D_NEAR],
            "stage2",
            id="M-14",
        ),
        pytest.param(
            Given(s2=(P, 0.75), a2=(P, 0.7), validator=veto(N, 0.74, "SPAN")),
            P,
            0.75,
            [B_STAGE2],
            "stage2",
            id="M-15",
        ),
        pytest.param(
            Given(s2=(P, 0.75), a2=(P, 0.7), validator=veto(None, 0.99, "NEGATION")),
            P,
            0.75,
            [B_STAGE2],
            "stage2",
            id="M-16",
        ),
        pytest.param(
            Given(s2=(P, 0.5), a2=(P, 0.7), validator=veto(N, 0.5, "irony")),
            P,
            0.7,
            [B_STAGE2, C, D_ATSA],
            "stage2",
            id="M-17",
        ),
        pytest.param(
            Given(s2=(P, 0.6), a2=(P, 0.8), span1=(0, 10), span2=(1, 9)),
            P,
            0.7,
            [B_STAGE2, A],
            "stage2",
            id="M-18",
        ),
        pytest.param(
            Given(s2=(P, 0.6), a2=(P, 0.8), span1=(0, 10), span2=(2, 11)),
            P,
            0.6,
            [B_STAGE2],
            "stage2",
            id="M-19",
        ),
        pytest.param(
            Given(s1=(P, 0.9), s2=(P, 0.6), span1=(0, 5), span2=(0, 5)),
            P,
            0.9,
            [B_DROP],
            "stage1",
            id="M-20",
        ),
        pytest.param(
            Given(s2=(P, 0.6), a2=(N, 0.65), span1=(0, 5), span2=(0, 5)),
            P,
            0.6,
            [B_STAGE2, D_NEAR],
            "stage2",
            id="M-21",
        ),
        pytest.param(
            Given(s1=(P, 0.62), a1=(N, 0.53)), P, 0.62, [B_MISSING, D_NEAR], "stage1", id="M-22"
        ),
        pytest.param(
            Given(s1=(P, 0.6), a1=(N, 0.7)), N, 0.7, [B_MISSING, D_ATSA], "stage1", id="M-23"
        ),
        pytest.param(
            Given(s1=(P, 0.8), a1=(N, 0.6)), P, 0.8, [B_MISSING, D_ATE], "stage1", id="M-24"
        ),
        pytest.param(
            Given(s2=(P, 0.5), summary=consensus("전반적으로 부정적이다")),
            N,
            0.5,
            [B_STAGE2, E_NEGATIVE],
            "stage2",
            id="M-25",
        ),
        pytest.param(
            Given(s2=(P, 0.55), summary=consensus("전반적으로 부정적이다")),
            P,
            0.55,
            [B_STAGE2],
            "stage2",
            id="M-26",
        ),
        pytest.param(
            Given(
                s1=(P, 0.9),
                s2=(N, 0.85),
                a2=(N, 0.85),
                summary=DebateSummary(sentence_polarity="negative"),
            ),
            N,
            0.9,
            [B_STAGE2, M, D_NEAR, E_NEGATIVE],
            "stage2",
            id="M-27",
        ),
        pytest.param(
            Given(s1=(P, 0.9), s2=(N, 0.85), a2=(N, 0.85), summary=consensus("의견이 엇갈린다")),
            "mixed",
            0.9,
            [B_STAGE2, M, D_NEAR],
            "stage2",
            id="M-28",
        ),
        pytest.param(
            Given(s2=(P, 0.5), summary=consensus("결론 없음")),
            P,
            0.5,
            [B_STAGE2],
            "stage2",
            id="M-29",
        ),
        pytest.param(
            Given(s2=(P, 0.5), summary=tuples("neg", "negative")),
            N,
            0.5,
            [B_STAGE2, E_NEGATIVE],
            "stage2",
            id="M-30",
        ),
        pytest.param(
            Given(s2=(P, 0.5), summary=tuples("pos", "negative")),
            "mixed",
            0.5,
            [B_STAGE2, "RuleE: debate consensus -> mixed."],
            "stage2",
            id="M-31",
        ),
        pytest.param(
            Given(
                s2=(U, 0.5),
                summary=DebateSummary(
                    sentence_polarity="positive",
                    final_tuples=(SentimentTuple(aspect_ref="a", polarity="negative"),),
                    consensus="중립",
                ),
            ),
            P,
            0.5,
            [B_STAGE2, "RuleE: debate consensus -> positive."],
            "stage2",
            id="M-32",
        ),
        pytest.param(
            Given(s2=(U, 0.5), summary=consensus("긍정과 부정 의견이 있음")),
            P,
            0.5,
            [B_STAGE2, "RuleE: debate consensus -> positive."],
            "stage2",
            id="M-33",
        ),
    ],
)
def test_moderator(
    given: Given, label: str, confidence: float, rationale: list[str], stage: str
) -> None:
    output = moderate(given.input())
    assert output.final_label == label
    assert output.confidence == pytest.approx(confidence)
    assert output.rationale == " ".join(rationale)
    assert output.decision_reason == output.rationale
    assert output.applied_rules == tuple(text.split(":")[0] for text in rationale)
    assert output.selected_stage == stage


def test_drop_guard_flags() -> None:
    flags = moderate(Given(s1=(P, 0.6), s2=(P, 0.4)).input()).arbiter_flags
    assert flags.stage2_rejected_due_to_confidence
    assert flags.confidence_margin_used == pytest.approx(0.2)
    wider = moderate(Given(s1=(P, 0.7), s2=(N, 0.49), a2=(N, 0.5)).input()).arbiter_flags
    assert wider.confidence_margin_used == pytest.approx(0.21)
    assert moderate(Given(s2=(P, 0.7)).input()).arbiter_flags.confidence_margin_used == 0


def test_an_undone_veto_is_still_flagged() -> None:
    given = Given(s2=(P, 0.5), a2=(P, 0.7), validator=veto(N, 0.5, "irony"))
    assert moderate(given.input()).arbiter_flags.validator_override_applied


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(
            Given(s2=(P, 0.55), summary=consensus("부정")), "confidence_too_high", id="M-26"
        ),
        pytest.param(
            Given(s1=(P, 0.9), s2=(N, 0.85), summary=consensus("엇갈린다")),
            "label_unchanged",
            id="M-28",
        ),
        pytest.param(Given(s2=(P, 0.5), summary=consensus("없음")), "inferred_empty", id="M-29"),
        pytest.param(Given(s2=(P, 0.5)), None, id="no-summary"),
        pytest.param(Given(s2=(P, 0.5), summary=consensus("부정")), None, id="fired"),
    ],
)
def test_why_rule_e_was_blocked(given: Given, reason: str | None) -> None:
    flags = moderate(given.input()).arbiter_flags
    assert flags.rule_e_block_reason == reason
    assert flags.rule_e_attempted_after_b is (given.summary is not None)
    assert flags.rule_e_fired is (given.summary is not None and reason is None)


@pytest.mark.parametrize(
    ("drop", "guarded"),
    [(0.2 - EPS / 2, True), (0.2 - 2 * EPS, False)],
    ids=["within", "beyond"],
)
def test_the_drop_has_a_tolerance(drop: float, guarded: bool) -> None:
    output = moderate(Given(s1=(P, 0.6), s2=(P, 0.6 - drop)).input())
    assert output.arbiter_flags.stage2_rejected_due_to_confidence is guarded


@pytest.mark.parametrize(
    ("difference", "near"), [(0.1 - 2e-6, True), (0.1 - 5e-7, False)], ids=["below", "in-the-band"]
)
def test_rule_d_keeps_its_own_band(difference: float, near: bool) -> None:
    output = moderate(Given(s1=(P, 0.6), a1=(N, 0.6 + difference)).input())
    assert (output.final_label == P) is near


@pytest.mark.parametrize(
    ("confidence", "fires"),
    [(0.55 - EPS / 2, False), (0.55 - 2 * EPS, True)],
    ids=["within", "beyond"],
)
def test_rule_e_has_a_tolerance(confidence: float, fires: bool) -> None:
    output = moderate(Given(s2=(P, confidence), summary=consensus("부정")).input())
    assert output.arbiter_flags.rule_e_fired is fires


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0, 10), (1, 9), 0.8),
        ((0, 10), (2, 11), 8 / 11),
        ((0, 2), (5, 9), 0.0),
        ((3, 3), (3, 3), 0.0),
    ],
)
def test_span_iou(a: tuple[int, int], b: tuple[int, int], expected: float) -> None:
    left, right = Span(start=a[0], end=a[1]), Span(start=b[0], end=b[1])
    assert span_iou(left, right) == pytest.approx(expected)
    assert span_iou(left, None) == 0.0


def test_moderator_off() -> None:
    second = unmoderated(Given(s1=(P, 0.9), s2=(N, 0.1)).input())
    assert (second.final_label, second.confidence, second.selected_stage) == (N, 0.1, "stage2")
    assert second.applied_rules == ()
    assert second.rationale == "Rule default: no change."
    assert unmoderated(Given(s1=(P, 0.9)).input()).final_label == P


def test_what_the_moderator_sees_of_the_validator() -> None:
    risk = StructuralRisk(type="negation scope", severity=Severity.HIGH, description="not bad")
    view = validator_view(
        ValidatorOutput(structural_risks=(risk,), consistency_score=0.4), ["dropped:x"]
    )
    assert view.issues == ("dropped:x", "NEGATION_SCOPE severity:high not bad")
    assert (view.suggested_label, view.confidence) == (None, 0.4)


def test_aggregated_label() -> None:
    low = AspectSentiment(aspect_ref="a", polarity=Polarity.NEGATIVE, confidence=0.4)
    first = AspectSentiment(aspect_ref="b", polarity=Polarity.POSITIVE, confidence=0.8)
    tied = AspectSentiment(aspect_ref="c", polarity=Polarity.NEGATIVE, confidence=0.8)
    missing = AspectSentiment(aspect_ref="d", confidence=0.9)
    span = Span(start=2, end=3)
    label = span_label([low, first, tied], [AspectItem(term="b", span=span)], "strongest")
    assert (label.label, label.confidence, label.span) == ("positive", 0.8, span)
    assert sentence_label([]) == StageLabel(label="neutral", confidence=0.0)
    assert sentence_label([missing, first], "strongest") == StageLabel(
        label="neutral", confidence=0.9, note="[missing polarity]"
    )
