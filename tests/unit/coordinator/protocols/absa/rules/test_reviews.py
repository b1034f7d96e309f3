"""Applying corrections to Stage 1 in the normative order."""

from collections.abc import Sequence

import pytest

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.params import OverrideThresholds
from parley.bus.contracts.absa.review import (
    AspectHint,
    AspectReviewItem,
    AteReview,
    AtsaReview,
    ReviewContext,
    SentimentReviewItem,
)
from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    CorrectionProposal,
    Polarity,
    Span,
    ValidatorOutput,
)
from parley.coordinator.protocols.absa.rules.reviews import (
    OverrideRules,
    Patched,
    ReviewInput,
    anchored,
    apply_reviews,
    structure_error,
)

TEXT = "맛은 좋은데 가격은 비싸요"
TASTE, PRICE = AspectItem(term="맛", span=Span(start=0, end=1)), AspectItem(term="가격")
POS, NEG, NEU = Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL
ON = OverrideRules(enabled=True, protocol="v2", thresholds=OverrideThresholds())
OFF = OverrideRules(enabled=False, protocol="v2", thresholds=OverrideThresholds())


def one(aspect: str, polarity: Polarity | None, confidence: float = 0.6) -> AspectSentiment:
    return AspectSentiment(aspect_ref=aspect, polarity=polarity, confidence=confidence)


def patch(  # noqa: PLR0913 - every part of the input that a test changes
    *,
    proposals: Sequence[CorrectionProposal] = (),
    ate: Sequence[AspectReviewItem] = (),
    atsa: Sequence[SentimentReviewItem] = (),
    aspects: Sequence[AspectItem] = (TASTE, PRICE),
    sentiments: Sequence[AspectSentiment] = (one("맛", POS), one("가격", NEU)),
    context: ReviewContext | None = None,
    override: OverrideRules = ON,
) -> Patched:
    return apply_reviews(
        ReviewInput(
            text=TEXT,
            aspects=aspects,
            sentiments=sentiments,
            validator=ValidatorOutput(correction_proposals=tuple(proposals)),
            ate_review=AteReview(aspect_review=tuple(ate)),
            atsa_review=AtsaReview(sentiment_review=tuple(atsa)),
            context=context,
            override=override,
        )
    )


def propose(kind: str, aspect: str, span: Span | None = None) -> CorrectionProposal:
    return CorrectionProposal(target_aspect=aspect, proposal_type=kind, revised_span=span)


def polarities(patched: Patched) -> dict[str, Polarity | None]:
    return {item.key: item.polarity for item in patched.sentiments}


@pytest.mark.parametrize(
    ("proposal", "applied", "reason"),
    [
        (propose("FLIP_POLARITY", "맛"), True, "applied"),
        (propose("FLIP_POLARITY", "가격"), False, "cannot flip neutral"),
        (propose("FLIP_POLARITY", "포장"), False, "unknown aspect"),
        (propose("DROP_ASPECT", "가격"), True, "applied"),
        (propose("DROP_ASPECT", "포장"), False, "unknown aspect"),
        (propose("REVISE_SPAN", "가격", Span(start=7, end=9)), True, "applied"),
        (propose("REVISE_SPAN", "가격"), False, "no revised_span"),
        (
            propose("REVISE_SPAN", "가격", Span(start=7, end=900)),
            False,
            "revised_span out of range",
        ),
        (propose("CHECK_SPAN", "가격"), False, "no effect"),
    ],
)
def test_validator_proposals(proposal: CorrectionProposal, applied: bool, reason: str) -> None:
    (entry,) = patch(proposals=[proposal]).log
    assert (entry.applied, entry.reason) == (applied, reason)


def test_a_flip_by_the_validator() -> None:
    flipped = patch(proposals=[propose("FLIP_POLARITY", "맛")]).sentiments[0]
    assert (flipped.polarity, flipped.confidence) == (NEG, 0.9)
    assert flipped.polarity_distribution == {"negative": 0.9, "positive": 0.1}


def test_only_the_first_sentiment_is_flipped() -> None:
    twice = [one("맛", POS), one("맛", POS)]
    found = patch(proposals=[propose("FLIP_POLARITY", "맛")], sentiments=twice)
    assert [item.polarity for item in found.sentiments] == [NEG, POS]


def test_the_order_is_validator_then_reviewers() -> None:
    found = patch(
        proposals=[propose("FLIP_POLARITY", "맛")],
        atsa=[SentimentReviewItem(aspect_ref="맛", action="flip_polarity")],
    )
    assert polarities(found)["맛"] is POS
    assert [entry.proposal_type for entry in found.log] == ["FLIP_POLARITY", "STAGE2_ATSA_REVIEW"]


def test_ate_review() -> None:
    added = AspectReviewItem(term="좋은데", action="add", revised_span=Span(start=3, end=6))
    found = patch(
        ate=[
            AspectReviewItem(term="가격", action="remove"),
            AspectReviewItem(term="맛", action="revise", revised_span=Span(start=0, end=2)),
            added,
            AspectReviewItem(term="맛", action="keep"),
            AspectReviewItem(term="포장", action="add", revised_span=Span(start=0, end=2)),
            AspectReviewItem(term="비싸요", action="add"),
        ]
    )
    assert [(item.term, item.confidence) for item in found.aspects] == [
        ("맛", 0.0),
        ("좋은데", 0.8),
    ]
    assert found.aspects[0].span == Span(start=0, end=2)
    assert polarities(found) == {"맛": POS}
    assert [entry.applied for entry in found.log] == [True, True, True, False, False]


def test_atsa_review() -> None:
    found = patch(
        sentiments=[one("맛", POS, 0.95), one("맛", NEU)],
        atsa=[
            SentimentReviewItem(aspect_ref="맛", action="flip_polarity"),
            SentimentReviewItem(
                aspect_ref="가격", action="add", revised_polarity=NEG, reason="비싸"
            ),
            SentimentReviewItem(aspect_ref="가격", action="reduce_confidence"),
        ],
    )
    assert [(item.key, item.polarity, item.confidence) for item in found.sentiments] == [
        ("맛", NEG, 0.95),
        ("맛", NEG, 0.9),
        ("가격", NEG, 0.9),
    ]
    assert found.sentiments[2].polarity_distribution == {"negative": 0.9}


def test_dropping_everything_leaves_a_placeholder() -> None:
    drops = [SentimentReviewItem(aspect_ref=a, action="drop") for a in ("맛", "가격")]
    (left,) = patch(atsa=drops).sentiments
    assert (left.key, left.polarity, left.confidence) == ("맛", NEU, 0.5)
    assert left.neutral_reason == "stage2_placeholder_no_sentiments"


def test_no_placeholder_where_something_was_unanchored() -> None:
    stray = SentimentReviewItem(aspect_ref="포장", action="add", revised_polarity=POS)
    found = patch(atsa=[stray], sentiments=[])
    assert found.sentiments == ()
    assert found.anchor_issues == ("dropped_unanchored_aspect_ref:포장",)


def test_without_a_review_nothing_is_filled_in() -> None:
    assert patch(sentiments=[]).sentiments == ()


def test_anchor_guard() -> None:
    kept, issues = anchored(
        [AspectItem(term="고객 응대"), TASTE],
        [one("응대", POS), one("맛", POS), one("포장", POS), one("", POS)],
    )
    assert [item.key for item in kept] == ["고객 응대", "맛"]
    assert issues == [
        "mapped_aspect_ref:응대->고객 응대",
        "dropped_unanchored_aspect_ref:포장",
        "dropped_unanchored_aspect_ref:",
    ]


def context(aspect: str, polarity: str, *weights: float) -> ReviewContext:
    return ReviewContext(
        summary=DebateSummary(sentence_evidence_spans=("비싸요",)),
        aspect_hints={
            aspect: tuple(
                AspectHint(speaker="EPM", stance="patch", weight=w, polarity_hint=polarity)
                for w in weights
            )
        },
    )


def test_the_override_comes_after_the_reviews() -> None:
    found = patch(
        context=context("가격", "negative", 1.0, 1.0),
        atsa=[SentimentReviewItem(aspect_ref="가격", action="add", revised_polarity=POS)],
        sentiments=[one("맛", POS)],
    )
    assert polarities(found) == {"맛": POS, "가격": NEG}
    assert [entry.proposal_type for entry in found.log] == ["STAGE2_ATSA_REVIEW", "DEBATE_OVERRIDE"]


def test_an_aspect_dropped_in_this_run_does_not_come_back() -> None:
    found = patch(
        context=context("가격", "negative", 1.0, 1.0),
        ate=[AspectReviewItem(term="가격", action="drop")],
    )
    assert found.gate.stats.applied == 1
    assert polarities(found) == {"맛": POS}
    assert found.anchor_issues == ("dropped_unanchored_aspect_ref:가격",)


def test_g_28_the_override_can_be_switched_off() -> None:
    found = patch(context=context("가격", "negative", 1.0, 1.0), override=OFF)
    assert found.gate.decisions == ()
    assert found.gate.stats.override_disabled
    assert polarities(found) == {"맛": POS, "가격": NEU}


def test_provenance_comes_from_the_first_hint() -> None:
    hints = context("가격", "positive", 0.1)
    found = patch(
        context=hints,
        sentiments=[],
        atsa=[
            SentimentReviewItem(aspect_ref="가격", action="add", revised_polarity=NEG, reason="r"),
            SentimentReviewItem(aspect_ref="맛", action="add", revised_polarity=POS, reason="r"),
        ],
    )
    assert [item.evidence for item in found.sentiments] == [
        "r | source:EPM/patch",
        "r | source:unknown/unknown",
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["aspect_review"], None),
        (["aspects"], "stage2_structure_error: aspects"),
        (["sentiment_review", "aspect_sentiments"], "stage2_structure_error: aspect_sentiments"),
    ],
)
def test_a_review_brings_nothing_of_its_own(keys: list[str], expected: str | None) -> None:
    assert structure_error(keys) == expected
