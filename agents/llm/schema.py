"""Forms as JSON schemas."""

import json
from functools import lru_cache

from pydantic import JsonValue

from parley.agents.llm.question import Form

# Panels of verdicts have forms of their own.
_SCHEMAS_KEPT = 512
_SILENT_KEYS = frozenset({"title", "default", "description"})
# Strict endpoints refuse a schema that bounds lengths; those that take them write to the point.
_BOUNDS = frozenset({"maxLength", "maxItems"})


@lru_cache(_SCHEMAS_KEPT)
def schema_of(form: type[Form], *, bounded: bool = False) -> dict[str, JsonValue]:
    """As strict endpoints want it: every field required, no other allowed."""
    silent = _SILENT_KEYS if bounded else _SILENT_KEYS | _BOUNDS
    return _strict(form.model_json_schema(), silent)


@lru_cache(_SCHEMAS_KEPT)
def compact_schema(form: type[Form]) -> str:
    """For the text of a prompt."""
    schema = schema_of(form, bounded=True)
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def _strict(node: JsonValue, silent: frozenset[str]) -> dict[str, JsonValue]:
    assert isinstance(node, dict)
    result = {key: _walked(key, value, silent) for key, value in node.items() if key not in silent}
    properties = result.get("properties")
    if isinstance(properties, dict):
        result |= {"required": list(properties), "additionalProperties": False}
    return result


def _walked(key: str, value: JsonValue, silent: frozenset[str]) -> JsonValue:
    if key in {"properties", "$defs"} and isinstance(value, dict):
        return {name: _strict(inner, silent) for name, inner in value.items()}
    if isinstance(value, dict):
        return _strict(value, silent)
    if isinstance(value, list):
        return [_strict(one, silent) if isinstance(one, dict) else one for one in value]
    return value
