"""The manager's report by a model: words about a decision that it cannot touch."""

import json
import re

import pytest

from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.question import Abilities, Unusable
from parley.agents.llm.verdicts.questions import VerdictQuestions
from parley.agents.llm.verdicts.report import ReportForm, read_report
from parley.bus.contracts.verdicts.content import Report, Standing
from parley.prompts import instructions, words
from tests.model_minds import form_of, prompt_of
from tests.model_server import GOOD, model_server
from tests.unit.agents.llm.asking import PNG, settings
from tests.unit.agents.llm.asking import task as verdict_task
from tests.unit.agents.llm.panels import forensic_requests

(PERSONA, REQUEST) = forensic_requests("even grain in every corner")["report"]
SUMMARY = "Two methods contradict each other, so a foreign part is suspected."
DECIDED = {"verdict": "manipulated", "summary": SUMMARY}
STANDING = (
    Standing(
        agent="noise",
        verdict="authentic",
        confidence=0.9,
        reasoning='The "grain" is even,\nin every corner.',
        evidence={"prnu": {"correlation": 0.93, "notes": ["센서 노이즈가 고르다"]}},
        arguments=("No block stands out",),
    ),
)


def asked(language="en", persona=PERSONA, panel="forensic", **options):
    given = verdict_task(REQUEST, persona=persona, step="report", **options)
    given = given._replace(ref=given.ref._replace(panel=panel))
    return VerdictQuestions().ask(given, Abilities(vision=True, language=language))


def read(*quotes, summary=SUMMARY, verdict="manipulated", standing=STANDING):
    form = ReportForm(verdict=verdict, summary=summary, key_evidence=list(quotes))
    request = REQUEST.model_copy(update={"standing": standing})
    return read_report(form, request, instructions("verdicts", "report", "en"))


async def spoken(*answers):
    """What comes of a model that gives these answers in turn, and how often it was called."""
    turns = iter(answers)

    def mind(body):
        return json.dumps({"ready": True} if form_of(body) == "trial" else next(turns))

    async with (
        model_server(mind=mind) as server,
        open_model_brain(
            settings(server.url), [("forensic", PERSONA)], [VerdictQuestions()]
        ) as brain,
    ):
        answer = await brain.speak(verdict_task(REQUEST, persona=PERSONA, step="report"))
    return answer, [body for body in server.calls if form_of(body) != "trial"]


@pytest.mark.parametrize("language", ["en", "ko"])
async def test_the_manager_is_told_the_decision_and_the_statements(language):
    prompt = (await asked(language)).prompt
    assert bool(re.search("[가-힣]", prompt.system + prompt.user)) == (language == "ko")
    told = words(language)
    assert told["decided"].format(verdict="manipulated", confidence="0.70") in prompt.user
    sources = (told["deciding_rules"], "noise", told["region"].format(agent="spatial"))
    for source in sources:
        assert f'<untrusted from="{source}"' in prompt.user
    assert instructions("forensic", "manager", language) in prompt.system
    assert instructions("forensic", "reporting", language) in prompt.system
    assert prompt.user.index("[TASK]") < prompt.user.index("[DEBATE]")


async def test_a_manager_of_another_panel_has_a_role_too():
    prompt = (await asked(persona="chair", panel="paintings")).prompt
    assert "You speak as `chair`." in prompt.system
    assert instructions("verdicts", "manager", "en") in prompt.system


async def test_who_reports_is_not_shown_the_image():
    assert (await asked(text="", image=PNG)).prompt.images == ()


def test_a_report_of_another_verdict_is_none():
    with pytest.raises(Unusable, match="manipulated was decided") as refused:
        read(verdict="authentic", summary="The image is authentic beyond any doubt.")
    assert refused.value.rest is None


@pytest.mark.parametrize(
    ("quote", "kept"),
    [
        ("no block  STANDS out.", "No block stands out"),
        ('The "grain" is even, in every corner', 'The "grain" is even,\nin every corner'),
        ("센서 노이즈가 고르다", "센서 노이즈가 고르다"),
        ('"correlation": 0.93', '"correlation": 0.93'),
    ],
)
def test_quotes_are_kept_in_the_wording_of_the_statements(quote, kept):
    assert read(quote).key_evidence == (kept,)


def test_a_quote_of_a_text_full_of_holes_is_cut():
    text = f"an even{' ' * 5000}grain"
    holes = Standing(agent="noise", verdict="authentic", confidence=0.9, reasoning=text)
    (quote,) = read("an even grain", standing=(holes,)).key_evidence
    assert text.startswith(quote)


def test_the_same_quote_stands_once():
    assert read("No block stands out", "no block stands out").key_evidence == (
        "No block stands out",
    )


@pytest.mark.parametrize("quote", ["PRNU correlation 0.99", "", "a", "suspect region: x=40"])
def test_a_quote_of_nobody_goes_back_and_is_left_out(quote):
    with pytest.raises(Unusable, match="key_evidence") as refused:
        read("No block stands out", quote)
    assert refused.value.rest == Report(summary=SUMMARY, key_evidence=("No block stands out",))


@pytest.mark.parametrize("summary", ["", "...", "string"])
def test_a_report_that_says_nothing_is_none(summary):
    with pytest.raises(Unusable, match="summary") as refused:
        read(summary=summary)
    assert refused.value.rest is None


def test_the_example_is_no_report():
    text = instructions("verdicts", "report", "en")
    (line,) = (line for line in text.splitlines() if line.startswith('{"'))
    with pytest.raises(Unusable, match="copied from the example"):
        read(summary=json.loads(line)["summary"])


async def test_a_model_reports():
    said = GOOD | DECIDED | {"key_evidence": ["a hard edge"], "confidence": 1.0}
    answer, calls = await spoken(said)
    assert answer.content == Report(summary=SUMMARY, key_evidence=("a hard edge",))
    assert answer.usage.model_calls == len(calls) == 1
    (schema,) = (body["response_format"]["json_schema"]["schema"] for body in calls)
    assert list(schema["properties"]) == ["verdict", "summary", "key_evidence"]


async def test_an_invented_quote_is_asked_for_again():
    invented = DECIDED | {"key_evidence": ["the shadows fall to the left"]}
    mended = DECIDED | {"key_evidence": ["a hard edge"]}
    answer, calls = await spoken(invented, mended)
    assert answer.content == Report(summary=SUMMARY, key_evidence=("a hard edge",))
    assert len(calls) == 2
    assert '"the shadows fall to the left" stands in no statement' in prompt_of(calls[1])


async def test_an_invented_quote_that_stays_is_left_out():
    invented = DECIDED | {"key_evidence": ["the shadows fall to the left"]}
    answer, _ = await spoken(*[invented] * 9)
    assert answer.content == Report(summary=SUMMARY)


async def test_words_without_a_form_are_no_report():
    answer, _ = await spoken(*["The verdict is authentic after all."] * 9)
    assert answer.content.kind == "failure"
