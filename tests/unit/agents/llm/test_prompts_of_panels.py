"""`parley prompts show` for every panel, persona and step; nothing but what would be sent."""

import json
import re

import anyio.to_thread
import pytest

from parley.agents.absa.text import detect_language
from parley.agents.llm.brain import open_model_brain
from parley.agents.llm.question import Abilities
from parley.bus.contracts.absa.requests import AteRequest
from parley.bus.contracts.deliberation.content import DeliberateRequest
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.errors import NotFound
from parley.configs.debaters import in_language
from parley.configs.panels import panel_path, read_panel, resolve
from tests.model_minds import ENGLISH, KOREAN, form_of, sensible
from tests.model_server import model_server
from tests.unit.agents.llm.asking import settings
from tests.unit.agents.llm.panels import QUESTION, QUESTIONS, absa_requests, family_of, task
from tests.unit.console.calling import Call

INPUTS = {"forensic": "a photo", "absa": ENGLISH, "deliberation": QUESTION}
SEATS = [
    (panel, persona) for panel in INPUTS for persona in read_panel(panel_path(panel))[0].everybody
]
PERSONAS = {one.name: one for one in read_panel(panel_path("deliberation"))[0].personas}
DEBATING = ("analyst", "critic", "empath")
LIBRARY = panel_path("deliberation").parents[1] / "questions" / "library.yaml"


def shown(parley, who, *more, given=None):
    arguments = ("prompts", "show", who, "--input", given or INPUTS[who.partition("/")[0]])
    called = parley(*arguments, *more)
    assert (called.code, called.err) == (0, "")
    return called.out


@pytest.mark.parametrize(("panel", "persona"), SEATS, ids=["-".join(seat) for seat in SEATS])
def test_every_persona_can_be_shown(parley: Call, panel, persona):
    out = shown(parley, f"{panel}/{persona}")
    assert out.startswith("--- system ---\n")
    assert fenced_source(panel) in out
    assert INPUTS[panel] in out


def fenced_source(panel):
    sources = {"forensic": "whoever submitted the debate", "absa": "the review"}
    return f'<untrusted from="{sources.get(panel, "whoever asked")}"'


STEPS = {
    "absa/ate": {"s1-ate": "ate", "s2": "review_ate"},
    "absa/atsa": {"s1-atsa": "atsa", "s2": "review_atsa"},
    "absa/validator": {"s1-validator": "validator", "s2": "final_validation"},
    "absa/empath": {"d1-empath": "turn_v1", "d2-empath": "turn_v1"},
    "absa/cj": {"d1-cj": "turn_v2"},
    "absa/judge": {"judge": "judge_v2"},
    "deliberation/critic": {"think-1": "debater", "think-7": "debater"},
    "deliberation/facilitator": {"axes-1": "axes", "force-1": "force", "sense-8": "sense"},
    "deliberation/judge": {"judge": "summary"},
    "forensic/manager": {"report": "report"},
}


@pytest.mark.parametrize(
    ("who", "step", "form"),
    [(who, step, form) for who, steps in STEPS.items() for step, form in steps.items()],
)
def test_each_thing_a_persona_is_asked_has_its_form(parley: Call, who, step, form):
    body = json.loads(shown(parley, who, "--step", step, "--json"))
    assert form_of(body) == form


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (("absa/judge", "--protocol", "v1"), "judge_v1"),
        (("deliberation/critic", "--regime", "L2"), "proposer"),
        (("deliberation/critic", "--regime", "L2", "--step", "score-1"), "score"),
    ],
)
def test_the_options_of_a_run_count(parley: Call, arguments, form):
    assert form_of(json.loads(shown(parley, *arguments, "--json"))) == form


def test_a_wrong_step_names_the_right_ones(parley: Call):
    called = parley("prompts", "show", "absa/ate", "--input", ENGLISH, "--step", "s3")
    assert called.code == 2
    assert "unknown step 's3'" in called.err
    assert "s1-ate" in called.err
    assert "s2" in called.err


def test_the_rules_tell_what_was_said_before(parley: Call):
    out = shown(parley, "absa/cj")
    assert '- EPM: confirm_tuple target={"aspect_ref":"food","polarity":"positive"}' in out
    tags = [line for line in out.splitlines() if line.startswith("[") and line.endswith("]")]
    assert tags == ["[PERSONA]", "[TOPIC]", "[SHARED_CONTEXT_JSON]", "[HISTORY]"]


def test_a_question_file_is_material(parley: Call):
    out = shown(parley, "deliberation/analyst", "--step", "think-2", given=LIBRARY)
    assert "[MATERIAL]" in out
    assert "criteria:" in out
    assert "(what analyst says)" not in out
    # The question stands above the material, once, and figures are told as people say them.
    (asked,) = re.findall(r"\[QUESTION\]\n<[^>]+>\n(.+)\n", out)
    assert out.count(asked) == 1
    assert not re.search(r"\d\.\d{3}", out.partition("[STATE_JSON]")[2])


@pytest.mark.parametrize(
    ("who", "given", "korean"),
    [
        ("absa/ate", KOREAN, True),
        ("absa/ate", ENGLISH, False),
        ("deliberation/facilitator", "도서관을 밤에 열까?", True),
        ("deliberation/facilitator", QUESTION, False),
    ],
)
def test_a_text_is_asked_about_in_its_own_language(parley: Call, monkeypatch, who, given, korean):
    monkeypatch.setenv("PARLEY_MODEL__LANGUAGE", "en" if korean else "ko")
    assert ("당신은" in shown(parley, who, "--lang", "auto", given=given)) == korean


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("who", ["forensic/noise", "absa/ate", "deliberation/critic"])
@pytest.mark.parametrize("given", [ENGLISH, KOREAN], ids=["english", "korean"])
def test_a_language_is_chosen_for_every_panel(parley: Call, monkeypatch, who, given, language):
    monkeypatch.setenv("PARLEY_MODEL__LANGUAGE", "en" if language == "ko" else "ko")
    out = shown(parley, who, "--lang", language, given=given)
    assert ("당신은" in out) == (language == "ko")


@pytest.mark.parametrize("persona", DEBATING)
def test_a_debater_knows_itself_in_the_language_of_the_prompt(parley: Call, persona):
    korean, english = (
        json.loads(out.partition("[PERSONA]\n")[2].partition("\n")[0])
        for out in (
            shown(parley, f"deliberation/{persona}", given="도서관을 밤에 열까?"),
            shown(parley, f"deliberation/{persona}"),
        )
    )
    assert english == PERSONAS[persona].model_dump(exclude_none=True)
    same = {key: english[key] for key in ("name", "stance")}
    assert {key: korean[key] for key in same} == same
    for key in english.keys() - same:
        assert detect_language(korean[key]) == "ko", key


def test_everybody_on_the_panel_has_korean_words():
    for persona in PERSONAS.values():
        korean = in_language(persona, "ko-KR")
        assert detect_language(f"{korean.role} {korean.speciality}") == "ko"


def test_a_persona_of_ones_own_keeps_its_words():
    own = PERSONAS["critic"].model_copy(update={"goal": "Count the cost."})
    assert in_language(own, "ko") == own
    assert in_language(PERSONAS["critic"], "fr") == PERSONAS["critic"]


@pytest.mark.parametrize(
    ("who", "request_", "text"),
    [
        ("absa/ate", AteRequest(language_code="en"), ENGLISH),
        ("deliberation/critic", None, QUESTION),
    ],
)
async def test_what_is_shown_is_what_is_sent(parley: Call, monkeypatch, who, request_, text):
    """Word for word the body of the call."""
    monkeypatch.setenv("PARLEY_MODEL__NAME", "m")
    panel, _, persona = who.partition("/")
    if request_ is None:
        chosen = resolve("deliberation", "default", []).panel
        assert isinstance(chosen, DeliberationPanel)
        request_ = DeliberateRequest(
            iteration=1, theta=chosen.params.theta, personas=chosen.debaters
        )
    async with (
        model_server(mind=sensible()) as server,
        open_model_brain(settings(server.url), [(panel, persona)], QUESTIONS) as brain,
    ):
        answer = await brain.speak(task(panel, persona, request_, text))
    assert answer.content.kind != "failure"
    out = await anyio.to_thread.run_sync(lambda: shown(parley, who, "--json"))
    assert json.loads(out.splitlines()[-1]) == server.calls[-1]


async def test_what_stays_the_same_comes_first():
    """The persona, the topic and the context of a debate are one prefix for all its rounds."""
    persona, request = absa_requests("said")["turn-v2"]
    first = request.model_copy(update={"history": ()})
    prompts = [
        (await family_of(one).ask(task("absa", persona, one, ENGLISH), Abilities())).prompt
        for one in (first, request)
    ]
    assert prompts[0].system == prompts[1].system
    prefix = prompts[0].user.partition("[HISTORY]")[0]
    assert prompts[1].user.startswith(prefix)
    assert ENGLISH in prefix


@pytest.mark.parametrize("panel", ["absa", "deliberation"])
async def test_a_debate_about_nothing_is_not_asked(panel):
    request = (
        AteRequest() if panel == "absa" else DeliberateRequest(iteration=1, theta="L3", personas=())
    )
    with pytest.raises(NotFound):
        await family_of(request).ask(task(panel, "ate", request, " \n"), Abilities())
