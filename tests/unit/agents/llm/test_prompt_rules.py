"""Every prompt of every panel, in both languages and for every role, held to the rules."""

from dataclasses import replace

import pytest

from parley.agents.llm.prompt_rules import faults
from parley.agents.llm.question import Prompt
from parley.agents.llm.untrusted import fenced
from parley.configs.panels import panel_paths
from parley.console.runtime.prompt_lint import rendered

TOPIC = "The soup was cold, but the waiter was friendly to everybody at our table."
GOOD = Prompt("You judge a review.", f"[TOPIC]\n{fenced('the review', TOPIC)}")


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
    ],
)
def test_each_rule_finds_what_breaks_it(prompt: Prompt, rule: str) -> None:
    assert faults(GOOD, {TOPIC}, ("persona",)) == []
    assert any(one.startswith(rule) for one in faults(prompt, {TOPIC}, ("persona",)))
