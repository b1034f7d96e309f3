"""
What a person is asked for, as fields; and the content that their answer becomes.

A presentation says which fields an ask has. A protocol without any takes its content as JSON.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from pydantic import JsonValue, TypeAdapter, ValidationError

from parley.bus.contracts.base import ContentBase, Contract, RequestBase
from parley.bus.contracts.facts import Content, Failure
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.speaking import Turn

Values = Mapping[str, JsonValue]
FieldKind = Literal["choice", "share", "text", "lines", "json"]
JSON_FIELD = "content"


@cache
def _contents() -> TypeAdapter[ContentBase]:
    """Built when first needed: a command that reads none starts sooner."""
    return TypeAdapter(Content)


class Choice(Contract):
    value: str
    means: str = ""
    tone: str = ""


class Field(Contract):
    """`share` is a number from 0 to 1, `lines` one text a line; `value` is what stands there first."""

    name: str
    label: str
    kind: FieldKind
    required: bool = True
    choices: tuple[Choice, ...] = ()
    value: JsonValue = None
    help: str = ""


class Voice(Contract):
    """Somebody who has spoken before, as far as the person may know."""

    who: str
    says: str = ""
    confidence: float | None = None
    text: str = ""
    points: tuple[str, ...] = ()


Voices = Callable[[RequestBase], tuple[Voice, ...]]
Fields = Callable[[PanelBase, RequestBase, str], tuple[Field, ...]]
ContentOf = Callable[[RequestBase, str, Values], ContentBase | Turn]


def no_voices(_request: RequestBase) -> tuple[Voice, ...]:
    return ()


def plain_fields(_panel: PanelBase, request: RequestBase, _persona: str) -> tuple[Field, ...]:
    about = f"The answer to {request.kind!r} as JSON, with its kind; see: parley schema"
    return (Field(name=JSON_FIELD, label="answer", kind="json", help=about),)


def plain_content(_request: RequestBase, _persona: str, values: Values) -> ContentBase:
    return content_from_json(values.get(JSON_FIELD))


def content_from_json(given: JsonValue) -> ContentBase:
    """Of any protocol. Raises BadInput; a person has no failures, only answers."""
    try:
        data = json.loads(given) if isinstance(given, str) else given
        content = _contents().validate_python(data)
    except ValueError as error:
        raise BadInput(f"the answer cannot be used: {reason_of(error)}") from error
    if isinstance(content, Failure):
        raise BadInput("the answer cannot be used: a failure is none")
    return content


def reason_of(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return f"no JSON ({error})" if isinstance(error, json.JSONDecodeError) else str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def checked(fields: Sequence[Field], values: Values) -> dict[str, JsonValue]:
    """The values by the kinds of their fields. Raises BadInput with one line for each mistake."""
    known = {one.name for one in fields}
    mistakes = [f"{name}: no such field" for name in values if name not in known]
    found: dict[str, JsonValue] = {}
    for field in fields:
        try:
            value = _value(field, values.get(field.name))
        except BadInput as error:
            mistakes.append(f"{field.name}: {error}")
            continue
        if value is not None:
            found[field.name] = value
        elif field.required:
            mistakes.append(f"{field.name}: is missing")
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return found


def _value(field: Field, given: JsonValue) -> JsonValue:
    """None where nothing was given."""
    if given is None or given in ("", []):
        return None
    match field.kind:
        case "choice":
            known = [one.value for one in field.choices]
            if given not in known:
                raise BadInput(f"should be one of {', '.join(known)}")
            return given
        case "share":
            return _share(given)
        case "lines":
            return list(_lines(given))
        case "text":
            if not isinstance(given, str):
                raise BadInput("should be a text")
            return given.strip() or None
        case _:
            return given


def _share(given: JsonValue) -> float:
    try:
        number = float(given) if isinstance(given, str | int | float) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise BadInput("should be a number from 0 to 1")
    return number


def _lines(given: JsonValue) -> Iterable[str]:
    lines = given.splitlines() if isinstance(given, str) else given
    if not isinstance(lines, list) or not all(isinstance(one, str) for one in lines):
        raise BadInput("should be texts")
    return (str(one).strip() for one in lines if str(one).strip())
