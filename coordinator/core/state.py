"""
A debate's state: what the facts so far amount to. It is never stored, only folded.

A debate is a sequence of steps. A step asks a set of personas and is over when each of them spoke,
or was written down as abstaining; so a parallel round and one speaker of an ordered round are the
same thing, asked of many or of one.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from parley.bus.contracts.facts import Abstained, Asked, Closed, Finding, Terminated, TurnTaken
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


class Step(NamedTuple):
    ask: Asked
    ordinal: int
    heard: tuple[Heard, ...] = ()
    fired: bool = False
    # The debate ended before everybody was heard.
    abandoned: bool = False

    @property
    def name(self) -> str:
        return self.ask.step

    @property
    def waiting_for(self) -> tuple[str, ...]:
        heard = {one.said.persona for one in self.heard}
        return tuple(persona for persona in self.ask.personas if persona not in heard)

    @property
    def is_over(self) -> bool:
        return self.abandoned or len(self.heard) == len(self.ask.personas)

    def awaits(self, persona: str) -> bool:
        if self.abandoned or persona not in self.ask.personas:
            return False
        return persona not in [said.persona for _, said in self.heard]

    def heard_from(self, persona: str) -> Heard | None:
        return next((one for one in self.heard if one.said.persona == persona), None)


class DebateState(NamedTuple):
    """`facts` counts what was folded: the ordinal that the next fact will have."""

    phase: Phase = Phase.UNKNOWN
    facts: int = 0
    panel: Panel | None = None
    input: DebateInput = NOTHING
    steps: tuple[Step, ...] = ()
    # The step whose deadline has not passed yet.
    armed: str | None = None
    cancelled_at: int | None = None
    terminated: Terminated | None = None
    # What was concluded, by the name of the finding's type.
    findings: Mapping[str, Finding] = NO_FINDINGS
    closed: Closed | None = None
    # (step, persona) of turns that came when nobody waited for them any more.
    late: frozenset[tuple[str, str]] = frozenset()
    # The version of the rules that decide this debate, as its opening says.
    rules: int = 1

    @property
    def open_step(self) -> Step | None:
        """The step that still waits for somebody, if any."""
        steps = self.steps
        return None if not steps or steps[-1].is_over else steps[-1]

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
