"""What becomes of the fields a model filled in."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.model.form import filled_in
from parley.agents.model.question import Unusable
from parley.agents.model.verdict_forms import (
    Box,
    Given,
    LocalizeForm,
    OpeningForm,
    Quote,
    RoundForm,
    read_localization,
    read_opening,
    read_reply,
)
from parley.bus.contracts.facts import Failure
from parley.bus.contracts.verdicts import ResponseType, Verdict
from tests.model_server import GOOD, model_server
from tests.unit.model.asking import ROUND, answer

NOTHING = Given("", saw_image=False)


def opening(**fields):
    return OpeningForm.model_validate(GOOD | fields)


def reply(**fields):
    return read_reply(RoundForm.model_validate(GOOD | fields), ROUND, "noise", NOTHING)


@pytest.mark.parametrize(("said", "meant"), [(1.7, 1.0), (-3, 0.0), ("0.4", 0.4), (0.25, 0.25)])
def test_confidence_is_clamped(said, meant):
    assert read_opening(opening(confidence=said), NOTHING).confidence == meant
    assert reply(confidence=said).new_confidence == meant


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '"nan"', "null", '"high"'])
def test_no_number_is_no_confidence(text):
    body = json.dumps(GOOD | {"confidence": 0}).replace('"confidence": 0', f'"confidence": {text}')
    with pytest.raises(Unusable, match="confidence"):
        filled_in(OpeningForm, body)


@pytest.mark.parametrize("word", ["AI_GENERATED", " ai_generated ", "Ai_Generated"])
def test_verdicts_are_read_in_any_case(word):
    assert read_opening(opening(verdict=word), NOTHING).verdict is Verdict.AI_GENERATED


def test_an_unknown_verdict_keeps_the_previous_one():
    kept = reply(verdict="probably fake", verdict_changed=True)
    assert kept.new_verdict is None
    assert kept.verdict_changed is False
    assert kept.new_confidence == 0.9


def test_an_opening_has_no_previous_verdict_to_keep():
    with pytest.raises(Unusable, match="authentic, manipulated"):
        read_opening(opening(verdict="probably fake"), NOTHING)


def test_a_changed_verdict_is_a_change_whatever_the_flag_says():
    changed = reply(verdict="manipulated", verdict_changed=False, response_type="?")
    assert changed.verdict_changed is True
    assert changed.response_type is ResponseType.CONCESSION


@pytest.mark.parametrize("said", ["", "...", "string", " Your reasoning. ", "<text>", "n/a", "---"])
def test_a_form_that_says_nothing_is_not_filled_in(said):
    with pytest.raises(Unusable, match="says nothing"):
        read_opening(opening(reasoning=said), NOTHING)


@pytest.mark.parametrize("said", ["변조 흔적 뚜렷", "No grain."])
def test_a_short_reason_is_a_reason(said):
    assert read_opening(opening(reasoning=said), NOTHING).reasoning == said


def test_quotes_must_stand_in_what_was_given():
    quotes = [
        Quote(source="file", quote="Format:  IMAGE/png"),
        Quote(source="dream", quote="PRNU correlation 0.93"),
    ]
    read = Given("format: image/png\nfile size: 4", saw_image=False)
    assert read.checked(quotes) == {"file": "Format:  IMAGE/png"}
    seen = Given("format: image/png", saw_image=True)
    assert seen.checked(quotes)["seen: dream"] == "PRNU correlation 0.93"


def test_boxes_that_are_no_boxes_are_dropped():
    boxes = [
        Box(x=-4, y=2.6, width=10, height=10, score=7),
        Box(x=0, y=0, width=0, height=5, score=0.5),
        Box(x=1e300, y=0, width=5, height=5, score=0.5),
    ]
    (region,) = read_localization(LocalizeForm(summary="the sky", regions=boxes), NOTHING).regions
    assert (region.x, region.y, region.width, region.score) == (0, 3, 10, 1.0)


SEVERAL = json.dumps(GOOD | {"verdict": "authentic"}) + "\n" + json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [SEVERAL, "[]", "null", "42", '"authentic"', "verdict: authentic", "", "{}", '{"a": ' * 3000],
    ids=["several", "list", "null", "number", "string", "prose", "empty", "blank", "deep"],
)
async def test_nothing_but_one_object_is_an_answer(text):
    async with model_server(mind=lambda _body: text) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Failure)


def test_braces_in_strings_are_no_objects():
    text = json.dumps(GOOD | {"reasoning": 'the text "}{" and {"verdict": "authentic"} in it'})
    assert filled_in(OpeningForm, f"Well: {text[:-1]},}}").verdict == "ai_generated"


@given(st.text(max_size=300))
def test_any_text_is_either_a_form_or_unusable(text):
    with contextlib.suppress(Unusable):
        assert isinstance(filled_in(OpeningForm, text), OpeningForm)
