"""
Looking things up before the answer: the model calls tools until it has seen enough.

What it found is material of the question that follows, in a fence like everything that others
wrote, and stands in the turn's evidence with the calls that led to it.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import anyio
import structlog
from pydantic import JsonValue

from parley.agents.llm.client import ModelClient, Terms
from parley.agents.llm.fault import Fault
from parley.agents.llm.meter import Spent
from parley.agents.llm.question import AnyQuestion, Prompt, ToolsFailed
from parley.agents.llm.reply import Completion, ToolCall
from parley.bus.contracts.facts import Content
from parley.bus.telemetry import THINKING, Span
from parley.prompts import Section, instructions, render

if TYPE_CHECKING:
    from parley.agents.llm.toolbox import CallTool, Toolbox

OUT_OF_TIME = "out_of_time"
OUT_OF_CALLS = "out_of_calls"
BUDGET = "budget_exhausted"
TOOLS_FAILED = "tools_failed"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Lookup:
    tool: str
    arguments: JsonValue
    result: str
    failed: bool = False

    def evidence(self) -> dict[str, JsonValue]:
        told: dict[str, JsonValue] = {"tool": self.tool, "arguments": self.arguments}
        return told | {("error" if self.failed else "result"): self.result}


@dataclass(frozen=True, slots=True)
class Lookups:
    """`ended` says why it went no further, as a word; empty where the model had seen enough."""

    done: tuple[Lookup, ...] = ()
    ended: str = ""

    @property
    def text(self) -> str:
        return "\n".join(json.dumps(one.evidence(), ensure_ascii=False) for one in self.done)

    @property
    def evidence(self) -> JsonValue:
        told: dict[str, JsonValue] = {"calls": [one.evidence() for one in self.done]}
        return told | ({"ended": self.ended} if self.ended else {})


NOTHING_LOOKED_UP = Lookups()


def noted(question: AnyQuestion, content: Content, looked: Lookups) -> Content:
    """With what was looked up in its evidence, or why nothing could be."""
    if looked is NOTHING_LOOKED_UP or question.note is None:
        return content
    return question.note(content, looked.evidence)


async def look_up(
    client: ModelClient, prompt: Prompt, tools: "Toolbox", within_s: float, terms: Terms
) -> Lookups:
    """Whatever goes wrong, the question is asked all the same."""
    done: list[Lookup] = []
    ended = OUT_OF_TIME
    with anyio.move_on_after(within_s):
        try:
            async with tools.opened() as call:
                ask = partial(_asked, client, tools, terms)
                ended = await _guarded(_converse(prompt, tools.calls, ask, call, done))
        except ToolsFailed as failure:
            ended = TOOLS_FAILED
            log.warning("lookups_ended", reason=ended, detail=str(failure))
    return Lookups(tuple(done), ended)


async def _guarded(search: Awaitable[str]) -> str:
    try:
        return await search
    except Fault as fault:
        log.warning("lookups_ended", reason=fault.kind.value, detail=str(fault))
        return fault.kind.value
    except Spent:
        return BUDGET


async def _asked(
    client: ModelClient, tools: "Toolbox", terms: Terms, messages: Sequence[JsonValue]
) -> Completion:
    return await client.chat(messages, {"tools": list(tools.offers)}, terms)


async def _converse(
    prompt: Prompt,
    most: int,
    ask: Callable[[Sequence[JsonValue]], Awaitable[Completion]],
    call: "CallTool",
    done: list[Lookup],
) -> str:
    """Why it ended; `done` grows."""
    told = Section("LOOK_UP", instructions("model", "tools", prompt.language))
    messages: list[JsonValue] = [
        {"role": "system", "content": prompt.system},
        {"role": "user", "content": render(prompt.user, [told])},
    ]
    while True:
        completion = await ask(messages)
        if not completion.calls:
            return ""
        wanted = completion.calls[: most - len(done)]
        messages.append(_repeated(completion.text, wanted))
        for one in wanted:
            found = await _looked(one, call)
            done.append(found)
            messages.append({"role": "tool", "tool_call_id": one.id, "content": found.result})
        if len(done) >= most:
            return OUT_OF_CALLS


def _repeated(text: str, calls: Sequence[ToolCall]) -> JsonValue:
    asked: list[JsonValue] = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.name, "arguments": one.arguments},
        }
        for one in calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": asked}


async def _looked(asked: ToolCall, call: "CallTool") -> Lookup:
    began = time.time_ns()
    try:
        arguments = json.loads(asked.arguments or "{}")
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        result, failed = await call(asked.name, arguments)
    else:
        arguments, result, failed = asked.arguments[:500], "the arguments are no JSON object", True
    _tell(asked, began, failed=failed)
    return Lookup(asked.name[:64], arguments, result, failed)


def _tell(asked: ToolCall, began_ns: int, *, failed: bool) -> None:
    here = THINKING.get()
    if here is not None:
        here.telemetry.record(
            Span(
                name=f"execute_tool {asked.name}",
                trace=here.place.trace,
                parent=here.place.span,
                start_ns=began_ns,
                end_ns=time.time_ns(),
                error="tool_error" if failed else "",
                attributes={
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": asked.name,
                    "gen_ai.tool.type": "function",
                    "gen_ai.tool.call.id": asked.id,
                    "gen_ai.conversation.id": here.ref.id,
                },
            )
        )
