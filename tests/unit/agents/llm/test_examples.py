"""The examples in the instructions: each fills in its form, in either language, and fits small models."""

import json
import re
from typing import Any

import pytest

from parley.agents.llm.absa import judge_forms as absa_judge_forms
from parley.agents.llm.absa import review_forms as absa_review_forms
from parley.agents.llm.absa import stage1_forms as absa_stage1_forms
from parley.agents.llm.absa import turn_forms as absa_turn_forms
from parley.agents.llm.deliberation import forms as deliberation_forms
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import Prompt
from parley.agents.llm.schema import schema_of
from parley.agents.llm.verdicts import forms as verdict_forms
from parley.agents.llm.verdicts import report
from parley.prompts import instructions

FORMS = {
    ("absa", "ate"): absa_stage1_forms.AteForm,
    ("absa", "atsa"): absa_stage1_forms.AtsaForm,
    ("absa", "validator"): absa_stage1_forms.ValidatorForm,
    ("absa", "v1/debate_speaker"): absa_turn_forms.TurnV1Form,
    ("absa", "v2/debate_speaker"): absa_turn_forms.TurnV2Form,
    ("absa", "v1/debate_judge"): absa_judge_forms.JudgeV1Form,
    ("absa", "v2/debate_judge"): absa_judge_forms.JudgeV2Form,
    ("absa", "review_ate"): absa_review_forms.AteReviewForm,
    ("absa", "review_atsa"): absa_review_forms.AtsaReviewForm,
    ("absa", "review_validator"): absa_review_forms.FinalValidationForm,
    ("deliberation", "debater"): deliberation_forms.DebaterForm,
    ("deliberation", "score"): deliberation_forms.ScoreForm,
    ("deliberation", "axes"): deliberation_forms.AxesForm,
    ("deliberation", "force"): deliberation_forms.ForceForm,
    ("deliberation", "sense"): deliberation_forms.SenseForm,
    ("deliberation", "judge"): deliberation_forms.SummaryForm,
    ("verdicts", "opening"): verdict_forms.OpeningForm,
    ("verdicts", "round"): verdict_forms.RoundForm,
    ("verdicts", "ruling"): verdict_forms.RulingForm,
    ("verdicts", "dissent"): verdict_forms.RulingForm,
    ("forensic", "opening"): verdict_forms.OpeningForm,
    ("forensic", "round"): verdict_forms.RoundForm,
    ("forensic", "localize"): verdict_forms.LocalizeForm,
    ("forensic", "report"): report.ReportForm,
    ("verdicts", "localize"): verdict_forms.LocalizeForm,
    ("verdicts", "report"): report.ReportForm,
}
each_form = pytest.mark.parametrize(
    ("where", "form"), FORMS.items(), ids=["-".join(where) for where in FORMS]
)
# About a thousand tokens; a small model's window has to hold the debate as well.
LONGEST = 2600


def example_in(text):
    (line,) = (line for line in text.splitlines() if line.startswith('{"'))
    return line


@pytest.mark.parametrize("where", FORMS, ids="-".join)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_but_the_example_is_left_out_where_it_was_copied(where, language):
    panel, role = where
    text = instructions(panel, role, language)
    announced, example = text[: text.index(example_in(text))].splitlines()[-1], example_in(text)
    prompt = Prompt(text, "[PERSONA]\n{}").without_example()
    assert prompt.user == "[PERSONA]\n{}"
    left = text.splitlines()
    left.remove(announced)
    left.remove(example)
    assert [line for line in prompt.system.splitlines() if line] == [line for line in left if line]


@each_form
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_example_is_a_filled_in_form(where, form, language):
    panel, role = where
    text = instructions(panel, role, language)
    example = example_in(text)
    assert list(json.loads(example)) == list(form.model_fields)
    filled_in(form, example)
    assert len(text) <= LONGEST
    assert bool(re.search("[가-힣]", text)) == (language == "ko")


@each_form
def test_strict_endpoints_get_every_field_and_no_bounds(where, form):
    del where
    schema: Any = schema_of(form)
    text = json.dumps(schema)
    assert "maxLength" not in text
    assert "maxItems" not in text
    assert "anyOf" not in text
    for node in (schema, *schema.get("$defs", {}).values()):
        assert node["required"] == list(node["properties"])
        assert node["additionalProperties"] is False


@each_form
def test_endpoints_that_can_keep_a_model_short_are_told_to(where, form):
    del where
    bounded: Any = schema_of(form, bounded=True)
    fields = [
        field
        for node in (bounded, *bounded.get("$defs", {}).values())
        for field in node["properties"].values()
    ]
    for field in fields:
        if field.get("type") == "string":
            assert "maxLength" in field or "enum" in field
        if field.get("type") == "array":
            assert field["maxItems"] <= 12
