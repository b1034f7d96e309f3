"""
An HTTP endpoint as a brain: the ask is posted as JSON, the turn is the answer.

    POST {"debate", "panel", "persona", "step", "round", "text", "question", "labels", "standing", …}
    200  {"verdict", "confidence", "reasoning"?, "arguments"?, "evidence"?}

What is posted also holds the whole request of the bus as `request`. The standard library asks: no
package is needed for it.
"""

import json
import urllib.error
import urllib.request
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import anyio.to_thread
from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from parley.adapters.filling import Speak
from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.guard import unusable
from parley.bus.contracts.facts import FailureReason
from parley.speaking import Turn, answer_to, ask_of

# Before the address of an agent that speaks A2A.
A2A = "a2a:"
LARGEST_ANSWER_BYTES = 1 << 20
TOO_MANY = 429
SERVER_ERROR = 500


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class _Said:
    verdict: str
    confidence: float
    reasoning: str = ""
    arguments: tuple[str, ...] = ()
    evidence: dict[str, JsonValue] | None = None


_SAID = TypeAdapter(_Said)


def shown(url: str) -> str:
    """Without what may be secret in it."""
    if url.startswith(A2A):
        return f"{A2A}{shown(url.removeprefix(A2A))}"
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def endpoint(url: str) -> Speak:
    async def speak(task: Task) -> Answer:
        ask = ask_of(task)
        body = {
            "debate": ask.debate,
            "panel": task.ref.panel,
            "persona": ask.persona,
            "role": ask.role,
            "step": task.step,
            "round": ask.round,
            "decides": ask.decides,
            "text": ask.text,
            "question": ask.question,
            "labels": ask.labels,
            "standing": [one.model_dump(mode="json", exclude_none=True) for one in ask.standing],
            "challengers": ask.challengers,
            "points": dict(ask.points),
            "request": task.request.model_dump(mode="json", exclude_none=True),
        }
        post = partial(_post, url, json.dumps(body).encode(), task.deadline_s)
        data = await anyio.to_thread.run_sync(post, abandon_on_cancel=True)
        try:
            said = _SAID.validate_json(data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the answer"
            raise unusable(
                task, f"was answered by {shown(url)}: {where}: {first['msg']}"
            ) from error
        turn = Turn(
            said.verdict, said.confidence, said.reasoning, said.arguments, said.evidence or {}
        )
        return answer_to(ask, turn)

    return speak


def _post(url: str, body: bytes, within_s: float) -> bytes:
    """Raises BrainFailure; what may be better later is asked again."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - http and https only
    try:
        with urllib.request.urlopen(request, timeout=min(within_s, 3600)) as answer:  # noqa: S310
            return bytes(answer.read(LARGEST_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        later = error.code == TOO_MANY or error.code >= SERVER_ERROR
        with error:
            told = error.read(200).decode(errors="replace")
        raise BrainFailure(
            FailureReason.BRAIN_ERROR, f"{shown(url)}: {error.code} {told}".strip(), retry=later
        ) from error
    except OSError as error:
        raise BrainFailure(
            FailureReason.BRAIN_ERROR, f"{shown(url)}: {error}", retry=True
        ) from error
