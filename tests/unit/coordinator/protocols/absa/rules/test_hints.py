"""Vectors H-01 to H-14: from turns to hints."""

from collections.abc import Sequence

import pytest

from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, EditTarget, ProposedEdit
from parley.bus.contracts.absa.debate import Protocol as Generation
from parley.bus.contracts.absa.review import (
    AspectHint,
    Mapping,
    MappingFailReason,
    MappingStats,
    ReviewContext,
)
from parley.bus.contracts.absa.sentiment import AspectItem, AspectSentiment, Polarity, Span
from parley.configs.languages import language_patterns
from parley.coordinator.protocols.absa.output.metrics import DebateScorecard, debate_metrics
from parley.coordinator.protocols.absa.output.scores import score_hints
from parley.coordinator.protocols.absa.rules.edits import DropMode
from parley.coordinator.protocols.absa.rules.hints import review_context
from parley.coordinator.protocols.absa.rules.mapping import aspect_index
from parley.coordinator.protocols.absa.rules.postprocess import clean_aspects

KO = language_patterns("ko")
NEG, POS, NEU = Polarity.NEGATIVE, Polarity.POSITIVE, Polarity.NEUTRAL


def context(  # noqa: PLR0913 - every part of the input that a vector changes
    turns: Sequence[DebateTurn],
    generation: Generation,
    *,
    terms: Sequence[str] = (),
    atsa: Sequence[tuple[str, Polarity, float]] = (),
    patch: Sequence[ProposedEdit] = (),
    drop_mode: DropMode = "opposite",
) -> ReviewContext:
    aspects = [AspectItem(term=term) for term in terms]
    sentiments = [AspectSentiment(aspect_ref=a, polarity=p, confidence=c) for a, p, c in atsa]
    return review_context(
        turns,
        DebateSummary(final_patch=tuple(patch)),
        aspect_index(aspects, sentiments, KO),
        generation,
        drop_mode=drop_mode,
    )


def said(speaker: str, stance: str, message: str) -> DebateTurn:
    return DebateTurn(speaker=speaker, stance=stance, message=message)


def edit(
    op: str, aspect: str | None, polarity: str | None = None, value: str | None = None
) -> ProposedEdit:
    return ProposedEdit(op=op, target=EditTarget(aspect_ref=aspect, polarity=polarity), value=value)


def pulls(hints: Sequence[AspectHint]) -> list[tuple[float, str | None]]:
    return [(hint.weight, hint.polarity_hint) for hint in hints]


def test_h_01_direct_by_synonym() -> None:
    found = context([said("critic", "con", "비용이 과하다")], "v1", terms=["가격", "서비스"])
    point = found.rebuttal_points[0]
    assert point.mapping_confidence is Mapping.DIRECT
    assert point.mapping_fail_reason is None
    assert point.aspect_refs == ("가격",)
    assert found.aspect_hints == {
        "가격": (AspectHint(speaker="critic", stance="con", weight=1.0, polarity_hint="negative"),)
    }
    assert found.mapping_stats == MappingStats(direct=1)


def test_h_02_fallback_to_the_sentiment_of_the_stance() -> None:
    found = context(
        [said("empath", "pro", "전체적으로 마음에 들어요")],
        "v1",
        terms=["가격", "서비스"],
        atsa=[("가격", NEG, 0.8), ("서비스", POS, 0.6)],
    )
    point = found.rebuttal_points[0]
    assert point.mapping_confidence is Mapping.FALLBACK
    assert point.mapping_fail_reason is MappingFailReason.FALLBACK_USED
    assert point.aspect_refs == ("서비스",)
    assert pulls(found.aspect_hints["서비스"]) == [(1.0, "positive")]
    assert found.mapping_fail_reasons.fallback_used == 1


def test_h_03_neutral_stance_among_two_aspects() -> None:
    found = context(
        [said("analyst", "neutral", "판단을 보류한다")],
        "v1",
        terms=["가격", "서비스"],
        atsa=[("가격", NEG, 0.8), ("서비스", POS, 0.6)],
    )
    point = found.rebuttal_points[0]
    assert point.mapping_confidence is Mapping.NONE
    assert point.mapping_fail_reason is MappingFailReason.NEUTRAL_STANCE
    assert found.aspect_hints == {}


@pytest.mark.parametrize("atsa", [[("가격", NEG, 0.8)], []], ids=["with-atsa", "ate-only"])
def test_h_04_neutral_stance_with_one_aspect(atsa: list[tuple[str, Polarity, float]]) -> None:
    found = context([said("analyst", "neutral", "보류")], "v1", terms=["가격"], atsa=atsa)
    assert found.rebuttal_points[0].mapping_confidence is Mapping.FALLBACK
    assert found.rebuttal_points[0].aspect_refs == ("가격",)
    assert pulls(found.aspect_hints["가격"]) == [(0.6, "neutral")]


def test_h_05_no_aspects() -> None:
    found = context([said("critic", "con", "나쁘다")], "v1")
    assert found.rebuttal_points[0].mapping_confidence is Mapping.NONE
    assert found.rebuttal_points[0].mapping_fail_reason is MappingFailReason.NO_ASPECTS
    assert found.mapping_fail_reasons.no_aspects == 1


def test_h_06_no_match() -> None:
    found = context([said("empath", "pro", "좋아요")], "v1", terms=["가격", "서비스"])
    assert found.rebuttal_points[0].mapping_confidence is Mapping.NONE
    assert found.rebuttal_points[0].mapping_fail_reason is MappingFailReason.NO_MATCH


def test_h_07_unknown_stance() -> None:
    found = context([said("m", "moderator", "가격")], "v1", terms=["가격"])
    assert pulls(found.aspect_hints["가격"]) == [(0.8, "neutral")]
    assert found.rebuttal_points[0].provenance_hint == "source:m/moderator"


def test_h_08_edits_and_patch_add_up() -> None:
    found = context(
        [
            DebateTurn(
                agent="EPM", proposed_edits=(edit("set_polarity", "피부톤", None, "positive"),)
            ),
            DebateTurn(agent="CJ", proposed_edits=(edit("confirm_tuple", "피부톤", "positive"),)),
        ],
        "v2",
        terms=["피부톤"],
        patch=[edit("confirm_tuple", "피부톤", "positive")],
    )
    hints = found.aspect_hints["피부톤"]
    assert pulls(hints) == [(0.5, "positive"), (0.5, "positive"), (0.8, "positive")]
    assert [hint.speaker for hint in hints] == ["EPM", "CJ", "CJ"]
    assert {hint.stance for hint in hints} == {"patch"}
    assert score_hints(hints, repair=False).pos == pytest.approx(1.8)


def test_h_09_dropping_argues_for_the_opposite() -> None:
    turn = DebateTurn(agent="TAN", proposed_edits=(edit("drop_tuple", "A", "positive"),))
    found = context([turn], "v2", terms=["A"])
    assert pulls(found.aspect_hints["A"]) == [(0.8, "negative")]


@pytest.mark.parametrize(
    ("mode", "expected", "margin"),
    [
        ("opposite", [(0.8, None), (0.8, "positive")], 0.8),
        ("negative", [(0.8, "negative"), (0.8, "positive")], 0.0),
    ],
    ids=["opposite", "negative"],
)
def test_h_10_dropping_a_neutral_duplicate(
    mode: DropMode, expected: list[tuple[float, str | None]], margin: float
) -> None:
    found = context(
        [],
        "v2",
        terms=["컨실러"],
        patch=[
            edit("drop_tuple", "컨실러", "neutral"),
            edit("confirm_tuple", "컨실러", "positive"),
        ],
        drop_mode=mode,
    )
    assert pulls(found.aspect_hints["컨실러"]) == expected
    assert score_hints(found.aspect_hints["컨실러"], repair=False).margin == pytest.approx(margin)


def test_h_11_naming_an_aspect_pulls_nowhere() -> None:
    turn = DebateTurn(agent="TAN", proposed_edits=(edit("set_aspect_ref", None, None, "컨실러"),))
    found = context([turn], "v2", terms=["컨실러"])
    assert pulls(found.aspect_hints["컨실러"]) == [(0.0, None)]


def test_h_12_turn_without_edits() -> None:
    found = context([DebateTurn(agent="TAN")], "v2", terms=["A", "B"])
    assert (found.rebuttal_points[0].weight, found.rebuttal_points[0].polarity_hint) == (0.0, None)
    assert found.rebuttal_points[0].provenance_hint == "source:TAN/patch"


def test_h_13_particle_is_stripped_and_span_shortened() -> None:
    given = AspectItem(term="가격은", span=Span(start=0, end=3))
    (kept,) = clean_aspects("가격은 비싸요", [given], KO).aspects
    assert (kept.term, kept.span) == ("가격", Span(start=0, end=2))


def test_h_14_coverage() -> None:
    figures = debate_metrics(
        [DebateScorecard(mapping_stats=MappingStats(direct=4, fallback=1, none=1))]
    )
    assert figures.debate_mapping_coverage == pytest.approx(0.8333, abs=5e-5)
    assert figures.debate_mapping_direct_rate == pytest.approx(0.6667, abs=5e-5)
    assert figures.debate_mapping_none_rate == pytest.approx(0.1667, abs=5e-5)


@pytest.mark.parametrize(
    ("op", "polarity", "value", "turn", "patch"),
    [
        ("set_polarity", None, "Negative", (0.5, "negative"), (0.8, "negative")),
        ("set_polarity", None, "mixed", (0.5, "mixed"), (0.8, "mixed")),
        ("confirm_tuple", "neutral", None, (0.5, "neutral"), (0.8, "neutral")),
        ("drop_tuple", None, None, (0.8, "positive"), (0.8, "positive")),
        ("drop_tuple", "mixed", None, (0.8, None), (0.8, None)),
        ("set_aspect_ref", None, "가격", (0.0, None), (0.0, None)),
        ("merge_tuples", "positive", None, (0.5, "positive"), (0.8, "positive")),
        ("merge_tuples", None, "negative", (0.5, "negative"), (0.8, "negative")),
        ("merge_tuples", None, "서비스", (0.0, None), (0.0, None)),
        ("split_tuple", "negative", None, (0.5, "negative"), (0.8, "negative")),
        ("split_tuple", None, None, (0.0, None), (0.0, None)),
    ],
)
def test_weights_of_edits(
    op: str,
    polarity: str | None,
    value: str | None,
    turn: tuple[float, str | None],
    patch: tuple[float, str | None],
) -> None:
    proposed = edit(op, "비용", polarity, value)
    found = context(
        [DebateTurn(agent="EPM", proposed_edits=(proposed,))],
        "v2",
        terms=["가격"],
        atsa=[("가격", NEG, 0.8)],
        patch=[proposed],
    )
    assert pulls(found.aspect_hints["가격"]) == [turn, patch]


def test_an_unknown_aspect_is_kept_raw_and_none_gives_no_hint() -> None:
    turn = DebateTurn(
        agent="EPM",
        proposed_edits=(
            edit("set_polarity", "포장", None, "positive"),
            edit("set_polarity", None, None, "positive"),
        ),
    )
    found = context([turn], "v2", terms=["가격", "배송"])
    assert list(found.aspect_hints) == ["포장"]


def test_turn_level_hints_fill_only_silent_aspects() -> None:
    turns = [
        DebateTurn(agent="EPM", proposed_edits=(edit("set_polarity", "가격", None, "positive"),)),
        DebateTurn(agent="TAN", stance="con", message="가격과 배송"),
    ]
    found = context(turns, "v2", terms=["가격", "배송"])
    assert pulls(found.aspect_hints["가격"]) == [(0.5, "positive")]
    assert pulls(found.aspect_hints["배송"]) == [(1.0, "negative")]
    assert found.aspect_hints["배송"][0].speaker == "TAN"


def test_synonyms_are_the_union_of_every_touching_list() -> None:
    index = aspect_index([AspectItem(term="맛과 가격")], [], KO)
    assert index.synonyms["맛과 가격"] == (
        *("가격", "비용", "가성비", "금액"),
        *("맛", "풍미", "향"),
    )


def test_of_two_terms_with_one_synonym_the_first_is_meant() -> None:
    index = aspect_index([AspectItem(term="가격"), AspectItem(term="가격대")], [], KO)
    assert index.term("비용이") == "가격"
    assert index.term("가격대는") == "가격대"
    assert index.term("포장") == "포장"
