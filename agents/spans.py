"""
What agents tell a collector: a span for each turn, and below it one for each call of a model.

The names are those of OpenTelemetry's conventions for generative AI.
"""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from pydantic import JsonValue

from parley.bus.contracts.facts import Ask, Failure, TurnTaken
from parley.bus.subjects import DebateRef, ask_tail, tail_of
from parley.bus.telemetry import THINKING, Span, SpanPlace, Telemetry, Thinking, span_of, trace_of


def thinking_in(
    telemetry: Telemetry, ref: DebateRef, persona: str, step: str, *, sampled: bool
) -> AbstractContextManager[None]:
    """While it lasts, calls of models are told below the turn that is to come of it."""
    if not sampled or not telemetry.on:
        return nullcontext()
    place = SpanPlace(trace_of(ref), span_of(f"turn.{step}.{persona}"))
    return _thinking(Thinking(telemetry, ref, persona, place))


@contextmanager
def _thinking(here: Thinking) -> Iterator[None]:
    token = THINKING.set(here)
    try:
        with here.telemetry.inside(here.place):
            yield
    finally:
        THINKING.reset(token)


def span_of_turn(
    ref: DebateRef, ask: Ask, turn: TurnTaken, began_ns: int, *, content: bool
) -> Span:
    failed = turn.content if isinstance(turn.content, Failure) else None
    said = turn.content.model_dump_json(exclude_none=True)
    told = {"gen_ai.output.messages": messages(("assistant", said))} if content else {}
    return Span(
        name=f"invoke_agent {turn.persona}",
        trace=trace_of(ref),
        id=span_of(tail_of(turn)),
        parent=span_of(ask_tail(ask)),
        start_ns=began_ns,
        end_ns=time.time_ns(),
        error=failed.reason.value if failed is not None else "",
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "parley",
            "gen_ai.agent.id": f"{ref.panel}/{turn.persona}",
            "gen_ai.agent.name": turn.persona,
            "gen_ai.conversation.id": ref.id,
            "gen_ai.usage.input_tokens": turn.usage.input_tokens,
            "gen_ai.usage.output_tokens": turn.usage.output_tokens,
            "parley.brain": turn.brain,
            "parley.step": turn.step,
            "parley.answer": turn.content.kind,
            **told,
        },
    )


def messages(*said: tuple[str, JsonValue]) -> str:
    """Roles and texts in the form in which the conventions write messages."""
    return json.dumps(
        [{"role": role, "parts": [{"type": "text", "content": one}]} for role, one in said],
        ensure_ascii=False,
    )
