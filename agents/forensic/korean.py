"""What the skills and the rules of the forensic personas say, in Korean."""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import yaml

# Puts a phrase into the language of a debate.
Phrase: TypeAlias = Callable[[str], str]
_SPOT = re.escape("{}")


def phrases_in(language: str | None) -> Phrase:
    return _in_korean if language == "ko" else str


def _in_korean(text: str) -> str:
    """As it is, where a stranger's words stand in it that no phrase foresees."""
    exact, patterns = _korean()
    if text in exact:
        return exact[text]
    for pattern, korean in patterns:
        found = pattern.fullmatch(text)
        if found is not None:
            return korean.format(*map(_in_korean, found.groups()))
    return text


@cache
def _korean() -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    raw = (files("parley.agents.forensic") / "korean.yaml").read_text(encoding="utf-8")
    phrases: dict[str, str] = yaml.safe_load(raw)
    patterns = [
        (re.compile(re.escape(key).replace(_SPOT, "(.+?)"), re.DOTALL), value)
        for key, value in phrases.items()
        if "{}" in key
    ]
    return {key: value for key, value in phrases.items() if "{}" not in key}, patterns
