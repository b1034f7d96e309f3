"""
A model endpoint for tests: real HTTP, OpenAI's chat protocol, and every fault on demand.

What it answers is a function of the request (`Mind`), what goes wrong is a plan: a fault for each
call in turn, or a share of all calls drawn from a seed.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests import model_families as families
from tests import model_responses as responses
from tests.model_reply import Reply

Body = dict[str, Any]
Mind = Callable[[Body], str]

# Each may befall a call; what is said of it here is what the client sees.
FAULTS = (
    "rate_limit",  # 429 with Retry-After: 0
    "server_error",  # 500
    "overloaded",  # 503, as text
    "hang_up",  # the connection is closed without a word
    "cut_body",  # the connection is closed in the middle of the reply
    "truncated",  # finish_reason length, half a JSON
    "filter",  # finish_reason content_filter
    "html",  # 200 with a proxy's page
    "huge",  # 200 with 10 MB
    "empty",  # 200 with no choices
    "error_in_success",  # 200 with an error body
    "prose",  # an answer that is no JSON
    "placeholder",  # fits the schema, says nothing
    "nan",  # a number that is none
    "fenced",  # good JSON inside a Markdown fence
    "trailing_comma",  # JSON that is easily repaired
    "slow",  # later than the client waits
)
HUGE_BYTES = 10 * 1024 * 1024
SLOW_S = 30.0

GOOD = {
    "reasoning": "The spectrum shows regular peaks.",
    "content": "I hold my verdict: the peaks are still there.",
    "response_type": "defense",
    "summary": "The upper left corner stands out.",
    "regions": [],
    "key_evidence": [],
    "evidence": [],
    "arguments": ["regular peaks"],
    "verdict": "ai_generated",
    "confidence": 0.9,
    "ready": True,
}


def _is_trial(body: Body) -> bool:
    return '"ready"' in str(body["messages"][-1])


def agreeable(_body: Body) -> str:
    return json.dumps(GOOD)


def noise_concedes(body: Body) -> str:
    """Noise opens alone and gives in when it is challenged: two steps for each debate."""
    opening = "content" not in json.dumps(body.get("response_format", {}))
    alone = opening and "`noise`" in body["messages"][0]["content"]
    return json.dumps(GOOD | ({"verdict": "authentic"} if alone else {}))


@dataclass
class ModelServer:
    mind: Mind = agreeable
    # Faults for the calls in turn; None is a call that goes well. Calls after the last go well.
    plan: Sequence[str | None] = ()
    share: float = 0.0
    seed: int = 7
    # The key it wants; anything if None.
    key: str | None = None
    model: str | None = None
    # The response formats it knows; the others are refused as llama-cpp-python does.
    formats: Sequence[str] = ("json_schema", "object_with_schema", "json_object")
    format_status: int = 500
    # The trial's form is so small that some take it in any format.
    trials_in_any_format: bool = False
    # Parameters it refuses by name.
    refuses: Sequence[str] = ()
    retry_after: str = "0"
    # Whether a call that wants a stream gets one; whether the stream says what it cost.
    streams: bool = True
    counts_streams: bool = True
    # Between two events of a stream.
    pace_s: float = 0.0
    # Before every answer.
    latency_s: float = 0.0
    # Until it is set nobody gets an answer.
    gate: asyncio.Event | None = None
    # Sends everybody there instead of answering.
    moved_to: str | None = None
    # Which tools it calls, with what arguments, where some are offered; None where it has seen enough.
    looks_up: Callable[[Body], Sequence[tuple[str, str]]] | None = None
    # Whose ways it has: of `anthropic`, `gemini`, or `gemma` behind Gemini's address.
    family: str = "openai"
    # Whether it has the Responses API beside chat completions; what came there, as it came.
    responses: bool = False
    responded: list[Body] = field(default_factory=list)
    # Quotes the key in its errors and in its answers.
    indiscreet: bool = False
    calls: list[Body] = field(default_factory=list)
    heard_keys: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    url: str = ""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._planned = iter(self.plan)
        self._serving: set[asyncio.Task[Any] | None] = set()

    async def stop(self) -> None:
        for task in self._serving:
            if task is not None:
                task.cancel()
        await asyncio.gather(*filter(None, self._serving), return_exceptions=True)

    @property
    def questions(self) -> list[Body]:
        """Without the trial questions."""
        return [call for call in self.calls if not _is_trial(call)]

    def next_fault(self) -> str | None:
        planned = next(self._planned, None)
        if planned is None and self._chance.random() < self.share:
            planned = self._chance.choice(FAULTS)
        if planned is not None:
            self.faults.append(planned)
        return planned

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.current_task())
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        key = headers.get("authorization", "").removeprefix("Bearer ")
        self.heard_keys.append(key)
        if lines[0].startswith("GET"):
            reply = self._catalogue(lines[0].split()[1], key)
        else:
            body = json.loads(content)
            path = lines[0].split()[1]
            responding = self.responses and path == "/v1/responses"
            if responding:
                self.responded.append(body)
                body, path = responses.as_chat(body), "/v1/chat/completions"
            self.calls.append(body)
            moved = Reply(307, b"{}") if self.moved_to is not None else None
            reply = moved or self._refusal(path, key, body) or await self._answer(key, body)
            if responding:
                reply = responses.as_response(reply, streamed=bool(body.get("stream")))
        if reply.status == 0:
            return False
        if reply.events:
            return await self._stream(writer, reply)
        kind = "text/html" if reply.payload.startswith(b"<") else "application/json"
        fields = [
            f"HTTP/1.1 {reply.status} X",
            f"Content-Type: {kind}",
            f"Content-Length: {len(reply.payload) * (2 if reply.cut else 1)}",
        ]
        if reply.status == 307:
            fields.append(f"Location: {self.moved_to}")
        if reply.status == 429:
            fields.append(f"Retry-After: {self.retry_after}")
        writer.write("\r\n".join([*fields, "", ""]).encode() + reply.payload)
        await writer.drain()
        return not reply.cut

    async def _stream(self, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        writer.write(
            b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        )
        for event in reply.events:
            writer.write(event)
            await writer.drain()
            await asyncio.sleep(self.pace_s)
        return False

    def _catalogue(self, path: str, key: str) -> Reply:
        if path != "/v1/models":
            return Reply(404, self._error("not found", None, key))
        if self.key not in (None, key):
            return Reply(401, self._error("Incorrect API key", "invalid_api_key", key))
        folder = "models/" if self.family == "gemini" else ""
        known = [
            {"id": folder + (self.model or "m"), "object": "model", "created": 0, "owned_by": "x"}
        ]
        return Reply(200, json.dumps({"object": "list", "data": known}).encode())

    def _refusal(self, path: str, key: str, body: Body) -> Reply | None:
        if self.family in {"gemini", "gemma"}:
            error = families.geminis_refusal(body, gemma=self.family == "gemma")
            if self.key not in (None, key):
                error = families.GEMINIS_BAD_KEY
            if error is not None:
                return Reply(400, error)
        refused = next((name for name in self.refuses if name in body), None)
        form = body.get("response_format", {"type": "text"})
        dialect = "object_with_schema" if "schema" in form else form["type"]
        checks = (
            (path != "/v1/chat/completions", 404, "not found", None),
            (self.key not in (None, key), 401, f"Incorrect API key: {key}", "invalid_api_key"),
            (self.model not in (None, body["model"]), 404, "no such model", "model_not_found"),
            (refused == "max_tokens", 400, "max_tokens: use max_completion_tokens", None),
            (refused is not None, 400, f"Unsupported parameter: {refused}", None),
            (
                dialect not in (*self.formats, "text")
                and not (self.trials_in_any_format and _is_trial(body)),
                self.format_status,
                "body.response_format.type: bad value",
                None,
            ),
        )
        return next(
            (
                Reply(status, self._error(message, code, key))
                for holds, status, message, code in checks
                if holds
            ),
            None,
        )

    async def _answer(self, key: str, body: Body) -> Reply:
        if "tools" in body and self.looks_up is not None:
            return Reply(200, calling(self.looks_up(body)))
        fault = self.next_fault()
        if self.family == "anthropic" and not families.is_told_the_form(body):
            return Reply(200, completion("Certainly! Here is what I think of it."))
        good = self.mind(body)
        if self.indiscreet:
            good = json.dumps({**json.loads(good), "reasoning": f"Your key is {key}, I believe."})
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(SLOW_S if fault == "slow" else self.latency_s)
        errors = {
            "rate_limit": (429, "slow down", "rate_limit_exceeded"),
            "server_error": (500, "it broke", None),
            "error_in_success": (200, "upstream failed", None),
        }
        if fault in errors:
            status, message, code = errors[fault]
            return Reply(status, self._error(message, code, key))
        reply = _WIRE_FAULTS[fault] if fault in _WIRE_FAULTS else _spoilt(fault, good)
        return self._streamed(reply) if body.get("stream") and self.streams else reply

    def _streamed(self, reply: Reply) -> Reply:
        """The same as events; what is no completion stays what it is."""
        if reply.status != 200 or reply.payload.startswith(b"<"):
            return reply
        whole = json.loads(reply.payload)
        if not whole.get("choices"):
            return reply
        choice = whole["choices"][0]
        text, finish = choice["message"]["content"], choice["finish_reason"]
        size = max(6, len(text) // 200)
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        events = [_event({"content": part}) for part in parts]
        if reply.cut:
            return reply._replace(events=tuple(events))
        events.append(_event({}, finish))
        if self.counts_streams:
            events.append(_data({"id": "c1", "choices": [], "usage": whole["usage"]}))
        return reply._replace(events=(*events, b"data: [DONE]\n\n"))

    def _error(self, message: str, code: str | None, key: str) -> bytes:
        said = f"{message} (key {key})" if self.indiscreet else message
        return json.dumps({"error": {"message": said, "code": code, "type": "x"}}).encode()


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _data({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _data(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"object": "chat.completion.chunk"} | content).encode() + b"\n\n"


def completion(text: str, finish: str = "stop") -> bytes:
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text},
    }
    return json.dumps(
        {
            "id": "c1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    ).encode()


def calling(tools: Sequence[tuple[str, str]]) -> bytes:
    """An answer that calls tools, each by its name with the text of its arguments."""
    whole = json.loads(completion("DONE"))
    if tools:
        whole["choices"][0]["finish_reason"] = "tool_calls"
        whole["choices"][0]["message"] = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call-{number}",
                    "type": "function",
                    "function": {"name": name, "arguments": arguments},
                }
                for number, (name, arguments) in enumerate(tools)
            ],
        }
    return json.dumps(whole).encode()


_WIRE_FAULTS = {
    "overloaded": Reply(503, b"try later"),
    "hang_up": Reply(0, b""),
    "cut_body": Reply(200, completion("half a"), cut=True),
    "html": Reply(200, b"<html><body>Sign in to the wireless network</body></html>"),
    "huge": Reply(200, completion("x" * HUGE_BYTES)),
    "empty": Reply(200, json.dumps({"id": "x", "object": "chat.completion"}).encode()),
    "filter": Reply(200, completion("", finish="content_filter")),
    "prose": Reply(200, completion("I am sorry, I cannot decide about this picture.")),
}


def _spoilt(fault: str | None, good: str) -> Reply:
    if fault == "truncated":
        return Reply(200, completion(good[: len(good) // 2], finish="length"))
    texts = {
        "placeholder": lambda: json.dumps(emptied(json.loads(good))),
        "nan": lambda: json.dumps({**json.loads(good), "confidence": float("nan")}),
        "fenced": lambda: f"Here is my answer:\n```json\n{good}\n```",
        "trailing_comma": lambda: good[:-1] + ",}",
    }
    return Reply(200, completion(texts[fault]() if fault in texts else good))


def emptied(form: Body) -> Body:
    """The form with nothing in it but what its schema demands: single words stay as they are."""
    return {field: _emptied(value) for field, value in form.items()}


def _emptied(value: Any) -> Any:
    if isinstance(value, str):
        return "string" if " " in value else value
    if isinstance(value, list):
        return []
    return 0.0 if isinstance(value, float) else value


@asynccontextmanager
async def model_server(**options: Any) -> AsyncIterator[ModelServer]:
    server = ModelServer(**options)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
