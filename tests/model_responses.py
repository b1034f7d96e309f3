"""The Responses API in terms of chat completions, for the model endpoint of tests."""

import json
from typing import Any

from tests.model_reply import Reply

Body = dict[str, Any]


def as_chat(body: Body) -> Body:
    """The same call as a chat completion."""
    assert body["store"] is False
    chat = {
        key: value for key, value in body.items() if key not in {"input", "text", "store", "tools"}
    }
    chat["messages"] = [_message(one) for one in body["input"]]
    shape = body.get("text", {}).get("format")
    if shape is not None:
        schema = {key: value for key, value in shape.items() if key != "type"}
        known = shape["type"] == "json_schema"
        chat["response_format"] = {"type": "json_schema", "json_schema": schema} if known else shape
    if "tools" in body:
        chat["tools"] = body["tools"]
    if "max_output_tokens" in chat:
        chat["max_tokens"] = chat.pop("max_output_tokens")
    return chat


def _message(item: Body) -> Body:
    match item.get("type"):
        case "function_call":
            return {"role": "assistant", "content": "", "tool_calls": [item]}
        case "function_call_output":
            return {"role": "tool", "content": item["output"], "tool_call_id": item["call_id"]}
        case _:
            return item


def as_response(reply: Reply, *, streamed: bool) -> Reply:
    """What is no completion stays what it is."""
    if reply.status != 200 or reply.payload.startswith(b"<"):
        return reply
    whole = json.loads(reply.payload)
    if not whole.get("choices"):
        return reply
    message, finish = whole["choices"][0]["message"], whole["choices"][0]["finish_reason"]
    response = _response(whole, message, finish)
    if not streamed:
        return reply._replace(payload=json.dumps(response).encode(), events=())
    text = message["content"]
    parts = [text[at : at + 40] for at in range(0, len(text), 40)]
    events = [_event("response.output_text.delta", delta=one) for one in parts]
    if not reply.cut:
        events.append(_event(f"response.{response['status']}", response=response))
    return reply._replace(events=tuple(events), cut=False)


def _response(whole: Body, message: Body, finish: str) -> Body:
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    output: list[Body] = []
    if message["content"]:
        said = {"type": "output_text", "text": message["content"], "annotations": []}
        output.append(
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        )
    output += [
        {"type": "function_call", "id": "f1", "call_id": one["id"], **one["function"]}
        for one in message.get("tool_calls", ())
    ]
    used = whole["usage"]
    return {
        "id": "r1", "object": "response", "created_at": 0, "model": "m",
        "status": "incomplete" if finish in reasons else "completed",
        "incomplete_details": {"reason": reasons[finish]} if finish in reasons else None,
        "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": used["prompt_tokens"], "output_tokens": used["completion_tokens"],
            "total_tokens": used["total_tokens"], "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip


def _event(kind: str, **fields: Any) -> bytes:
    data = {"type": kind, "sequence_number": 0, **fields}
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
