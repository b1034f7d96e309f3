"""An answer while it grows: chunks become text, and half a form becomes the words in it."""

import json
import re
from dataclasses import dataclass, field
from functools import cache

from openai.types.chat import ChatCompletionChunk
from pydantic import JsonValue

from parley.agents.llm.question import Form
from parley.agents.llm.schema import schema_of

# A key of the outermost object with the text that follows it, closed or not yet.
_KEY_OR_BRACKET = re.compile(
    r'"(?P<key>[^"\\]*)"\s*:\s*"(?P<text>(?:[^"\\]|\\.)*)(?P<end>"|\\?$)|"(?:[^"\\]|\\.)*"|[\[\]{}]',
    re.DOTALL,
)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$")


@dataclass(slots=True)
class StreamReader:
    finish: str | None = None
    refused: bool = False
    input_tokens: int | None = None
    # As the endpoint says; empty where it does not.
    model: str = ""
    _parts: list[str] = field(default_factory=list)
    _counted: int | None = None

    def take(self, chunk: ChatCompletionChunk) -> bool:
        """Whether the text has grown. The package trusts endpoints to send what they should."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.input_tokens, self._counted = usage.prompt_tokens, usage.completion_tokens
        named = getattr(chunk, "model", None)
        self.model = named if isinstance(named, str) else self.model
        choices = getattr(chunk, "choices", None)
        if not choices:
            return False
        self.finish = choices[0].finish_reason or self.finish
        delta = getattr(choices[0], "delta", None)
        self.refused = self.refused or bool(getattr(delta, "refusal", None))
        text = getattr(delta, "content", None)
        if not isinstance(text, str) or not text:
            return False
        self._parts.append(text)
        return True

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def over(self) -> bool:
        return self.finish is not None

    @property
    def output_tokens(self) -> int:
        """Endpoints send about a token at a time; some never say how many there were."""
        return self._counted if self._counted is not None else len(self._parts)


def words_in(form: type[Form], text: str) -> str:
    """What a person may read of a form that is still being filled in: its free texts so far."""
    outer = _free_texts(form)
    wanted = outer or _nested_texts(form)
    found: list[str] = []
    depth = 0
    for token in _KEY_OR_BRACKET.finditer(text):
        if token["key"] is not None:
            if token["key"] in wanted and (depth == 1 or not outer):
                found.append(_unescaped(token["text"]))
        elif token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
    return "\n".join(part for part in found if part)


@cache
def _free_texts(form: type[Form]) -> frozenset[str]:
    return _texts_of(schema_of(form)) - form.chosen


@cache
def _nested_texts(form: type[Form]) -> frozenset[str]:
    """Of a form that holds nothing but lists of smaller forms."""
    inner = schema_of(form).get("$defs")
    parts = inner.values() if isinstance(inner, dict) else ()
    return frozenset(name for part in parts for name in _texts_of(part))


def _texts_of(schema: JsonValue) -> frozenset[str]:
    """Names of what is said in one's own words, rather than chosen from a list."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    assert isinstance(properties, dict)
    return frozenset(
        name
        for name, one in properties.items()
        if isinstance(one, dict) and one.get("type") == "string" and "enum" not in one
    )


def _unescaped(text: str) -> str:
    whole = _HALF_ESCAPE.sub("", text)
    try:
        read = json.loads(f'"{whole}"', strict=False)
    except ValueError:
        return whole
    return str(read)
