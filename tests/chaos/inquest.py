"""
What the log and the dead letters say about a run, and nothing else.

All closed, once, and in time; no turn recorded or counted twice, or without an ask; no deadline
passed too early; nobody called undeliverable whose ask its queue did not give up; no fork in the
control chain; every decision recomputed byte for byte; nothing that was once seen in the log is
missing or different.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from typing_extensions import override

from parley.bus.contracts.facts import Abstained, Submitted
from parley.bus.journal import Journal, Logged
from parley.bus.port import USED_UP, DeadLetter, Record
from parley.bus.subjects import DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.state import DebateState
from tests.chaos.reasons import out_of_place

# What blows may add to the deadlines of a debate: a coordinator is frozen for up to two deadlines,
# and the other looks into its debates after five seconds; both may be down at once.
BLOWS_S = 40.0
# Submissions follow each other far more closely: a log that grows no more than that has no server,
# or a cluster without a leader, and nobody could have gone on.
STANDSTILL_S = 1.5

# When it began and ended, in ns.
Standstill = tuple[int, int]


@dataclass
class Inquest:
    problems: list[str] = field(default_factory=list)
    closed: int = 0
    records: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    # From submission to closing, in seconds.
    durations: list[float] = field(default_factory=list)

    @override
    def __str__(self) -> str:
        ends = ", ".join(f"{reason} {count}" for reason, count in self.reasons.most_common())
        missed = ", ".join(f"{reason} {count}" for reason, count in self.missed.most_common())
        lines = [
            f"closed       {self.closed} ({ends})",
            f"abstentions  {missed or 'none'}",
            f"records      {self.records}",
            f"one debate   {_spread(self.durations)}",
            f"problems     {len(self.problems)}",
        ]
        return "\n".join(lines + [f"  {problem}" for problem in self.problems])


def inquest(
    journal: Journal,
    records: Sequence[Record],
    submitted: Sequence[DebateRef],
    seen: Mapping[int, Record],
    dead: Sequence[DeadLetter],
) -> Inquest:
    """`seen` is what a bystander read from the log while it was written, by sequence."""
    found = Inquest(records=len(records))
    stored = {record.sequence: record for record in records}
    # Whoever wakes up late may write deadlines after the log was read for the inquest.
    last = max(stored, default=0)
    found.problems += [
        f"record {sequence} was seen as {record.subject}, and is gone or different"
        for sequence, record in seen.items()
        if sequence <= last and stored.get(sequence) != record
    ]
    logged, undecodable = journal.decode_all(records)
    found.problems += [f"{one.record.subject}: {one.reason}" for one in undecodable]
    for subject, count in Counter(record.subject for record in records).items():
        if count > 1:
            found.problems.append(f"{subject} stands in the log {count} times")
    debates: dict[DebateRef, list[Logged]] = {}
    for one in logged:
        debates.setdefault(one.ref, []).append(one)
    found.problems += [f"{ref} is not in the log" for ref in submitted if ref not in debates]
    given_up = {(one.queue, one.sequence) for one in dead if one.reason == USED_UP}
    stood_still = standstills(logged)
    for ref, facts in debates.items():
        _look_into(ref, facts, stood_still, found)
        found.problems += [f"{ref}: {problem}" for problem in out_of_place(facts, given_up)]
    return found


def standstills(logged: Sequence[Logged]) -> list[Standstill]:
    """Up to the last submission; silence after that can be our own."""
    last = max((one.time_ns for one in logged if isinstance(one.fact, Submitted)), default=0)
    moments = sorted(one.time_ns for one in logged if one.time_ns <= last)
    return [(a, b) for a, b in pairwise(moments) if b - a > STANDSTILL_S * 1e9]


def _look_into(
    ref: DebateRef, logged: Sequence[Logged], stood_still: Sequence[Standstill], found: Inquest
) -> None:
    report = audit([one.fact for one in logged])
    found.problems += [f"{ref}: fact {one.ordinal}: {one.problem}" for one in report.discrepancies]
    state = report.state
    if state.closed is None:
        found.problems.append(f"{ref} is not closed, but {state.phase}")
        return
    found.closed += 1
    found.reasons[state.closed.reason] += 1
    began, ended = logged[0].time_ns, _closing(logged)
    took_s = (ended - began) / 1e9
    budget_s = _budget_s(state) + _within(stood_still, began, ended)
    found.durations.append(took_s)
    if took_s > budget_s:
        found.problems.append(f"{ref} took {took_s:.1f} s, and had {budget_s:.1f} s")
    for place, count in _heard(state).items():
        if count > 1:
            found.problems.append(f"{ref}: {place} counted {count} times")
    for one in logged:
        if isinstance(one.fact, Abstained):
            found.missed[one.fact.reason] += 1


def _budget_s(state: DebateState) -> float:
    """Every step may run into its deadline."""
    return BLOWS_S + sum(step.ask.deadline_s for step in state.steps)


def _within(stood_still: Sequence[Standstill], began: int, ended: int) -> float:
    """How long of the time between the two, in seconds."""
    return sum(max(0, min(b, ended) - max(a, began)) for a, b in stood_still) / 1e9


def _closing(logged: Sequence[Logged]) -> int:
    return next(one.time_ns for one in logged if one.fact.type == "closed")


def _heard(state: DebateState) -> Counter[tuple[str, str]]:
    return Counter((step.name, one.said.persona) for step in state.steps for one in step.heard)


def _spread(durations: Sequence[float]) -> str:
    if len(durations) < 2:
        return f"{durations}"
    cuts = statistics.quantiles(durations, n=100)
    return f"p50 {cuts[49]:.1f} s, p99 {cuts[98]:.1f} s, longest {max(durations):.1f} s"
