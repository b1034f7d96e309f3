"""
What was said about a text, as a model is shown it: JSON without what a reader has no use for.

Every token of a prompt is read on every turn. Character positions mean nothing to a model: where
they do not fit their term it is told what stands there instead. Figures of the mapping, copies of
the same and whatever is empty are left out; lists at the top stay, since none is an answer too.
"""

import json

from pydantic import BaseModel, JsonValue

_UNSEEN = frozenset(
    {
        "kind",
        "normalized",
        "syntactic_head",
        "opinion_term",
        "polarity_distribution",
        "is_backfilled",
        "aspect_terms",
        "aspect_map",
        "mapping_confidence",
        "mapping_fail_reason",
        "weight",
        "mapping_stats",
        "mapping_fail_reasons",
        "fallback_mapping_policy",
        # The instructions say the same, in the language of the prompt.
        "review_guidance",
        "provenance_template",
    }
)
# The review itself stands in the prompt already.
_TEXT = "text"
_DECIMALS = 2


def view(model: BaseModel, text: str) -> str:
    dumped = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    shown = {
        key: _slim(value, text)
        for key, value in dumped.items()
        if key not in _UNSEEN and not (key == _TEXT and value == text)
    }
    shown = {key: value for key, value in shown.items() if value != {}}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def _slim(value: JsonValue, text: str) -> JsonValue:
    match value:
        case dict():
            return _item(value, text)
        case list():
            return [_slim(one, text) for one in value]
        case float():
            return round(value, _DECIMALS)
        case _:
            return value


def _item(item: dict[str, JsonValue], text: str) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {}
    for key, value in item.items():
        if key == "span" or key.endswith("_span") or key == "scope":
            shown |= _reads(key, value, item, text)
        elif key not in _UNSEEN and not _repeats(key, value, item):
            slim = _slim(value, text)
            # An item that quotes the whole text quotes nothing.
            if slim is not False and slim not in (None, "", [], {}, text):
                shown[key] = slim
    return shown


def _reads(
    key: str, span: JsonValue, item: dict[str, JsonValue], text: str
) -> dict[str, JsonValue]:
    """What stands at a span, unless it is the term itself or the whole text."""
    if not isinstance(span, dict):
        return {}
    start, end = span.get("start"), span.get("end")
    if not isinstance(start, int) or not isinstance(end, int):
        return {}
    words = text[start:end]
    return {} if words in {item.get("term"), text} else {f"{key}_reads": words}


def _repeats(key: str, value: JsonValue, item: dict[str, JsonValue]) -> bool:
    """A term that says no more than the aspect it is the term of."""
    if key != "aspect_term":
        return False
    term = value.get("term") if isinstance(value, dict) else value
    return term == item.get("aspect_ref")
