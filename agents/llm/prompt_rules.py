"""
What every prompt holds to, whatever the panel, the language and the step.

1. No text stands twice: every token is read on every turn.
2. What others wrote stands only in fences of the user message.
3. A prompt speaks one language; field names, labels and what others wrote aside.
4. Every placeholder is filled in.
5. No two lines of a persona's card say the same thing of it: its role once, its speciality once.
6. Nothing empty is told: no null, "" or {} among what is known.
7. Every field that is to be filled in is explained, between backticks.
8. What readers know by words is not told by a code: reasons and labels stand in backticks at least.
"""

import json
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


# The line that a section begins with.
_TAG = re.compile(r"^\[[A-Z0-9_]+\]$", re.MULTILINE)
# What a line of a card says of the persona: up to a colon, or its first two words.
_SUBJECT = re.compile(r"^(?P<two>[^\s:]+ [^\s:]+)")
_PARTICLES = "은는이가"
_CODE_WORD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def faults(
    prompt: Prompt,
    theirs: Collection[str],
    placeholders: Collection[str],
    fields: Collection[str] = (),
) -> list[str]:
    """
    One line for each rule that a rendered prompt breaks.

    `theirs` is what others wrote, `fields` what the form asks for.
    """
    return [
        *_twice(prompt, theirs),
        *_unfenced(prompt, theirs),
        *_in_two_languages(prompt),
        *_unfilled(prompt, placeholders),
        *_said_again(prompt),
        *_empty(prompt),
        *(f"not explained: {one}" for one in fields if f"`{one}`" not in _ours(prompt)),
        *_codes(prompt, placeholders),
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
    ours = _ours(prompt)
    lines = [line.strip() for line in ours.splitlines()]
    for line, times in Counter(line for line in lines if len(line) >= _LONG_LINE).items():
        if times > 1:
            yield f"twice: {_short(line)}"
    topic = max(theirs, key=len, default="")
    if len(topic) >= _LONG_LINE and f"{prompt.system}\n{prompt.user}".count(topic) > 1:
        yield f"twice: {_short(topic)}"


def _unfenced(prompt: Prompt, theirs: Collection[str]) -> Iterator[str]:
    ours = _ours(prompt)
    yield from (f"outside of a fence: {_short(one)}" for one in theirs if one in ours)
    if _FENCE.search(prompt.system):
        yield "outside of the user message: a fence stands in the system text"


def _in_two_languages(prompt: Prompt) -> Iterator[str]:
    told = _CODE.sub("", _ours(prompt))
    sources = re.findall(r'<untrusted from="([^"\n]*)"', prompt.user)
    text = "\n".join([told, *sources])
    if prompt.language.startswith("ko"):
        found = _ENGLISH.search(_FORM.sub("", text))
        if found is not None:
            yield f"English in a Korean prompt: {_short(found[0])}"
    elif _HANGUL.search(text):
        yield "Korean in an English prompt"


def _unfilled(prompt: Prompt, placeholders: Collection[str]) -> Iterator[str]:
    told = _ours(prompt)
    known = {f"{{{name}}}" for name in placeholders}
    found = {*_PLACEHOLDER.findall(_CODE.sub("", told)), *(one for one in known if one in told)}
    yield from (f"not filled in: {one}" for one in sorted(found))


def _ours(prompt: Prompt) -> str:
    return f"{prompt.system}\n{_FENCE.sub('', prompt.user)}"


def _said_again(prompt: Prompt) -> Iterator[str]:
    card = prompt.system.partition("[ROLE]\n")[2].partition("\n\n")[0]
    found = [_SUBJECT.match(line) for line in card.splitlines()]
    subjects = Counter(one["two"].rstrip(_PARTICLES) for one in found if one is not None)
    yield from (
        f"said twice of the persona: {one!r}" for one, times in subjects.items() if times > 1
    )


def _empty(prompt: Prompt) -> Iterator[str]:
    """Examples of a form come before the first section of the system text."""
    first = _TAG.search(prompt.system)
    known = f"{prompt.system[first.start() :] if first else ''}\n{prompt.user}"
    for line in known.splitlines():
        said = _object_in(line)
        keys = [key for key, value in said.items() if value in (None, "", {})]
        if keys:
            yield f"empty: {', '.join(keys)} in {_short(line)}"
    if re.search(r"^\S+: (?:\{\}|\[\]|null|)$", known, re.MULTILINE):
        yield "empty: a line that says nothing after its colon"


def _object_in(line: str) -> dict[str, JsonValue]:
    try:
        found = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _codes(prompt: Prompt, names: Collection[str]) -> Iterator[str]:
    told = _FORM.sub("", _CODE.sub("", _ours(prompt)))
    found = {one for one in _CODE_WORD.findall(told) if one not in names}
    yield from (f"a code outside of backticks: {one}" for one in sorted(found))


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
