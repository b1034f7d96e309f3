"""Forms as JSON schemas."""

import json
from functools import cache

from pydantic import JsonValue

from parley.agents.model.question import Form

_SILENT_KEYS = ("title", "default", "description")


@cache
def schema_of(form: type[Form]) -> dict[str, JsonValue]:
    """As strict endpoints want it: every field required, no other allowed."""
    return _strict(form.model_json_schema())


@cache
def compact_schema(form: type[Form]) -> str:
    return json.dumps(schema_of(form), ensure_ascii=False, separators=(",", ":"))


def _strict(node: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(node, dict)
    result = {key: _walked(key, value) for key, value in node.items() if key not in _SILENT_KEYS}
    properties = result.get("properties")
    if isinstance(properties, dict):
        result |= {"required": list(properties), "additionalProperties": False}
    return result


def _walked(key: str, value: JsonValue) -> JsonValue:
    if key in {"properties", "$defs"} and isinstance(value, dict):
        return {name: _strict(inner) for name, inner in value.items()}
    if isinstance(value, dict):
        return _strict(value)
    if isinstance(value, list):
        return [_strict(one) if isinstance(one, dict) else one for one in value]
    return value
