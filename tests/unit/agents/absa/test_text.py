"""Languages, sentences and offsets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.absa.text import (
    MAX_CHARACTERS,
    MAX_SENTENCE,
    detect_language,
    foreign_language,
    readable,
    resolve_language,
    segments,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The soup was good.", "en"),
        ("국물이 시원해요.", "ko"),
        ("iPhone 14 Pro 배터리 좋아요", "ko"),
        ("I ate bibimbap (비빔밥) at this lovely little restaurant", "en"),
        ("", "en"),
        ("😀😀😀", "en"),
        ("12345 !!!", "en"),
        ("ㅋㅋㅋㅋ", "ko"),
    ],
)
def test_language_is_told_by_the_share_of_hangul(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("code", "text", "language"),
    [
        ("ko", "배송 빨라요 very fast delivery by the courier company", "ko"),
        ("ko-KR", "맛있어요", "ko"),
        ("ko", "The soup was good.", "en"),
        ("en", "맛있어요", "ko"),
        ("auto", "맛있어요", "ko"),
        ("xx", "good", "en"),
    ],
)
def test_the_language_asked_for_wins_where_its_script_occurs(
    code: str, text: str, language: str
) -> None:
    assert resolve_language(code, text) == language


def test_each_sentence_has_its_own_language_and_place() -> None:
    text = "배송은 빨랐어요. But the packaging was terrible! 다시 살게요"
    found = list(segments(text))
    assert [segment.language for segment in found] == ["ko", "en", "ko"]
    assert all(text[s.start : s.start + len(s.text)] == s.text for s in found)


@given(st.text(max_size=3000))
@settings(max_examples=60, deadline=None)
def test_segments_are_stretches_of_the_text_in_order(text: str) -> None:
    end = 0
    for segment in segments(text):
        assert readable(text)[segment.start : segment.start + len(segment.text)] == segment.text
        assert segment.start >= end
        assert len(segment.text) <= MAX_SENTENCE
        end = segment.start + len(segment.text)


def test_only_so_much_is_read() -> None:
    found = list(segments("good. " * 50_000))
    assert found[-1].start + len(found[-1].text) <= MAX_CHARACTERS


def test_a_lone_surrogate_is_replaced_in_place() -> None:
    assert readable("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Suppe war kalt, aber der Kellner war sehr freundlich.", "German"),
        ("La soupe était froide mais le serveur était très gentil.", "French"),
        ("Суп был холодный.", "a language in another script"),
        ("The soup was cold, but the waiter was friendly.", None),
        ("음식은 맛있지만 서비스가 느려요.", None),
        ("Great!", None),
        ("", None),
    ],
)
def test_a_language_the_rules_do_not_read_is_recognised(text: str, language: str | None) -> None:
    assert foreign_language(text) == language
