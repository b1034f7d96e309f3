"""What the personas of the deliberation are told about themselves in languages other than English."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import yaml

from parley.bus.contracts.panel import Persona
from parley.configs.panels import BUILT_IN, read_panel

_PANEL = "deliberation"
_TRANSLATED = ("ko",)


def in_language(persona: Persona, language_code: str) -> Persona:
    """Only the words that come with Parley: whoever wrote a persona of their own chose its language."""
    code = language_code.strip().lower()[:2]
    if code not in _TRANSLATED or _built_in().get(persona.name) != persona:
        return persona
    return Persona.model_validate({**persona.model_dump(), **_texts(code)[persona.name]})


@cache
def _built_in() -> Mapping[str, Persona]:
    content, _ = read_panel(BUILT_IN / f"{_PANEL}.yaml")
    return {persona.name: persona for persona in content.personas}


@cache
def _texts(code: str) -> Mapping[str, Mapping[str, str]]:
    text = (files("parley.configs") / "debaters" / f"{code}.yaml").read_text(encoding="utf-8")
    texts: dict[str, dict[str, str]] = yaml.safe_load(text)
    return texts
