"""Korean by morphology: clauses, negation, things that are there or missing, terms."""

import pytest

pytest.importorskip("kiwipiepy")

from parley.agents.absa.korean.reader import KoreanReader
from parley.agents.absa.reading import Look, Place
from tests.unit.agents.absa.conversation import first_stage


def look_at(text: str, term: str) -> Look:
    start = text.index(term)
    return KoreanReader(text).first_look([Place(start, start + len(term))])[0]


@pytest.mark.parametrize(
    ("text", "term", "polarity"),
    [
        ("화질이 좋아요.", "화질", "positive"),
        ("화질이 좋지 않아요.", "화질", "negative"),
        ("화질이 안 좋아요.", "화질", "negative"),
        ("화질이 나쁘지 않아요.", "화질", "positive"),
        ("화질이 좋지 않은 것은 아니에요.", "화질", "positive"),
        ("직원이 친절하지 못했어요.", "직원", "negative"),
        ("추천할 수 없는 맛이에요.", "맛", "negative"),
        ("소음이 없어요.", "소음", "positive"),
        ("소음이 심해요.", "소음", "negative"),
        ("효과가 없어요.", "효과", "negative"),
        ("배송에 문제가 없었어요.", "배송", "positive"),
        ("서비스는 흠잡을 데가 없어요.", "서비스", "positive"),
        ("가격이 더 저렴하면 좋겠어요.", "가격", "negative"),
        ("가격이 높아요.", "가격", "negative"),
        ("품질이 높아요.", "품질", "positive"),
        ("양이 많아요.", "양", "positive"),
        ("광고가 많아요.", "광고", "negative"),
        ("배송이 일주일이나 걸렸어요.", "배송", "negative"),
        ("배송이 하루 만에 왔어요.", "배송", "positive"),
        ("배터리가 오래 안 가요.", "배터리", "negative"),
        ("배송은 어제 출발했어요.", "배송", "neutral"),
        ("빠른 배송 감사합니다.", "배송", "positive"),
        ("맛이 좋은 식당이에요.", "맛", "positive"),
        ("배송 최고", "배송", "positive"),
        ("포장은 쉽게 찢어져요.", "포장", "negative"),
    ],
)
def test_polarity(text: str, term: str, polarity: str) -> None:
    assert look_at(text, term).polarity.value == polarity


def test_the_evidence_is_quoted_with_its_negation() -> None:
    text = "디자인이 예쁘지 않은 것은 아니지만 화면이 어둡다."
    evidence = look_at(text, "디자인").evidence
    assert evidence is not None
    assert evidence.doubly_negated
    assert "예쁘지 않은" in text[evidence.place.start : evidence.place.end]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("피부톤은 맑아졌는데 가격은 비싸요", ["피부톤", "가격"]),
        ("음식은 맛있는데 서비스가 별로예요.", ["음식", "서비스"]),
        ("이번 배송은 정말 빨랐어요.", ["배송"]),
        ("배터리 수명이 길어요.", ["배터리 수명"]),
        ("가격 대비 성능이 좋아요.", ["성능"]),
        ("디자인, 색상 다 마음에 들어요.", ["디자인", "색상"]),
        ("이 크림은 효과가 없어요.", ["효과"]),
        ("#배송 빨라요", ["배송"]),
        ("친구랑 어제 갔어요.", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert [item.term for item in first_stage(text).ate.aspects] == terms


def test_a_noun_that_ends_like_a_particle_keeps_its_ending() -> None:
    stage1 = first_stage("손잡이가 튼튼해요.", code="ko")
    item = stage1.ate.aspects[0]
    assert (item.term, item.normalized) == ("손잡이가", "손잡이")
    (sentiment,) = stage1.atsa.aspect_sentiments
    assert (sentiment.aspect_ref, sentiment.polarity) == ("손잡이", "positive")


def test_what_the_other_side_of_a_contrast_implies_is_left_to_the_second_look() -> None:
    text = "디자인은 예쁜데 마감이 좀 그래요."
    reader = KoreanReader(text)
    places = [Place(0, 3), Place(text.index("마감"), text.index("마감") + 2)]
    assert reader.first_look(places)[1].polarity.value == "neutral"
    second = reader.second_look(places)[1]
    assert second.polarity.value == "negative"
    assert second.implicit


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("배송은 빨랐지만 포장이 엉망이었어요.", {"CONTRAST"}),
        ("화질이 좋지 않아요.", {"NEGATION"}),
        ("배송 참 빠르네요, 3주 만에 왔어요.", {"IRONY"}),
        ("향이 좋아요.", set()),
    ],
)
def test_cues(text: str, kinds: set[str]) -> None:
    assert {cue.kind for cue in KoreanReader(text).cues} == kinds


@pytest.mark.parametrize(
    ("text", "term", "polarity"),
    [
        ("최고의 서비스였습니다.", "서비스", "positive"),
        ("정말 훌륭한 맛이에요.", "맛", "positive"),
        ("실망스러운 품질이네요.", "품질", "negative"),
        ("색상은 블랙입니다.", "색상", "neutral"),
    ],
)
def test_a_thing_named_by_the_copula(text: str, term: str, polarity: str) -> None:
    assert (term, polarity) in first_stage(text).tuples


def test_the_validator_speaks_the_language_of_the_review():
    stage = first_stage(
        "우리 자리에 나온 수프는 다 식어 있었지만 창가 쪽 직원은 저녁 내내 친절했다."
    )
    (risk,) = stage.validator.structural_risks
    assert risk.description == "수프: 다시 읽으면 부정"
    assert stage.validator.correction_proposals[0].rationale == risk.description
