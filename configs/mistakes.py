"""What is wrong with a file, a flag or a variable, in words for the person who wrote it."""

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from parley.configs.names import name_unknown

_SHOWN_LENGTH = 60
# Patterns stand only in tokens of subjects.
_PATTERN = "should be 1 to 64 letters, digits, hyphens or underscores"

# The way from the top of a file to a value.
Place = tuple[int | str, ...]


def dotted(place: Place) -> str:
    return ".".join(str(part) for part in place)


def explain(
    error: ValidationError, schema: type[BaseModel], origin: Callable[[Place], str]
) -> list[str]:
    """Every mistake as `origin: key: problem`; values that may hold secrets are never shown."""
    lines = []
    items = error.errors(include_url=False, include_context=False)
    for item in items:
        if item["type"] == "too_short" and _has_mistakes_inside(item["loc"], items):
            continue
        # Keys are never in brackets; what pydantic and tags of unions add is.
        place = tuple(part for part in item["loc"] if not str(part).startswith("["))
        source = origin(place)
        if item["type"] == "extra_forbidden":
            problem = name_unknown("key", str(place[-1]), _known_keys(schema, place[:-1]))
            place = place[:-1]
        elif item["type"] == "missing":
            problem = "is missing"
        else:
            message = _PATTERN if item["type"] == "string_pattern_mismatch" else item["msg"]
            problem = _problem(message, item["input"], _field(schema, place))
        lines.append(": ".join(part for part in (source, dotted(place), problem) if part))
    return lines


def _has_mistakes_inside(place: Place, items: Sequence[ErrorDetails]) -> bool:
    """A container of unusable items counts as empty, which says nothing new."""
    return any(one["loc"][: len(place)] == place and one["loc"] != place for one in items)


def _problem(message: str, value: object, field: FieldInfo | None) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    if isinstance(value, str | int | float) and (field is None or _may_be_shown(field)):
        shown = repr(value)
        short = shown if len(shown) <= _SHOWN_LENGTH else shown[:_SHOWN_LENGTH] + "…"
        text = f"{text} (got {short})"
    if isinstance(value, bool) and "string" in text:
        text = f"{text}: YAML takes yes, no, on and off for true or false; put the word in quotes"
    return text


def _may_be_shown(field: FieldInfo) -> bool:
    """A value in the place of a whole block may be what belongs into a field with `repr=False`."""
    return field.repr and _model_in(field.annotation) is None


def _known_keys(schema: type[BaseModel], place: Place) -> list[str]:
    model = _model_in(_annotation_at(schema, place))
    return list(model.model_fields) if model is not None else []


def _field(schema: type[BaseModel], place: Place) -> FieldInfo | None:
    """The innermost field on the way to `place`."""
    for cut in range(len(place) - 1, -1, -1):
        model = _model_in(_annotation_at(schema, place[:cut]))
        if model is not None and str(place[cut]) in model.model_fields:
            return model.model_fields[str(place[cut])]
    return None


def _annotation_at(schema: type[BaseModel], place: Place) -> Any:
    annotation: Any = schema
    for part in place:
        model = _model_in(annotation)
        if model is not None:
            field = model.model_fields.get(str(part))
            annotation = field.annotation if field is not None else None
        else:
            annotation = next((arg for arg in reversed(_inner(annotation)) if arg is not ...), None)
    return annotation


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model itself, also as one side of a union; not one inside a container."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return next((m for m in map(_model_in, get_args(annotation)) if m is not None), None)
    return None


def _inner(annotation: Any) -> tuple[Any, ...]:
    """What a container holds."""
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return next((i for i in map(_inner, get_args(annotation)) if i), ())
    return get_args(annotation)
