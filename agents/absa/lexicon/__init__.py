"""Word lists of the offline brain, all but `public_en.json` written for this project; read once."""

import json
import re
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter

Polar = dict[str, str | list[str]]
_OPINIONS = TypeAdapter(dict[str, Polar])
_GRAMMAR = TypeAdapter(dict[str, str | list[str] | dict[str, str]])
_PHRASES = TypeAdapter(dict[str, str])
_GROUPS = TypeAdapter(dict[str, dict[str, str]])


def _read(name: str) -> object:
    return json.loads((files(__package__) / name).read_text(encoding="utf-8"))


@cache
def opinions(name: str) -> dict[str, dict[int, tuple[str, ...]]]:
    """Part of speech → strength (-3 … 3) → entries. A string is a list of words."""
    raw = _OPINIONS.validate_python(_read(name))
    return {
        part: {int(strength): _entries(value) for strength, value in by_strength.items()}
        for part, by_strength in raw.items()
    }


@cache
def grammar(name: str) -> dict[str, tuple[str, ...]]:
    """Class → words; classes inside a group are named `group.class`."""
    classes: dict[str, tuple[str, ...]] = {}
    for key, value in _GRAMMAR.validate_python(_read(name)).items():
        if isinstance(value, dict):
            classes |= {f"{key}.{part}": _entries(words) for part, words in value.items()}
        else:
            classes[key] = _entries(value)
    return classes


@cache
def groups(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    raw = _GROUPS.validate_python(_read(name))
    return {
        group: {key: _entries(value) for key, value in classes.items()}
        for group, classes in raw.items()
    }


@cache
def turns(name: str, kind: str) -> tuple[tuple[re.Pattern[str], int], ...]:
    """
    Turns of phrase with what they say.

    `idiom`: a judgement in other words; `event`: something that happened, from which one follows;
    `mock`: what goes with praise that is not meant.
    """
    return tuple(
        (re.compile(pattern, re.IGNORECASE), score)
        for score, patterns in opinions(name)[kind].items()
        for pattern in patterns
    )


@cache
def phrases(name: str) -> dict[str, str]:
    return _PHRASES.validate_python(_read(name))


def _entries(value: str | list[str]) -> tuple[str, ...]:
    return tuple(value.split() if isinstance(value, str) else value)
