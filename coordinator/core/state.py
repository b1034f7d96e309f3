"""
A debate's state: what the facts so far amount to. It is never stored, only folded.

A debate is a sequence of steps. A step asks a set of personas and is over when each of them spoke,
or was written down as abstaining; so a parallel round and one speaker of an ordered round are the
same thing, asked of many or of one.

A person whom the panel does not wait for holds up no step. Their ask stays outstanding, and their
turn is heard in the step that is open when it comes, or in the next one.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from parley.bus.contracts.facts import (
    Abstained,
    Asked,
    Closed,
    Finding,
    Request,
    RequestByReference,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.panel import DebateInput, Panel

FindingT = TypeVar("FindingT", bound=Finding)

NOTHING = DebateInput()
NO_FINDINGS: Mapping[str, Finding] = MappingProxyType({})


class Phase(StrEnum):
    UNKNOWN = "unknown"
    SUBMITTED = "submitted"
    RUNNING = "running"
    TERMINATED = "terminated"
    CLOSED = "closed"


class Heard(NamedTuple):
    """A persona's contribution to a step, and its ordinal in the debate."""

    ordinal: int
    said: TurnTaken | Abstained


class Outstanding(NamedTuple):
    """An ask to a person for whom no step waits; `fired` once their deadline has passed."""

    step: str
    persona: str
    deadline_s: float
    fired: bool = False


class Step(NamedTuple):
    """`ask` is its only ask, or of several the first, with everybody who was asked so far."""

    ask: Asked
    ordinal: int
    heard: tuple[Heard, ...] = ()
    fired: bool = False
    # The debate ended before everybody was heard.
    abandoned: bool = False
    # People who are waited for and whose deadlines have passed.
    overdue: tuple[str, ...] = ()
    # What was heard of people to whom an earlier ask was outstanding.
    carried: tuple[Heard, ...] = ()
    # The asks as they were put, where each persona has one of its own.
    asks: tuple[Asked, ...] = ()

    @property
    def asked(self) -> tuple[Asked, ...]:
        return self.asks or (self.ask,)

    @property
    def unasked(self) -> tuple[str, ...]:
        """Whose own asks are yet to be put."""
        if not self.ask.together:
            return ()
        return tuple(one for one in self.ask.together if one not in self.ask.personas)

    def request_to(self, persona: str) -> Request | RequestByReference:
        own = (one.request for one in self.asks if persona in one.personas)
        return next(own, self.ask.request)

    @property
    def name(self) -> str:
        return self.ask.step

    @property
    def contributions(self) -> tuple[Heard, ...]:
        """All that was heard while it was open, in the order of the log."""
        return tuple(sorted((*self.heard, *self.carried))) if self.carried else self.heard

    @property
    def unheard(self) -> tuple[str, ...]:
        """Also those for whom it does not wait."""
        heard = {one.said.persona for one in self.heard}
        return tuple(persona for persona in self.ask.personas if persona not in heard)

    @property
    def waiting_for(self) -> tuple[str, ...]:
        people = self.ask.people
        return tuple(one for one in self.unheard if one not in people or people[one].waits)

    @property
    def is_over(self) -> bool:
        if self.abandoned:
            return True
        if self.ask.together and len(self.ask.personas) < len(self.ask.together):
            return False
        if len(self.heard) == len(self.ask.personas):
            return True
        return bool(self.ask.people) and not self.waiting_for

    def awaits(self, persona: str) -> bool:
        if self.abandoned or persona not in self.ask.personas:
            return False
        if self.ask.people and self.is_over:
            return False
        return persona not in [said.persona for _, said in self.heard]

    def heard_from(self, persona: str) -> Heard | None:
        """Its answer to this step's ask, or what it said to an earlier one meanwhile."""
        all_heard = (*self.heard, *reversed(self.carried)) if self.carried else self.heard
        return next((one for one in all_heard if one.said.persona == persona), None)


class DebateState(NamedTuple):
    """`facts` counts what was folded: the ordinal that the next fact will have."""

    phase: Phase = Phase.UNKNOWN
    facts: int = 0
    panel: Panel | None = None
    input: DebateInput = NOTHING
    steps: tuple[Step, ...] = ()
    cancelled_at: int | None = None
    terminated: Terminated | None = None
    # What was concluded, by the name of the finding's type.
    findings: Mapping[str, Finding] = NO_FINDINGS
    closed: Closed | None = None
    # (step, persona) of turns that came when their step did not wait for them any more.
    late: frozenset[tuple[str, str]] = frozenset()
    # The version of the rules that decide this debate, as its opening says.
    rules: int = 1
    outstanding: tuple[Outstanding, ...] = ()
    # What was heard of people while no step was open.
    carried: tuple[Heard, ...] = ()

    @property
    def open_step(self) -> Step | None:
        """The step that still waits for somebody, if any."""
        steps = self.steps
        return None if not steps or steps[-1].is_over else steps[-1]

    def outstanding_to(self, step: str, persona: str) -> Outstanding | None:
        """The ask of this step to a person who may still answer it, whether or not it is open."""
        for one in self.outstanding:
            if (one.step, one.persona) == (step, persona):
                return one
        return None

    def step(self, name: str) -> Step | None:
        return next((step for step in self.steps if step.name == name), None)

    def finding(self, kind: type[FindingT]) -> FindingT | None:
        found = self.findings.get(kind.model_fields["type"].default)
        return found if isinstance(found, kind) else None

    def found(self, kind: type[FindingT]) -> FindingT:
        """A finding that stands for certain."""
        finding = self.finding(kind)
        assert finding is not None
        return finding

    @property
    def running_panel(self) -> Panel:
        """The panel of a debate that was submitted; the phases let nobody ask before."""
        assert self.panel is not None
        return self.panel
