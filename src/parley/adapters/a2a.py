"""
A remote agent that speaks A2A: the persona's prompt is a message, its answer a message or a task's
artifact that holds the form as JSON.

A password in the address is sent as a bearer token.
"""

import json
from collections.abc import AsyncIterator
from urllib.parse import unquote, urlsplit, urlunsplit
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict
from typing_extensions import override

from parley.adapters.filling import Fill, Filled
from parley.adapters.http import LARGEST_ANSWER_BYTES, shown
from parley.agents.brain import BrainFailure
from parley.agents.llm.form import filled_in
from parley.agents.llm.question import AnyQuestion, Form
from parley.agents.llm.schema import compact_schema
from parley.bus.contracts.base import Usage
from parley.bus.contracts.facts import FailureReason

# A debate that waits longer gives the ask up by itself.
TIMEOUT_S = 3600.0
JSON = "application/json"


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._inner:
            seen += len(chunk)
            if seen > LARGEST_ANSWER_BYTES:
                raise httpx.ReadError(f"more than {LARGEST_ANSWER_BYTES} bytes")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


def filler(address: str) -> Fill:
    url, headers = _without_token(address)

    async def fill(question: AnyQuestion) -> Filled:
        form: type[Form] = question.form
        schema = compact_schema(form)
        prompt = question.prompt
        asked = f"{prompt.system}\n\n[JSON_SCHEMA]\n{schema}\n\n{prompt.user}"
        try:
            said = await _ask(url, headers, asked)
        except (A2AClientError, A2AError, httpx.HTTPError, ValueError) as error:
            why = " ".join(str(error).split())[:300] or type(error).__name__
            raise BrainFailure(
                FailureReason.BRAIN_ERROR, f"{shown(url)}: {why}", retry=True
            ) from error
        return Filled(filled_in(form, said), Usage(model_calls=1))

    return fill


async def _ask(url: str, headers: dict[str, str], text: str) -> str:
    async with httpx.AsyncClient(
        headers={"Accept-Encoding": "identity", **headers},
        timeout=TIMEOUT_S,
        event_hooks={"response": [_bound]},
        follow_redirects=False,
    ) as http:
        config = ClientConfig(httpx_client=http, streaming=False, accepted_output_modes=[JSON])
        client = await create_client(url, config)
        message = Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)])
        async for answer in client.send_message(SendMessageRequest(message=message)):
            return _said(url, answer)
    raise BrainFailure(FailureReason.UNUSABLE_ANSWER, f"{shown(url)}: no answer", retry=True)


async def _bound(response: httpx.Response) -> None:
    assert isinstance(response.stream, httpx.AsyncByteStream)
    response.stream = _Bounded(response.stream)


def _said(url: str, answer: StreamResponse) -> str:
    if answer.HasField("message"):
        return _text(answer.message)
    task: Task = answer.task
    if task.status.state != TaskState.TASK_STATE_COMPLETED:
        state = TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower()
        told = f" ({_text(task.status.message)[:200]})" if task.status.HasField("message") else ""
        raise BrainFailure(FailureReason.BRAIN_ERROR, f"{shown(url)}: its task is {state}{told}")
    return _text(task.artifacts[-1]) if task.artifacts else _text(task.status.message)


def _text(said: Message | Artifact) -> str:
    """What is structured already is preferred to words."""
    data = [one for one in said.parts if one.HasField("data")]
    if data:
        return json.dumps(MessageToDict(data[0].data), ensure_ascii=False)
    return "\n".join(one.text for one in said.parts if one.text)


def _without_token(address: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(address)
    if parts.password is None:
        return address, {}
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return bare, {"Authorization": f"Bearer {unquote(parts.password)}"}
