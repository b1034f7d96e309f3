"""Stage 1 post-processing, in order."""

import pytest

from parley.bus.contracts.absa.sentiment import (
    AspectItem,
    AspectSentiment,
    CorrectionProposal,
    Polarity,
    Severity,
    Span,
    StructuralRisk,
    Term,
    ValidatorOutput,
)
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.rules.language import (
    has_contrast,
    has_negation,
    norm,
    strip_particle,
)
from parley.coordinator.protocols.absa.rules.postprocess import (
    backfill_sentiments,
    clean_aspects,
    clean_validation,
)

KO, EN = language_patterns("ko"), language_patterns("en")


@pytest.mark.parametrize(
    ("term", "expected"),
    [("가격은", "가격"), ("은", "은"), ("서비스", "서비스"), ("", ""), ("고양이", "고양")],
)
def test_strip_particle(term: str, expected: str) -> None:
    assert strip_particle(term, KO) == expected


def test_norm() -> None:
    assert norm(" 고객 응대(CS)는 ", KO) == "고객응대cs"
    assert norm("Battery-Life!", EN) == "batterylife"


def test_contrast_guesses_the_second_aspect() -> None:
    text = "피부톤은 맑아졌지만 가격은 비싸요"
    found = clean_aspects(text, [AspectItem(term="피부톤")], KO, contrast_guess=True).aspects
    guess = found[1]
    assert (guess.term, guess.confidence) == ("가격", 0.5)
    assert guess.span is not None
    assert text[guess.span.start : guess.span.end] == "가격"


def test_contrast_guesses_nothing_when_two_aspects_are_known() -> None:
    text = "맛은 좋지만 가격은 비싸요"
    given = [AspectItem(term="맛"), AspectItem(term="좋지만")]
    assert clean_aspects(text, given, KO, contrast_guess=True).aspects == tuple(given)


def test_contrast_does_not_repeat_an_aspect() -> None:
    text = "싸지만 가격은 그대로"
    assert len(clean_aspects(text, [AspectItem(term="가격")], KO, contrast_guess=True).aspects) == 1


def test_aspects_outside_the_text_are_dropped_and_traced() -> None:
    given = [AspectItem(term="포장"), AspectItem(term=""), AspectItem(term="가격")]
    cleaned = clean_aspects("가격이 좋아요", given, KO)
    assert [item.term for item in cleaned.aspects] == ["가격"]
    assert cleaned.notes == (
        "rejection_reason:aspect_not_substring term:포장",
        "rejection_reason:aspect_not_substring term:",
    )


def test_backfill_and_drop() -> None:
    aspects = [
        AspectItem(term="가격", span=Span(start=0, end=2)),
        AspectItem(term="맛"),
        AspectItem(term="가격"),
    ]
    stray = AspectSentiment(aspect_ref="포장", polarity=Polarity.POSITIVE)
    taste = AspectSentiment(aspect_term=Term(term="맛"), polarity=Polarity.POSITIVE)
    cleaned = backfill_sentiments("가격과 맛", aspects, [stray, taste])
    kept, filled = cleaned.sentiments
    assert kept is taste
    assert filled == AspectSentiment(
        aspect_ref="가격",
        aspect_term=Term(term="가격", span=Span(start=0, end=2)),
        polarity=Polarity.NEUTRAL,
        evidence="가격과 맛",
        confidence=0.5,
        polarity_distribution={"neutral": 1.0},
        is_backfilled=True,
        neutral_reason="missing_atsa_for_aspect",
    )
    assert cleaned.issues == ("dropped_unanchored_aspect_ref:포장",)


def test_a_very_long_text_is_not_quoted_as_a_whole() -> None:
    text = "아" * 60_000 + "가격" + "아" * 40_000
    (filled,) = backfill_sentiments(text, [AspectItem(term="가격")], []).sentiments
    assert len(filled.evidence) == 2_000
    assert "가격" in filled.evidence


def proposals(*kinds: str) -> tuple[CorrectionProposal, ...]:
    return tuple(CorrectionProposal(target_aspect="가격", proposal_type=kind) for kind in kinds)


def test_negation_gate() -> None:
    given = ValidatorOutput(
        structural_risks=(StructuralRisk(type="NEGATION"), StructuralRisk(type="IRONY")),
        correction_proposals=proposals("FLIP_POLARITY", "DROP_ASPECT"),
    )
    aspects = [AspectItem(term="가격"), AspectItem(term="맛")]
    calm = clean_validation("가격이 좋아요", given, aspects, KO)
    assert [item.type for item in calm.validator.structural_risks] == ["IRONY"]
    assert calm.validator.correction_proposals == proposals("DROP_ASPECT")
    assert calm.notes == ("negation_suppressed",)
    negated = clean_validation("가격이 좋지 않아요", given, aspects, KO)
    assert negated.validator == given
    assert negated.notes == ()


def test_a_missing_second_aspect_is_a_risk() -> None:
    text = "맛은 좋지만 비싸요"
    found = clean_validation(text, ValidatorOutput(), [AspectItem(term="맛")], KO).validator
    (risk,) = found.structural_risks
    assert (risk.type, risk.severity) == ("MISSING_SECOND_ASPECT", Severity.HIGH)
    assert risk.scope == Span(start=0, end=len(text))


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("I know the noodles", False),
        ("no noodles", True),
        ("It isn't good", True),
        ("NOT good", True),
        ("a knot", False),
    ],
)
def test_english_words_stand_alone(text: str, negated: bool) -> None:
    assert has_negation(text, EN) is negated


def test_english_contrast() -> None:
    assert has_contrast("good, but slow", EN)
    assert not has_contrast("a button", EN)
    found = clean_aspects(
        "good food, but the service was slow", [AspectItem(term="food")], EN, contrast_guess=True
    )
    assert [item.term for item in found.aspects] == ["food", "the"]
