"""Examples of one's own for personas of aspects and deliberations, from a file beside the panels."""

import json

import pytest

from parley.agents.llm.absa.questions import AbsaQuestions
from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.deliberation.questions import DeliberationQuestions
from parley.agents.llm.question import Abilities
from parley.console.runtime.prompt_files import prompt_mistakes, unused_prompts
from parley.prompts import PromptFolders
from tests.model_minds import ENGLISH, sensible
from tests.model_server import model_server
from tests.unit.agents.llm.asking import settings
from tests.unit.agents.llm.panels import (
    QUESTION,
    absa_requests,
    deliberation_requests,
    task,
)
from tests.unit.console.calling import Call

ASPECTS = """
- input: The tea was weak.
  answer: {aspects: [{term: tea, confidence: 0.9}], note: The tea is judged.}
- input: The tea was weak, after TAN spoke.
  answer: {aspect_review: [{term: tea, action: keep, new_term: "", reason: It is judged.}]}
"""
THOUGHT = """
- input: Should the mill close?
  answer: {position: keep the mill, confidence: 0.7}
"""


def given(folder, panel, language, persona, text):
    path = folder / "prompts" / panel / language / f"{persona}.examples.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def system_of(folder, panel, who, request, text):
    own = folder / "prompts"
    questions = {
        "absa": AbsaQuestions(PromptFolders("absa", own)),
        "deliberation": DeliberationQuestions(None, PromptFolders("deliberation", own)),
    }[panel]
    asked = await questions.ask(task(panel, who, request, text), Abilities())
    return asked.prompt.system


@pytest.mark.parametrize(
    ("step", "told", "untold"),
    [
        ("s1-ate", "input: The tea was weak.\n", "after TAN spoke"),
        ("s2-ate", "input: The tea was weak, after TAN spoke.\n", '"aspects": ['),
        ("s1-atsa", "", "[EXAMPLES]"),
    ],
)
async def test_an_ask_about_aspects_is_shown_the_examples_of_its_own_form(
    tmp_path, step, told, untold
):
    given(tmp_path, "absa", "en", "ate", ASPECTS)
    who, request = absa_requests("fine")[step]
    system = await system_of(tmp_path, "absa", who, request, ENGLISH)
    assert told in system
    assert untold not in system


@pytest.mark.parametrize(("step", "there"), [("think", True), ("propose", True), ("score", False)])
async def test_a_debater_is_shown_examples(tmp_path, step, there):
    given(tmp_path, "deliberation", "en", "critic", THOUGHT)
    who, request = deliberation_requests("fine")[step]
    system = await system_of(tmp_path, "deliberation", who, request, QUESTION)
    assert system.endswith('answer: {"position": "keep the mill", "confidence": 0.7}') is there


async def test_examples_of_another_language_are_left_out(tmp_path):
    given(tmp_path, "absa", "en", "ate", ASPECTS)
    who, request = absa_requests("fine", language="ko")["s1-ate"]
    assert "[EXAMPLES]" not in await system_of(tmp_path, "absa", who, request, ENGLISH)


async def test_they_reach_the_model(tmp_path):
    given(tmp_path, "absa", "en", "ate", ASPECTS)
    questions = AbsaQuestions(PromptFolders("absa", tmp_path / "prompts"))
    who, request = absa_requests("fine")["s1-ate"]
    async with (
        model_server(mind=sensible()) as server,
        open_model_brain(settings(server.url), [("absa", who)], [questions]) as brain,
    ):
        await brain.speak(task("absa", who, request, ENGLISH))
    asked = [one for one in server.questions if ENGLISH in json.dumps(one, ensure_ascii=False)]
    assert "input: The tea was weak.\n" in asked[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "- {input: x, answer: {verdict: good}}",
            "0.answer: no persona is asked for all of verdict",
        ),
        ("- input: [", "no YAML"),
        ("- {input: x}", "0.answer: Field required"),
    ],
)
@pytest.mark.parametrize("panel", ["absa", "deliberation"])
def test_what_no_ask_can_use_is_a_mistake_that_names_the_file(tmp_path, panel, text, problem):
    path = given(tmp_path, panel, "en", "judge", text)
    (mistake,) = prompt_mistakes(panel, panel, tmp_path)
    assert mistake.startswith(f"{path}: {problem}")


def test_a_file_for_nobody_is_named(tmp_path):
    path = given(tmp_path, "absa", "en", "aet", ASPECTS)
    (note,) = unused_prompts("absa", "absa", ["ate", "atsa"], tmp_path)
    assert note.startswith(f"{path}: will not be read")


def test_the_command_shows_and_checks_them(parley: Call, tmp_path):
    path = given(
        tmp_path, "absa", "ko", "ate", ASPECTS.replace("The tea was weak.", "차가 묽어요.")
    )
    shown = parley(
        *("prompts", "show", "absa/ate", "--input", "음식은 맛있어요."),
        *("--panels", str(tmp_path)),
    )
    assert "입력: 차가 묽어요." in shown.out
    path = given(tmp_path, "absa", "ko", "atsa", "- {input: x, answer: {verdict: good}}")
    refused = parley("prompts", "lint", "absa", "--panels", str(tmp_path))
    assert refused.code == 2
    assert str(path) in refused.err
