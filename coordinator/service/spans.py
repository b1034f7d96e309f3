"""
What a coordinator tells a collector of a debate that it closed: the debate, and each of its asks.

All of it is a function of the facts and of when the server stored them, so that whoever closes a
debate tells of it as a whole, also where it was begun by another one.
"""

from collections.abc import Sequence

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    Closed,
    ControlBase,
    Fact,
    Status,
    Submitted,
    declarations_in,
)
from parley.bus.subjects import DebateRef, ask_tail
from parley.bus.telemetry import ROOT_SPAN, Span, SpanEvent, Telemetry, span_of, trace_of

# When it was stored, and the fact.
Stored = tuple[int, Fact]


def tell_of(telemetry: Telemetry, ref: DebateRef, facts: Sequence[Stored]) -> None:
    if telemetry.on and telemetry.samples(ref):
        for span in spans_of(ref, facts, content=telemetry.content):
            telemetry.record(span)


def spans_of(ref: DebateRef, facts: Sequence[Stored], *, content: bool) -> list[Span]:
    begun = next((one for one in facts if isinstance(one[1], Submitted)), None)
    ended = next((one for one in facts if isinstance(one[1], Closed)), None)
    if begun is None or ended is None:
        return []
    submitted, closed = begun[1], ended[1]
    assert isinstance(submitted, Submitted)
    assert isinstance(closed, Closed)
    told = {"parley.input": submitted.input.text} if content else {}
    whole = Span(
        name=f"invoke_workflow {ref.panel}",
        trace=trace_of(ref),
        id=ROOT_SPAN,
        start_ns=begun[0],
        end_ns=ended[0],
        error=closed.reason if closed.status is Status.FAILED else "",
        attributes={
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": ref.panel,
            "gen_ai.conversation.id": ref.id,
            "parley.protocol": submitted.panel.protocol,
            "parley.status": closed.status.value,
            "parley.reason": closed.reason,
            "parley.facts": len(facts),
            **told,
        },
        events=tuple(_events(facts)),
    )
    return [whole, *_asks(ref, facts)]


def _events(facts: Sequence[Stored]) -> list[SpanEvent]:
    """Every declaration, and everybody who did not speak."""
    events = []
    for time_ns, fact in facts:
        events += [
            SpanEvent(
                "parley.declaration",
                time_ns,
                {"node": one.node, "status": one.termination_status.value},
            )
            for one in declarations_in(fact)
        ]
        if isinstance(fact, Abstained):
            said = {"step": fact.step, "persona": fact.persona, "reason": fact.reason.value}
            events.append(SpanEvent("parley.abstained", time_ns, said))
    return events


def _asks(ref: DebateRef, facts: Sequence[Stored]) -> list[Span]:
    """Each until the next decision that is about another step."""
    spans = []
    for at, (asked_ns, fact) in enumerate(facts):
        if not isinstance(fact, Asked):
            continue
        over = (
            time_ns
            for time_ns, one in facts[at + 1 :]
            if isinstance(one, ControlBase) and getattr(one, "step", "") != fact.step
        )
        spans.append(
            Span(
                name=f"ask {fact.step}",
                trace=trace_of(ref),
                id=span_of(ask_tail(fact)),
                parent=ROOT_SPAN,
                start_ns=asked_ns,
                end_ns=next(over, asked_ns),
                attributes={
                    "gen_ai.conversation.id": ref.id,
                    "parley.step": fact.step,
                    "parley.personas": list(fact.personas),
                },
            )
        )
    return spans
