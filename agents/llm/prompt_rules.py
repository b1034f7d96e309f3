"""
What every prompt holds to, whatever the panel, the language and the step.

1. No text stands twice: every token is read on every turn.
2. What others wrote stands only in fences of the user message.
3. A prompt speaks one language; field names, labels and what others wrote aside.
4. Every placeholder is filled in.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator

from pydantic import JsonValue

from parley.agents.llm.question import Prompt
from parley.bus.contracts.facts import Request

# Shorter lines may stand twice: a field that two tasks share.
_LONG_LINE = 60
# Shorter texts of others are words that anybody uses.
_LONG_SAYING = 12
_FENCE = re.compile(
    r'<untrusted from="[^"\n]*" mark="(?P<mark>\w+)">\n.*?\n</untrusted mark="(?P=mark)">',
    re.DOTALL,
)
_CODE = re.compile(r"`[^`\n]*`")
_FORM = re.compile(r"^\{.*\}$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{[A-Za-z][A-Za-z0-9_]*\}")
_HANGUL = re.compile(r"[가-힣]")
# Names of fields and labels may follow each other with commas; four words in a row are a sentence.
_ENGLISH = re.compile(r"\b[A-Za-z][a-z']*(?: [A-Za-z][a-z']*){3,}")
# What the panel says about itself, and what is chosen rather than said.
_OURS = frozenset(
    {"brief", "persona", "personas", "kind", "protocol", "language_code", "agent", "speaker"}
)


def faults(prompt: Prompt, theirs: Collection[str], placeholders: Collection[str]) -> list[str]:
    """One line for each rule that a rendered prompt breaks; `theirs` is what others wrote."""
    return [
        *_twice(prompt, theirs),
        *_unfenced(prompt, theirs),
        *_in_two_languages(prompt),
        *_unfilled(prompt, placeholders),
    ]


def said_by_others(request: Request) -> set[str]:
    """Whatever a request carries of their words."""
    return {
        one
        for one in _leaves(request.model_dump(mode="json"))
        if len(one) >= _LONG_SAYING and " " in one
    }


def _twice(prompt: Prompt, theirs: Collection[str]) -> Iterator[str]:
    """Who repeats themselves in a debate is shown doing so: only our own lines count."""
    ours = f"{prompt.system}\n{_FENCE.sub('', prompt.user)}"
    lines = [line.strip() for line in ours.splitlines()]
    for line, times in Counter(line for line in lines if len(line) >= _LONG_LINE).items():
        if times > 1:
            yield f"twice: {_short(line)}"
    topic = max(theirs, key=len, default="")
    if len(topic) >= _LONG_LINE and f"{prompt.system}\n{prompt.user}".count(topic) > 1:
        yield f"twice: {_short(topic)}"


def _unfenced(prompt: Prompt, theirs: Collection[str]) -> Iterator[str]:
    ours = f"{prompt.system}\n{_FENCE.sub('', prompt.user)}"
    yield from (f"outside of a fence: {_short(one)}" for one in theirs if one in ours)
    if _FENCE.search(prompt.system):
        yield "outside of the user message: a fence stands in the system text"


def _in_two_languages(prompt: Prompt) -> Iterator[str]:
    told = _CODE.sub("", f"{prompt.system}\n{_FENCE.sub('', prompt.user)}")
    sources = re.findall(r'<untrusted from="([^"\n]*)"', prompt.user)
    text = "\n".join([told, *sources])
    if prompt.language.startswith("ko"):
        found = _ENGLISH.search(_FORM.sub("", text))
        if found is not None:
            yield f"English in a Korean prompt: {_short(found[0])}"
    elif _HANGUL.search(text):
        yield "Korean in an English prompt"


def _unfilled(prompt: Prompt, placeholders: Collection[str]) -> Iterator[str]:
    told = f"{prompt.system}\n{_FENCE.sub('', prompt.user)}"
    known = {f"{{{name}}}" for name in placeholders}
    found = {*_PLACEHOLDER.findall(_CODE.sub("", told)), *(one for one in known if one in told)}
    yield from (f"not filled in: {one}" for one in sorted(found))


def _leaves(value: JsonValue, key: str = "") -> Iterator[str]:
    match value:
        case str() if key not in _OURS:
            yield value
        case dict():
            for name, one in value.items():
                if name not in _OURS:
                    yield from _leaves(one, name)
        case list():
            for one in value:
                yield from _leaves(one, key)
        case _:
            pass


def _short(text: str) -> str:
    return repr(text if len(text) <= _LONG_LINE else f"{text[:_LONG_LINE]}…")
