"""
One chat completion over the wire. Every way in which it can go wrong is translated here.

Whatever an endpoint sends is bounded in size and in time, and no text of it is passed on without
the key being struck out: endpoints are known to quote the key they were given.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

import anyio
import httpx2
import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageParam
from openai.types.responses import Response
from pydantic import JsonValue
from typing_extensions import override

from parley.agents.llm import responses_api
from parley.agents.llm.fault import Fault, FaultKind
from parley.agents.llm.reply import Completion, ToolCall
from parley.agents.llm.stream_reader import StreamReader
from parley.configs.model import RESPONSES, ModelChoice

_CONNECT_S = 10.0
_SHOWN_CHARS = 300
_STRUCK_OUT = "[key]"
# Shorter ones are no secrets, but stand-ins for endpoints that want none, and parts of words.
_SHORTEST_SECRET = 8
_SERVER_ERROR = 500
_EVENT_STREAM = "text/event-stream"
_JSON = "application/json"

# What an endpoint says in words wins over the number it says it with.
_KIND_OF_CODE: Mapping[str | None, FaultKind] = {
    "insufficient_quota": FaultKind.QUOTA,
    "content_filter": FaultKind.FILTERED,
    "model_not_found": FaultKind.MODEL,
    "invalid_api_key": FaultKind.KEY,
}
# Gemini says so with 400.
_REFUSES_THE_KEY = ("API_KEY_INVALID", "API key not valid")
_KIND_OF_STATUS: Mapping[int, FaultKind] = {
    401: FaultKind.KEY,
    403: FaultKind.KEY,
    404: FaultKind.MODEL,
    408: FaultKind.BUSY,
    409: FaultKind.BUSY,
    425: FaultKind.BUSY,
    429: FaultKind.BUSY,
    502: FaultKind.BUSY,
    503: FaultKind.BUSY,
    504: FaultKind.BUSY,
    529: FaultKind.BUSY,
}

Messages: TypeAlias = Sequence[JsonValue]
Parameters: TypeAlias = Mapping[str, JsonValue]


class Listener(Protocol):
    """Whoever wants to hear an answer while it grows."""

    @property
    def due(self) -> bool:
        """Whether it is time to hear the text so far."""
        ...

    async def hear(self, text: str) -> None: ...


class _TooLarge(Exception):
    pass


class _Bounded(httpx2.AsyncByteStream):
    """A body that stops at its limit instead of filling the memory."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._inner:
            seen += len(chunk)
            if seen > self._limit:
                raise _TooLarge
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


class Endpoint:
    def __init__(self, client: openai.AsyncOpenAI, choice: ModelChoice, timeout_s: float) -> None:
        self._client = client
        self._choice = choice
        self._timeout_s = timeout_s
        key = choice.api_key.get_secret_value()
        self._key = key if len(key) >= _SHORTEST_SECRET else ""

    async def complete(self, messages: Messages, parameters: Parameters) -> Completion:
        """Raises Fault."""
        if self._choice.api == RESPONSES:
            return await self._respond(messages, parameters)
        with self._translating():
            with anyio.fail_after(self._timeout_s):
                completion = await self._client.chat.completions.create(
                    model=self._choice.name,
                    messages=cast("Sequence[ChatCompletionMessageParam]", messages),
                    extra_body=parameters,
                )
        return self._read(completion)

    async def stream(
        self, messages: Messages, parameters: Parameters, listener: Listener
    ) -> Completion:
        """The same, heard while it grows. Raises Fault; NO_STREAM if the endpoint cannot."""
        if self._choice.api == RESPONSES:
            return await self._respond_streaming(messages, parameters, listener)
        heard = StreamReader()
        with self._translating():
            with anyio.fail_after(self._timeout_s):
                stream = await self._client.chat.completions.create(
                    model=self._choice.name,
                    messages=cast("Sequence[ChatCompletionMessageParam]", messages),
                    extra_body=parameters,
                    stream=True,
                )
                async with stream:
                    self._check_streams(stream.response.headers.get("content-type", ""))
                    async for chunk in stream:
                        if heard.take(chunk) and listener.due:
                            await listener.hear(self._so_far(heard.text))
        if not heard.over:
            raise Fault(FaultKind.GARBLED, f"{self._choice.host} stopped in the middle")
        return Completion(
            text=self._without_key(heard.text),
            cut_off=heard.finish == "length",
            filtered=heard.refused or heard.finish == "content_filter",
            input_tokens=heard.input_tokens,
            output_tokens=heard.output_tokens,
            model=self._named(heard.model),
        )

    async def _respond(self, messages: Messages, parameters: Parameters) -> Completion:
        with self._translating():
            with anyio.fail_after(self._timeout_s):
                response = await self._client.responses.create(
                    model=self._choice.name, extra_body=responses_api.body_of(messages, parameters)
                )
        return self._responded(response)

    async def _respond_streaming(
        self, messages: Messages, parameters: Parameters, listener: Listener
    ) -> Completion:
        heard, ended = "", None
        with self._translating():
            with anyio.fail_after(self._timeout_s):
                stream = await self._client.responses.create(
                    model=self._choice.name,
                    extra_body=responses_api.body_of(messages, parameters),
                    stream=True,
                )
                async with stream:
                    self._check_streams(stream.response.headers.get("content-type", ""))
                    async for event in stream:
                        if event.type == "response.output_text.delta":
                            heard += event.delta
                            if listener.due:
                                await listener.hear(self._so_far(heard))
                        elif event.type in {"response.completed", "response.incomplete"}:
                            ended = event.response
        if ended is None:
            raise Fault(FaultKind.GARBLED, f"{self._choice.host} stopped in the middle")
        return self._responded(ended)

    def _responded(self, response: object) -> Completion:
        completion = (
            responses_api.completion_of(response)
            if isinstance(response, Response) and isinstance(response.output, list)
            else None
        )
        if completion is None:
            raise self._something_else()
        calls = tuple(
            replace(one, arguments=self._without_key(one.arguments)) for one in completion.calls
        )
        text, model = self._without_key(completion.text), self._named(completion.model)
        return replace(completion, text=text, model=model, calls=calls)

    async def models(self) -> list[str]:
        """Those that the endpoint lists. Raises Fault."""
        with self._translating(), anyio.fail_after(self._timeout_s):
            page = await self._client.models.list()
        listed = page.data if isinstance(getattr(page, "data", None), list) else []
        # Gemini's names stand in a folder that its other calls leave out.
        return [str(one.id).removeprefix("models/") for one in listed]

    def _check_streams(self, content_type: str) -> None:
        if content_type.startswith(_JSON):
            raise Fault(FaultKind.NO_STREAM, f"{self._choice.host} does not stream")
        if not content_type.startswith(_EVENT_STREAM):
            raise self._something_else()

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise self._slow() from None
        except _TooLarge:
            raise Fault(FaultKind.TOO_LARGE, "the reply exceeds max_reply_kib") from None
        except openai.APIError as error:
            raise self._translated(error) from None
        except httpx2.HTTPError:
            # While a stream is read the package lets them through.
            raise Fault(FaultKind.UNREACHABLE, f"no connection to {self._choice.host}") from None
        except ValueError:
            raise self._something_else() from None

    def _read(self, completion: object) -> Completion:
        """A proxy's page, an error in a success, an empty list: none of them is a completion."""
        choices = completion.choices if isinstance(completion, ChatCompletion) else None
        if not isinstance(completion, ChatCompletion) or not choices:
            raise self._something_else()
        choice = choices[0]
        # The package trusts endpoints to send what their protocol says.
        message: ChatCompletionMessage | None = getattr(choice, "message", None)
        refused = message is not None and bool(message.refusal)
        usage = completion.usage
        return Completion(
            text=self._without_key(message.content or "" if message is not None else ""),
            cut_off=choice.finish_reason == "length",
            filtered=refused or choice.finish_reason == "content_filter",
            input_tokens=_count(usage.prompt_tokens if usage else None),
            output_tokens=_count(usage.completion_tokens if usage else None),
            model=self._named(completion.model),
            calls=self._calls(message),
        )

    def _something_else(self) -> Fault:
        return Fault(FaultKind.GARBLED, f"{self._choice.host} answered with something else")

    def _translated(self, error: openai.APIError) -> Fault:
        if isinstance(error, openai.APITimeoutError):
            return self._slow()
        if isinstance(error, openai.APIConnectionError):
            return Fault(FaultKind.UNREACHABLE, f"no connection to {self._choice.host}")
        if isinstance(error, openai.APIStatusError):
            return self._refusal(error)
        return self._something_else()

    def _refusal(self, error: openai.APIStatusError) -> Fault:
        status, host = error.status_code, self._choice.host
        if error.response.is_redirect:
            return Fault(FaultKind.REDIRECTED, f"{host} {_redirection(error)}")
        kind = _kind_of(error)
        match kind:
            case FaultKind.KEY:
                detail = f"{host} {self._choice.refusal} ({status})"
            case FaultKind.MODEL:
                lacks = "has no /responses, or no" if self._choice.api == RESPONSES else "knows no"
                detail = f"{host} {lacks} model {self._choice.name!r} ({status})"
            case FaultKind.FILTERED:
                detail = "the content filter held the question back"
            case _:
                detail = f"{host} answered {status}: {self._said(error)}"
        return Fault(kind, detail, _retry_after(error.response.headers))

    def _slow(self) -> Fault:
        return Fault(
            FaultKind.TIMEOUT, f"{self._choice.host} did not answer within {self._timeout_s:g} s"
        )

    def _said(self, error: openai.APIStatusError) -> str:
        return " ".join(self._without_key(_message(error)).split())[:_SHOWN_CHARS]

    def _calls(self, message: ChatCompletionMessage | None) -> tuple[ToolCall, ...]:
        """What is no call of a function by its name is left out."""
        asked = getattr(message, "tool_calls", None)
        found = []
        for one in asked if isinstance(asked, list) else ():
            function = getattr(one, "function", None)
            name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
            if isinstance(name, str) and isinstance(one.id, str):
                said = arguments if isinstance(arguments, str) else ""
                found.append(ToolCall(one.id, name, self._without_key(said)))
        return tuple(found)

    def _named(self, model: object) -> str:
        return self._without_key(model)[:_SHOWN_CHARS] if isinstance(model, str) else ""

    def _so_far(self, text: str) -> str:
        """What may be the beginning of the key waits for what follows."""
        text = self._without_key(text)
        beginnings = (self._key[:size] for size in range(len(self._key) - 1, 0, -1))
        begun = next((one for one in beginnings if text.endswith(one)), "")
        return text.removesuffix(begun)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, _STRUCK_OUT) if self._key else text


@asynccontextmanager
async def open_endpoint(
    choice: ModelChoice, *, timeout_s: float, max_reply_kib: int
) -> AsyncIterator[Endpoint]:
    limit = max_reply_kib * 1024

    async def bound(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, limit)

    # A compressed body could grow past any limit after it was read.
    http = openai.DefaultAsyncHttpxClient(
        event_hooks={"response": [bound]},
        headers={"Accept-Encoding": "identity"},
        # Nobody but the endpoint that was named gets to see the key and the question.
        follow_redirects=False,
    )
    client = openai.AsyncOpenAI(
        api_key=choice.api_key.get_secret_value(),
        base_url=choice.address,
        timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S)),
        max_retries=0,
        http_client=http,
    )
    async with client:
        yield Endpoint(client, choice, timeout_s)


def _kind_of(error: openai.APIStatusError) -> FaultKind:
    if any(one in str(error.body) for one in _REFUSES_THE_KEY):
        return FaultKind.KEY
    if error.code in _KIND_OF_CODE:
        return _KIND_OF_CODE[error.code]
    if error.status_code in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[error.status_code]
    return FaultKind.SERVER_ERROR if error.status_code >= _SERVER_ERROR else FaultKind.REFUSED


def _message(error: openai.APIStatusError) -> str:
    """Gemini sends its errors in a list, which the package does not look into."""
    body = error.body
    first = body[0] if isinstance(body, list) and body else None
    inside = first.get("error") if isinstance(first, dict) else None
    said = inside.get("message") if isinstance(inside, dict) else None
    return said if isinstance(said, str) else error.message


def _redirection(error: openai.APIStatusError) -> str:
    """The host only: the rest of the address may hold anything."""
    try:
        target = urlsplit(error.response.headers.get("location", "")).hostname
    except ValueError:
        target = None
    where = f"to {target[:_SHOWN_CHARS]}" if target and target.isprintable() else "elsewhere"
    return f"redirects {where} ({error.status_code}), which is not followed"


def _count(tokens: Any) -> int | None:
    return max(0, tokens) if isinstance(tokens, int) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or the moment when; None if there is neither."""
    given = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
