"""What a model wrote, as a filled-in form."""

import re

import json_repair
from pydantic import ValidationError

from parley.agents.llm.question import FormT, Unusable

# Beyond this a text is not worth the repair: its time grows faster than its length.
_REPAIRABLE_CHARS = 100_000
_MISTAKES_SHOWN = 8
_BRACES_AND_STRINGS = re.compile(r'[{}]|"(?:[^"\\]|\\.)*"', re.DOTALL)


def filled_in(form: type[FormT], text: str, *, cut_off: bool = False) -> FormT:
    """
    The form as the model filled it in, repaired where the JSON is slightly broken.

    A text that was cut off is not repaired: nobody knows how it would have gone on. Nor is one
    with several objects: nobody knows which of them is meant. Raises Unusable with the mistakes.
    """
    try:
        return form.model_validate_json(text)
    except ValidationError as error:
        if cut_off:
            raise Unusable("The answer was cut off. Answer again, much shorter.") from error
    found = _repaired(text)
    try:
        return form.model_validate(found)
    except ValidationError as error:
        raise Unusable(_mistakes(error)) from error


def _repaired(text: str) -> dict[str, object]:
    if not text.strip():
        raise Unusable("The answer is empty. Answer with one JSON object.")
    if len(text) > _REPAIRABLE_CHARS:
        raise Unusable("The answer is far too long. Answer with one short JSON object.")
    try:
        found = json_repair.loads(_only_object(text))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unusable("The answer is not a JSON object. Answer with one JSON object only.")
    return found


def _only_object(text: str) -> str:
    """From the first brace to the one that closes it, if that is all there is."""
    start = text.find("{")
    if start < 0:
        raise Unusable("There is no JSON object in the answer. Answer with one JSON object only.")
    depth = 0
    for token in _BRACES_AND_STRINGS.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0 and token[0] == "}":
            if "{" in text[token.end() :]:
                raise Unusable("There are several JSON objects in the answer. Answer with one.")
            return text[start : token.end()]
    return text[start:]


def _mistakes(error: ValidationError) -> str:
    items = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [
        f"- {'.'.join(str(part) for part in item['loc']) or 'answer'}: {item['msg']}"
        for item in items[:_MISTAKES_SHOWN]
    ]
    return "\n".join(lines)
