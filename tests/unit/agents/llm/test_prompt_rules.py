"""Every prompt of every panel, in both languages and for every role, held to the rules."""

from dataclasses import replace

import pytest

from parley.agents.llm.prompt_rules import faults
from parley.agents.llm.question import Prompt
from parley.agents.llm.untrusted import fenced
from parley.bus.contracts.deliberation.content import RegimeReason
from parley.configs.panels import panel_paths
from parley.console.runtime.prompt_lint import rendered
from parley.prompts import LANGUAGES, SHIPPED, words

# What is not said to a persona: the trial of a connection, and what goes back with its mistakes.
ENGLISH_ONLY = {"trial.md", "again.md", "__init__.py"}
TOPIC = "The soup was cold, but the waiter was friendly to everybody at our table."
GOOD = Prompt("You judge a review. Fill in `verdict`.", f"[TOPIC]\n{fenced('the review', TOPIC)}")


@pytest.mark.parametrize("panel", panel_paths())
async def test_no_shipped_prompt_breaks_a_rule(panel: str) -> None:
    prompts = [one async for one in rendered(panel)]
    assert len(prompts) >= 10
    assert [fault for one in prompts for fault in one.faults()] == []


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        (replace(GOOD, user=f"{GOOD.user}\n{fenced('stage 1', TOPIC)}"), "twice"),
        (
            replace(GOOD, system=f"{'Judge by the evidence that stands in the text. ' * 2}\n" * 2),
            "twice",
        ),
        (replace(GOOD, system=TOPIC), "outside of a fence"),
        (replace(GOOD, system=GOOD.user, user=""), "outside of the user message"),
        (replace(GOOD, system="당신은 평가합니다."), "Korean in an English prompt"),
        (replace(GOOD, language="ko"), "English in a Korean prompt"),
        (replace(GOOD, system="You speak as {persona}."), "not filled in: {persona}"),
        (replace(GOOD, system="You speak as `{persona}`."), "not filled in: {persona}"),
        (
            replace(GOOD, system="[ROLE]\nYour speciality: noise\nYour speciality is noise.\n\n"),
            "said twice of the persona: 'Your speciality'",
        ),
        (
            replace(
                GOOD, language="ko", system="[ROLE]\n전문 분야: 노이즈\n전문 분야는 노이즈입니다."
            ),
            "said twice of the persona: '전문 분야'",
        ),
        (replace(GOOD, system='[PERSONA]\n{"name": "EPM", "style": ""}'), "empty: style"),
        (replace(GOOD, user=f"{GOOD.user}\nevidence: {{}}"), "empty: a line"),
        (replace(GOOD, system="Judge a review."), "not explained: verdict"),
        (replace(GOOD, user=f"{GOOD.user}\nEnded by max_rounds."), "a code"),
    ],
)
def test_each_rule_finds_what_breaks_it(prompt: Prompt, rule: str) -> None:
    assert faults(GOOD, {TOPIC}, ("persona",), ("verdict",)) == []
    assert any(one.startswith(rule) for one in faults(prompt, {TOPIC}, ("persona",), ("verdict",)))


@pytest.mark.parametrize("panel", sorted(path.name for path in SHIPPED.iterdir() if path.is_dir()))
def test_whoever_is_told_something_of_their_own_in_english_is_told_it_in_korean(panel: str) -> None:
    """What the rest says stands in the panel's file, in its language, and in the protocol's prompts."""
    told = {
        language: {
            str(path.relative_to(SHIPPED / panel / language))
            for path in (SHIPPED / panel / language).rglob("*.*")
        }
        for language in LANGUAGES
    }
    assert told["en"] - told["ko"] <= ENGLISH_ONLY


def test_a_deliberation_can_tell_in_words_why_it_ended() -> None:
    for language in LANGUAGES:
        assert {*RegimeReason} <= words(language).keys()
