"""Texts nobody reviews with: every persona and the whole pipeline still answer, and in time."""

import time

import pytest

from parley.agents.absa.brain import think
from parley.agents.absa.skill import answer
from parley.agents.absa.text import MAX_CHARACTERS, readable
from parley.bus.contracts.absa.debate import Protocol
from parley.bus.contracts.absa.record import FinalOutput
from parley.bus.contracts.absa.requests import AteRequest
from parley.bus.contracts.absa.sentiment import AteOutput
from parley.bus.contracts.facts import Status
from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.console.runtime.rehearsal import play_with
from parley.coordinator.protocols.absa.output.integrity import RecordView, check_record
from parley.coordinator.protocols.absa.result import record_of
from tests.absa_debates import panel
from tests.unit.agents.absa.conversation import first_stage, talk

MIXED = "배터리 life is terrible 하지만 the camera는 정말 좋아요."
ODD = {
    "empty": "",
    "blanks": " \t\n\u3000 ",
    "emoji": "😀😡👍🏽👨‍👩‍👧‍👦🇰🇷",
    "emoji and words": "😡 The soup was cold 😡 서비스는 최악 👎",
    "mixed languages": MIXED,
    "control characters": "The\x00 soup\x07 was\x1b[31m cold\x7f but\u0085 the staff\u2028was kind.",
    "right to left": "الطعام لذيذ لكن الخدمة بطيئة. \u202eThe soup was great\u202c but \u200fthe waiter was rude.",
    "combining marks": "The so\u0301u\u0308p was gre\u0301at but the p\u0300rice was awf\u0327ul.",
    "jamo": "ㅋㅋㅋㅋ 음식 ㅠㅠ ㄹㅇ 별로 ㅡㅡ",
    "punctuation": "!!!???...,,,---((([[[",
    "digits": "10/10 99% 3.5 1,000",
    "one letter": "x",
    "markup": "<b>The soup</b> was {{bad}} & the 'wine' \\n \"good\"",
}


def pipeline(text: str, protocol: Protocol = "v2", lang: str = "ko") -> FinalOutput:
    chosen = panel(f"debate.protocol={protocol}", lang=lang)
    state = play_with(
        chosen, DebateInput(text=text), lambda persona, request: think(persona, request, text)
    )
    assert state.closed is not None
    assert state.closed.status is Status.COMPLETED, state.closed.reason
    record = record_of(DebateRef("absa", "odd"), state)
    assert record is not None
    return record


@pytest.mark.parametrize("protocol", ["v1", "v2"])
@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
def test_every_persona_answers_and_the_record_holds(text: str, protocol: Protocol) -> None:
    for lang in ("ko", "en"):
        record = pipeline(text, protocol, lang)
        assert check_record(RecordView.model_validate(record.model_dump(by_alias=True))).passed
        for item in record.final_result.final_aspects:
            assert item.key in text
        assert record.model_dump_json() == pipeline(text, protocol, lang).model_dump_json()


@pytest.mark.parametrize("name", ["empty", "blanks", "emoji", "punctuation", "digits"])
def test_a_text_that_speaks_of_nothing_ends_neutral_and_without_tuples(name: str) -> None:
    record = pipeline(ODD[name])
    assert record.final_result.final_tuples == ()
    assert (record.final_result.label, record.final_result.confidence) == ("neutral", 0.0)
    assert record.moderator.applied_rules == ("RuleZ",)


def test_terms_keep_their_exact_place_among_odd_characters() -> None:
    for name in ("control characters", "right to left", "emoji and words", "mixed languages"):
        text = ODD[name]
        aspects = first_stage(text).ate.aspects
        assert aspects, name
        for item in aspects:
            assert item.span is not None
            assert text[item.span.start : item.span.end] == item.term, name


def test_both_languages_of_a_mixed_review_are_read() -> None:
    found = {term for term, _ in first_stage(ODD["emoji and words"]).tuples}
    assert "서비스" in found


def test_a_lone_surrogate_changes_no_place() -> None:
    """Readers of files and of the command line replace them; a brain may still be handed one."""
    text = "The \ud800soup was cold but the \udfffstaff was kind."
    answered = answer(text, "ate", AteRequest(language_code="en"))
    assert isinstance(answered, AteOutput)
    plain = answer(readable(text), "ate", AteRequest(language_code="en"))
    assert isinstance(plain, AteOutput)
    assert [item.span for item in answered.aspects] == [item.span for item in plain.aspects]
    record = pipeline(readable(text), lang="en")
    assert {item.key for item in record.final_result.final_tuples} == {"soup", "staff"}


LONG = {
    "sentences": "The soup was cold but the staff was kind. " * 2_400,
    "korean sentences": "음식은 맛있지만 서비스는 정말 느려요. " * 4_500,
    "one word": "a" * 100_000,
    "one korean word": "가" * 100_000,
    "one sentence": "the soup and " * 7_700,
    "negations": "not " * 25_000,
    "commas": "," * 100_000,
    "newlines": "x\n" * 50_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
def test_a_hundred_thousand_characters_take_bounded_time(text: str) -> None:
    assert len(text) >= 99_000
    began = time.process_time()
    stage1 = first_stage(text)
    assert time.process_time() - began < 20.0
    for item in stage1.ate.aspects:
        assert item.span is not None
        assert item.span.end <= MAX_CHARACTERS


def test_the_whole_pipeline_takes_a_long_review() -> None:
    record = pipeline(LONG["sentences"], lang="en")
    assert {item.key for item in record.final_result.final_tuples} == {"soup", "staff"}


def test_talking_of_nothing_changes_nothing() -> None:
    conversation = talk("")
    assert conversation.tuples == set()
    assert all(not turn.proposed_edits for turn in conversation.turns)
