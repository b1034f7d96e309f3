"""
What a process tells of its part in a debate, where somebody collects it: spans, and the port to it.

A debate is one trace whatever process a span comes from, and nobody has to be told which: the ids
of the trace and of the span of a fact are functions of the debate and of the fact's name. Whether
a debate is sampled its coordinator decides; the flag in its facts' headers says so to everybody.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from parley.bus.metrics import Metrics
from parley.bus.subjects import SUBMITTED, DebateRef

Attributes = Mapping[str, str | bool | int | float | Sequence[str]]

_SAMPLED = re.compile(
    rb"(?:^|\n)traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-([0-9a-f]{2})\r?(?:\n|$)"
)


class SpanPlace(NamedTuple):
    """Both in hexadecimal digits, as in a traceparent."""

    trace: str
    span: str


class SpanEvent(NamedTuple):
    name: str
    time_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """Told when it is over. Without an id of its own it gets one of chance."""

    name: str
    trace: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    id: str = ""
    # Empty for the root of the trace.
    parent: str = ""
    kind: Literal["internal", "client"] = "internal"
    # Why it failed, as a word for programs; empty if it did not.
    error: str = ""
    events: tuple[SpanEvent, ...] = ()


class Telemetry(Protocol):
    """Nothing of it waits for the collector."""

    @property
    def on(self) -> bool: ...

    @property
    def content(self) -> bool:
        """Whether spans carry what was asked and said."""
        ...

    def samples(self, ref: DebateRef) -> bool: ...

    def record(self, span: Span) -> None: ...

    def inside(self, place: SpanPlace) -> AbstractContextManager[None]:
        """Spans of libraries that trace by OpenTelemetry hang below this one while it lasts."""
        ...

    def log(self, event: str, level: str, fields: Mapping[str, object]) -> None: ...

    def measure(self, metrics: Metrics) -> None:
        """Blocks until they are delivered, or cannot be."""
        ...

    def serve_as(self, service: str) -> None:
        """The name under which this process is found at the collector."""
        ...


class _Off:
    on = False
    content = False

    def samples(self, _ref: DebateRef) -> bool:
        return False

    def record(self, span: Span) -> None:
        pass

    def inside(self, _place: SpanPlace) -> AbstractContextManager[None]:
        return nullcontext()

    def log(self, event: str, level: str, fields: Mapping[str, object]) -> None:
        pass

    def measure(self, metrics: Metrics) -> None:
        pass

    def serve_as(self, service: str) -> None:
        pass


OFF = _Off()


@dataclass(frozen=True, slots=True)
class Thinking:
    """Whoever calls a model on account of a debate tells it below this span."""

    telemetry: Telemetry
    ref: DebateRef
    persona: str
    place: SpanPlace


# None where nobody collects it.
THINKING: ContextVar[Thinking | None] = ContextVar("parley_thinking", default=None)


def traceparent(ref: DebateRef, name: str, *, sampled: bool) -> str:
    """W3C trace context of the debate's fact of this name."""
    return f"00-{trace_of(ref)}-{span_of(name)}-{'01' if sampled else '00'}"


def is_sampled(headers: bytes) -> bool:
    """Whether the traceparent among these header lines says so."""
    found = _SAMPLED.search(headers)
    return found is not None and bool(int(found[1], 16) & 1)


@lru_cache(maxsize=8192)
def trace_of(ref: DebateRef) -> str:
    return hashlib.blake2s(str(ref).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=1024)
def span_of(name: str) -> str:
    return hashlib.blake2s(name.encode(), digest_size=8).hexdigest()


# The span of the debate as a whole.
ROOT_SPAN = span_of(SUBMITTED)
