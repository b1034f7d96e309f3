"""
A protocol: how a panel debates, as one object of pure functions.

Protocols are found by the entry points of the group `parley.protocols`. What a protocol adds to
the contracts is registered in `parley.contracts`, how it is shown in `parley.presentations`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Closed, ControlFact, Terminated, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.plugins import Plugins
from parley.bus.subjects import DebateRef
from parley.coordinator.core.state import DebateState, Step

# (aspect, polarity) and the like: the parts of an answer that are right or wrong one by one.
Parts = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked for: a verdict, a label, a conclusion; `parts` where it has several."""

    label: str
    parts: Parts | None = None


class Flip(Contract):
    """A persona that changed its answer in a round."""

    persona: str
    round: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What was answered before anybody argued, in which steps, and who changed their answers later."""

    steps: frozenset[str] = frozenset()
    alone: Mapping[str, Answer] = field(default_factory=dict)
    # By the votes of the surer.
    weighted: Answer | None = None
    # The persona whom the panel trusts most; None where it trusts several alike.
    most_trusted: str | None = None
    flips: tuple[Flip, ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """How far a debate has come; `before` is the answer as it stood before anybody argued."""

    rounds: int
    answer: Answer | None = None
    confidence: float | None = None
    before: Answer | None = None
    opening: Opening = field(default_factory=Opening)


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a debate of a panel can become: its steps, its rounds, who speaks in each round."""

    steps: int
    rounds: int
    speakers: int


def accept_everything(_state: DebateState, _turn: TurnTaken) -> str | None:
    return None


def lack_nothing(_panel: PanelBase) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Protocol:
    """
    `advance` says what follows when no step is open; `cancel` ends a debate on request, and `stop`
    does so where there is still much to do after the debate itself is over.
    """

    name: str
    # Raised whenever the same facts lead to another decision.
    rules: int
    advance: Callable[[DebateState], ControlFact]
    cancel: Callable[[DebateState], Terminated]
    result: Callable[[DebateRef, DebateState], Contract]
    course: Callable[[DebateState], Course]
    extent: Callable[[PanelBase], Extent]
    stop: Callable[[DebateState], Closed] | None = None
    # What a step that ended declares as a node of its own, None where the debate speaks for it;
    # without this function it does so for every step.
    declare: Callable[[DebateState, Step], TerminationDeclaration | None] | None = None
    # The same panel where nobody argues: what was said first decides.
    without_debate: Callable[[PanelBase], PanelBase] | None = None
    # Why a turn counts as failed though its content is well-formed; None if it counts.
    refusal: Callable[[DebateState, TurnTaken], str | None] = accept_everything
    # What this program lacks to decide debates of the panel as they were recorded, one line each.
    lacks: Callable[[PanelBase], tuple[str, ...]] = lack_nothing
    # Steps whose answers alter no outcome, so that a backtest does without them.
    epilogue: frozenset[str] = field(default_factory=frozenset)


PROTOCOLS: Mapping[str, Protocol] = Plugins("parley.protocols", Protocol)


def longest_s(panel: PanelBase) -> float:
    """How long a debate may last while somebody coordinates: each step runs into its deadline."""
    return PROTOCOLS[panel.protocol].extent(panel).steps * panel.longest_deadline_s


def protocol_of(state: DebateState, protocols: Mapping[str, Protocol] = PROTOCOLS) -> Protocol:
    return protocols[state.running_panel.protocol]
