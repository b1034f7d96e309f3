"""What becomes of the fields a model filled in."""

import contextlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.forensic.labels import Verdict
from parley.agents.llm.absa.ground import not_in_text
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import Unusable
from parley.agents.llm.schema import schema_of
from parley.agents.llm.verdicts.forms import (
    Box,
    Given,
    LocalizeForm,
    OpeningForm,
    Quote,
    RoundForm,
    opening_form,
    read_localization,
    read_opening,
    read_reply,
    round_form,
)
from parley.agents.llm.verdicts.questions import verdicts_of
from parley.bus.contracts.facts import Failure
from parley.bus.contracts.verdicts.content import Reply, ResponseType, Statement, brief_in
from tests.model_server import GOOD, Body, model_server
from tests.unit.agents.llm.asking import BRIEF, ROUND, answer

NOTHING = Given("", saw_image=False, verdicts=verdicts_of(brief_in(BRIEF)))


def opening(**fields):
    return OpeningForm.model_validate(GOOD | fields)


def reply(**fields):
    return read_reply(RoundForm.model_validate(GOOD | fields), ROUND, "noise", NOTHING)


@pytest.mark.parametrize(("said", "meant"), [("0.4", 0.4), (0.25, 0.25), (85, 0.85)])
def test_confidence_is_what_was_meant(said, meant):
    assert read_opening(opening(confidence=said), NOTHING).confidence == meant
    assert reply(confidence=said).new_confidence == meant


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '"nan"', "null", '"high"'])
def test_no_number_is_no_confidence(text):
    body = json.dumps(GOOD | {"confidence": 0}).replace('"confidence": 0', f'"confidence": {text}')
    with pytest.raises(Unusable, match="confidence"):
        filled_in(OpeningForm, body)


@pytest.mark.parametrize("word", ["AI_GENERATED", " ai_generated ", "Ai_Generated"])
def test_verdicts_are_read_in_any_case(word):
    assert read_opening(opening(verdict=word), NOTHING).verdict == Verdict.AI_GENERATED


@pytest.mark.parametrize("word", ["Request changes", "request-changes", "REQUEST_CHANGES"])
def test_a_verdict_is_one_of_the_panels(word):
    given = Given("", saw_image=False, verdicts=("reject", "request_changes", "unsure"))
    assert read_opening(opening(verdict=word), given).verdict == "request_changes"
    with pytest.raises(Unusable, match="should be one of reject, request_changes, unsure"):
        read_opening(opening(verdict="authentic"), given)


def test_the_schema_holds_the_panels_verdicts_and_is_made_once():
    labels = ("reject", "approve", "unsure")
    for make, form in ((opening_form, OpeningForm), (round_form, RoundForm)):
        assert make(labels) is make(labels)
        schema: Any = schema_of(make(labels))
        assert schema["properties"]["verdict"]["enum"] == list(labels)
        assert list(schema["properties"]) == list(form.model_fields)
    assert "enum" not in json.dumps(schema_of(opening_form(())))


def test_an_unknown_verdict_goes_back_and_keeps_the_previous_one():
    with pytest.raises(Unusable, match="one of manipulated, ai_generated, authentic") as refused:
        reply(verdict="probably fake", verdict_changed=True)
    kept = refused.value.rest
    assert isinstance(kept, Reply)
    assert kept.new_verdict is None
    assert kept.verdict_changed is False
    assert kept.new_confidence == 0.9


def test_an_opening_has_no_previous_verdict_to_keep():
    with pytest.raises(Unusable, match="manipulated, ai_generated, authentic, uncertain"):
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
    mistakes: list[str] = []
    read = Given("format: image/png\nfile size: 4", saw_image=False)
    assert read.checked(quotes, mistakes) == {"file": "format: image/png"}
    assert mistakes == [not_in_text("evidence", "PRNU correlation 0.93")]
    seen = Given("format: image/png", saw_image=True)
    assert seen.checked(quotes, [])["seen: dream"] == "PRNU correlation 0.93"


@pytest.mark.parametrize("quote", ["PRNU correlation 0.93", "e", "...", "string"])
async def test_an_invented_quote_goes_back_and_is_left_out_in_the_end(quote):
    invented = json.dumps(GOOD | {"evidence": [{"source": "dream", "quote": quote}]})
    async with model_server(mind=lambda _body: invented) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Statement)
    assert said.content.evidence == {}
    assert len(server.questions) == 3
    assert "- evidence: " in server.questions[1]["messages"][-1]["content"]


async def test_after_a_quote_of_the_example_the_question_is_asked_anew_without_it():
    """The example's quotes stand in no picture's measurements."""

    def copies_the_quote(body: Body) -> str:
        shown = re.search(r'"quote":"([^"]+)"', str(body["messages"]).replace("\\'", "'"))
        quotes = [{"source": "your measurements", "quote": shown[1]}] if shown else []
        return json.dumps(GOOD | {"evidence": quotes})

    async with model_server(mind=copies_the_quote) as server:
        said = await answer(server.url)
    assert isinstance(said.content, Statement)
    assert len(server.questions) == 2
    first, second = (str(one["messages"]) for one in server.questions)
    assert "suspect region" in first
    assert "suspect region" not in second


def test_arguments_that_are_placeholders_are_left_out():
    read = read_opening(opening(arguments=["string", "TODO", "no grain", ""]), NOTHING)
    assert read.arguments == ("no grain",)


@pytest.mark.parametrize(("said", "meant"), [(0, 0.0), (1, 1.0), (85, 0.85), (100, 1.0)])
def test_a_confidence_in_percent_is_understood(said, meant):
    text = json.dumps(GOOD | {"confidence": said})
    assert filled_in(OpeningForm, text).confidence == pytest.approx(meant)


@pytest.mark.parametrize("said", [-0.1, 1.2, 7, 9.5, 101])
def test_a_confidence_on_another_scale_goes_back(said):
    with pytest.raises(Unusable, match=r"confidence: .*should be from 0 to 1"):
        filled_in(OpeningForm, json.dumps(GOOD | {"confidence": said}))


def test_boxes_that_are_no_boxes_are_dropped():
    boxes = [
        Box(x=-4, y=2.6, width=10, height=10, score=0.7),
        Box(x=0, y=0, width=0, height=5, score=0.5),
        Box(x=1e300, y=0, width=5, height=5, score=0.5),
    ]
    (region,) = read_localization(LocalizeForm(summary="the sky", regions=boxes), NOTHING).regions
    assert (region.x, region.y, region.width, region.score) == (0, 3, 10, 0.7)


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
