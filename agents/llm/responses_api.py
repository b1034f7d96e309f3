"""
The Responses API of OpenAI: the same calls as chat completions, in its words.

Nothing is kept at the endpoint (`store` is false), and a seed is left out: there is none.
"""

from collections.abc import Iterator, Mapping, Sequence

from openai.types.responses import Response
from pydantic import JsonValue

from parley.agents.llm.reply import Completion, ToolCall

_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_LEFT_OUT = frozenset({"seed", "stream_options"})


def body_of(
    messages: Sequence[JsonValue], parameters: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """What is sent beside the model's name."""
    body: dict[str, JsonValue] = {"store": False}
    for key, value in parameters.items():
        if key == "response_format":
            body["text"] = {"format": _format(value)}
        elif key == "tools":
            body["tools"] = _tools(value)
        elif key not in _LEFT_OUT:
            body[_RENAMED.get(key, key)] = value
    return body | {"input": [item for one in messages for item in _items(one)]}


def _format(given: JsonValue) -> JsonValue:
    """What a schema is of stands beside its type."""
    assert isinstance(given, dict)
    schema = given.get("json_schema")
    return {"type": "json_schema", **schema} if isinstance(schema, dict) else given


def _tools(given: JsonValue) -> JsonValue:
    assert isinstance(given, list)
    functions = [one["function"] for one in given if isinstance(one, dict)]
    return [{"type": "function", **one} for one in functions if isinstance(one, dict)]


def _items(message: JsonValue) -> Iterator[JsonValue]:
    assert isinstance(message, dict)
    if message["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message["tool_call_id"],
            "output": message["content"],
        }
        return
    if message.get("content") is not None:
        yield {"role": message["role"], "content": _content(message["content"])}
    calls = message.get("tool_calls")
    for one in calls if isinstance(calls, list) else ():
        assert isinstance(one, dict)
        function = one["function"]
        assert isinstance(function, dict)
        yield {"type": "function_call", "call_id": one["id"], **function}


def _content(given: JsonValue) -> JsonValue:
    if not isinstance(given, list):
        return given
    return [_part(one) for one in given]


def _part(given: JsonValue) -> JsonValue:
    assert isinstance(given, dict)
    picture = given.get("image_url")
    if isinstance(picture, dict):
        return {"type": "input_image", "image_url": picture["url"]}
    return {"type": "input_text", "text": given["text"]}


def completion_of(response: Response) -> Completion | None:
    """None for what is no response, whatever its type says."""
    if response.status not in {"completed", "incomplete"}:
        return None
    texts: list[str] = []
    calls: list[ToolCall] = []
    refused = False
    for item in response.output:
        if item.type == "function_call":
            calls.append(ToolCall(item.call_id, item.name, item.arguments))
        elif item.type == "message":
            texts += [one.text for one in item.content if one.type == "output_text"]
            refused = refused or any(one.type == "refusal" for one in item.content)
    if not texts and not calls and not refused and response.status == "completed":
        return None
    why = response.incomplete_details.reason if response.incomplete_details else None
    usage = response.usage
    return Completion(
        text="".join(texts),
        cut_off=why == "max_output_tokens",
        filtered=refused or why == "content_filter",
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        model=response.model,
        calls=tuple(calls),
    )
