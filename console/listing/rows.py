"""
One debate of the list: what it shows, and what each fact changes in it.

A row takes from a fact only what it shows, so that a long log is read in seconds: most facts count
by their subject alone. What decides anything reads the facts themselves.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, cast

from pydantic import BaseModel, ConfigDict

from parley.bus.archive import Summary
from parley.bus.codec import decode
from parley.bus.contracts.base import Contract, Usage
from parley.bus.contracts.facts import Finding
from parley.bus.contracts.panel import listed
from parley.bus.contracts.registry import finding_types
from parley.bus.errors import DecodeError
from parley.bus.port import Record
from parley.bus.subjects import CLOSED, CONTROL, DebateRef
from parley.console.transcript.items import Outcome, Tone, told_apart
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.text import one_line
from parley.console.transcript.timestamps import iso
from parley.coordinator.core.state import Phase
from parley.coordinator.core.summary import round_of
from parley.listing import State, Wanted

TOPIC_WIDTH = 160
VERDICT_WIDTH = 80

Status = Literal["open", "completed", "failed", "cancelled", "deleted"]


class Row(Contract):
    """`reason` is why the debate terminated, or else why it was closed."""

    id: str
    panel: str
    protocol: str
    topic: str
    phase: Phase
    round: int | None
    # What it came to, in words, and how sure that is.
    verdict: str | None
    confidence: float | None
    # None where the panel has no labels: positions are free words.
    tone: Tone | None
    reason: str | None
    status: Status
    # Read and written together; of every turn, also of those that came too late to count.
    tokens: int
    cost: float
    calls: int
    submitted_at: str
    closed_at: str | None
    facts: int
    # Of the debate's last fact in the log.
    sequence: int


class Key(NamedTuple):
    """The list's order, newest first; what cursors are made of."""

    at: int
    id: str
    panel: str


class _Excerpt(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _LabelExcerpt(_Excerpt):
    name: str
    tone: str = ""


class _PanelExcerpt(_Excerpt):
    protocol: str
    labels: tuple[_LabelExcerpt, ...] = ()


class _InputExcerpt(_Excerpt):
    topic: str = ""
    labels: dict[str, str] = {}
    text: str = ""


class Submission(_Excerpt):
    panel: _PanelExcerpt
    input: _InputExcerpt


class _Turn(_Excerpt):
    step: str
    usage: Usage = Usage()


class _Reason(_Excerpt):
    decided_at: int
    reason: str


class _Closing(_Excerpt):
    decided_at: int
    status: Literal["completed", "failed", "cancelled"]
    reason: str


class Entry:
    """A row as it is kept: mutable, without what can be computed."""

    __slots__ = (
        "calls", "closed_ns", "cost", "facts", "outcome", "phase", "protocol", "reason", "ref",
        "round", "sequence", "status", "submitted_ns", "tokens", "tones", "topic",
    )  # fmt: skip

    def __init__(self, ref: DebateRef, record: Record, said: Submission) -> None:
        self.ref = ref
        self.submitted_ns = record.time_ns
        self.protocol = said.panel.protocol
        self.tones = _tones(said.panel.labels)
        about = said.input
        self.topic = one_line(listed(about.topic, about.labels, about.text), TOPIC_WIDTH)
        self.phase = Phase.SUBMITTED
        self.round: int | None = None
        self.outcome: Outcome | None = None
        self.reason: str | None = None
        self.status: Status = "open"
        self.tokens = self.calls = 0
        self.cost = 0.0
        self.closed_ns: int | None = None
        self.facts = 1
        self.sequence = record.sequence

    def row(self) -> Row:
        outcome = self.outcome
        return Row.model_construct(
            id=self.ref.id,
            panel=self.ref.panel,
            protocol=self.protocol,
            topic=self.topic,
            phase=self.phase,
            round=self.round,
            verdict=one_line(outcome.label, VERDICT_WIDTH) if outcome else None,
            confidence=outcome.confidence if outcome else None,
            tone=(outcome.tone or self.tones.get(outcome.label)) if outcome else None,
            reason=self.reason,
            status=self.status,
            tokens=self.tokens,
            cost=round(self.cost, 6),
            calls=self.calls,
            submitted_at=iso(self.submitted_ns),
            closed_at=iso(self.closed_ns) if self.closed_ns is not None else None,
            facts=self.facts,
            sequence=self.sequence,
        )

    def is_wanted(self, wanted: Wanted) -> bool:
        return (
            wanted.panel in (None, self.ref.panel)
            and wanted.reason in (None, self.reason)
            and self.submitted_ns >= wanted.since_ns
            and (wanted.deleted or self.status != "deleted")
            and (wanted.state is None or self._is_in(wanted.state))
            and (not wanted.text or self._mentions(wanted.text))
        )

    def _is_in(self, state: State) -> bool:
        return self.status != "open" if state == "closed" else self.status == state

    def _mentions(self, text: str) -> bool:
        return text in self.topic.casefold() or text in self.ref.id.casefold()


def row_of_summary(ref: DebateRef, said: Summary) -> Row:
    """An archived debate."""
    tones = _tones(tuple(_LabelExcerpt(name=name, tone=tone) for name, tone in said.labels))
    known = presentation_of(said.protocol).tones
    return Row.model_construct(
        id=ref.id,
        panel=ref.panel,
        protocol=said.protocol,
        topic=one_line(said.topic, TOPIC_WIDTH),
        phase=Phase.CLOSED,
        round=round_of(said.step),
        verdict=one_line(said.answer, VERDICT_WIDTH) if said.answer else None,
        confidence=said.confidence,
        tone=(known.get(said.answer) or tones.get(said.answer)) if said.answer else None,
        reason=said.reason or one_line(said.closing, VERDICT_WIDTH) or None,
        status=cast("Status", said.status),
        tokens=said.tokens,
        cost=round(said.cost, 6),
        calls=said.calls,
        submitted_at=iso(said.submitted_ns),
        closed_at=iso(said.closed_ns),
        facts=said.facts,
        sequence=said.through,
    )


def advance(entry: Entry, tail: str, record: Record) -> None:
    """Raises ValidationError for what is no fact."""
    head = tail.split(".", 2)
    kind = f"ctl.{head[1]}" if head[0] == "ctl" and len(head) > 1 else head[0]
    change = _CHANGES.get(kind)
    if change is not None and entry.closed_ns is None:
        change(entry, tail, record)
    elif kind not in _COUNTED and not _found(entry, tail, record):
        return
    entry.facts += 1
    entry.sequence = record.sequence


def _found(entry: Entry, tail: str, record: Record) -> bool:
    """Whether it is a finding; only the one that answers what was asked is read."""
    finding_type = tail.removeprefix(CONTROL)
    if finding_type not in finding_types():
        return False
    told = presentation_of(entry.protocol)
    if entry.closed_ns is None and told.concludes(finding_type):
        try:
            fact = decode(tail, record.data)
        except DecodeError:
            return False
        entry.outcome = (told.outcome(fact) if isinstance(fact, Finding) else None) or entry.outcome
    return True


def _opened(entry: Entry, _tail: str, _record: Record) -> None:
    entry.phase = Phase.RUNNING


def _asked(entry: Entry, tail: str, _record: Record) -> None:
    number = round_of(tail.split(".")[2])
    entry.round = entry.round if number is None else number


def _spoken(entry: Entry, _tail: str, record: Record) -> None:
    usage = _Turn.model_validate_json(record.data).usage
    entry.tokens += usage.tokens
    entry.cost += usage.cost
    entry.calls += usage.model_calls


def _terminated(entry: Entry, _tail: str, record: Record) -> None:
    entry.reason = _Reason.model_validate_json(record.data).reason
    entry.phase = Phase.TERMINATED


def _closed(entry: Entry, _tail: str, record: Record) -> None:
    said = _Closing.model_validate_json(record.data)
    entry.phase = Phase.CLOSED
    entry.status = said.status
    entry.reason = entry.reason or one_line(said.reason, VERDICT_WIDTH)
    entry.closed_ns = record.time_ns


# By the head of a fact's subject.
_CHANGES: dict[str, Callable[[Entry, str, Record], None]] = {
    "ctl.opened": _opened,
    "ctl.ask": _asked,
    "turn": _spoken,
    "ctl.terminated": _terminated,
    CLOSED: _closed,
}
_COUNTED = frozenset({*_CHANGES, "submitted", "cancel", "fired", "ctl.abstained"})


@lru_cache(maxsize=256)
def _tones(labels: tuple[_LabelExcerpt, ...]) -> Mapping[str, Tone]:
    """Shared by all debates of a panel."""
    tones = told_apart(one.tone for one in labels)
    return {one.name: tone for one, tone in zip(labels, tones, strict=True)}
