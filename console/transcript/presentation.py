"""
How a protocol is told to people: the second object of a protocol, beside its rules.

Presentations are found by the entry points of the group `parley.presentations`. A field that a
presentation leaves out, and a protocol without any, is told in the plain form.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from parley.bus.contracts.base import Contract
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, Finding, OperationalReason
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.plugins import Plugins
from parley.bus.subjects import DebateRef
from parley.console.transcript import plain
from parley.console.transcript.form import (
    ContentOf,
    Fields,
    Voices,
    no_voices,
    plain_content,
    plain_fields,
)
from parley.console.transcript.items import Label, Outcome, Told, Tone
from parley.coordinator.core.reducer import Walked
from parley.coordinator.core.state import DebateState

if TYPE_CHECKING:
    from rich.console import RenderableType

    from parley.console.reports.document import Block
    from parley.console.reports.intervals import ShareOf
    from parley.console.reports.outcomes import Outcome as Reported
    from parley.console.web.views.common import Scene
    from parley.console.web.views.parts import ViewBase


def later(where: str) -> Callable[..., Any]:
    """The function `module:name`, imported when it is called: few commands need rich or the web."""

    def call(*given: Any) -> Any:
        return _resolved(where)(*given)

    return call


@cache
def _resolved(where: str) -> Callable[..., Any]:
    found: Callable[..., Any] = resolve_name(where)
    return found


_BOARD = later("parley.console.terminal.plain:board")
_VIEW = later("parley.console.web.views.plain:view")
_BLOCKS = later("parley.console.reports.plain:blocks")


@dataclass(frozen=True, slots=True)
class Presentation:
    """Pure functions; `board`, `view` and what reports need are imported only where they are used."""

    name: str
    # What a submission is introduced with: `preset default`.
    setting: Callable[[PanelBase], str] = plain.setting
    ask: Callable[[Asked, DebateState], Told] = plain.ask
    turn: Callable[[Walked], Told] = plain.turn
    # With the state that the finding stands in.
    finding: Callable[[Finding, DebateState], Told] = plain.finding
    # A declaration on one line.
    declared: Callable[[TerminationDeclaration], str] = plain.declared
    # Why debates end, in words; and rules that a declaration names without being an end.
    reasons: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    # The words that its verdicts are made of, gravest first, with their colours.
    labels: Callable[[PanelBase], tuple[Label, ...]] = plain.labels
    # The type of the finding that answers what was asked; None: the last that says anything.
    answer: str | None = None
    outcome: Callable[[Finding], Outcome | None] = plain.outcome
    # Colours of answers that are none of a panel's labels.
    tones: Mapping[str, Tone] = field(default_factory=dict)
    # By which the debated input is known to people: for gold labels, and across variants.
    names: Callable[[PanelBase], tuple[str, ...]] = plain.names
    # Those it can be told to expect; it finds out by itself otherwise.
    languages: tuple[str, ...] = ()
    # What a person is told of the others, is asked for, and what the answer becomes.
    voices: Voices = no_voices
    fields: Fields = plain_fields
    content: ContentOf = plain_content
    # What a demonstration says at the end of a debate.
    ending: "Callable[[DebateRef, DebateState], list[str]] | None" = None
    board: "Callable[[DebateRef, DebateState], RenderableType]" = _BOARD
    view: "Callable[[Scene], ViewBase]" = _VIEW
    # What a report says of one debate before it tells the transcript.
    blocks: "Callable[[DebateRef, DebateState], Iterator[Block]]" = _BLOCKS
    # What many debates come to, beyond what all protocols share: figures, and shares for variants.
    figures: "Callable[[Sequence[Reported]], Contract | None] | None" = None
    figure_blocks: "Callable[[Contract], Iterator[Block]] | None" = None
    shares: "Callable[[Sequence[Reported]], dict[str, ShareOf]] | None" = None
    # Sets of parameters that are worth comparing on the same recordings.
    presets: Callable[[], Iterable[str]] = tuple
    # A part of an answer as the rules spell it, for comparison with gold.
    part: Callable[[tuple[str, str]], tuple[str, str]] = plain.part

    def concludes(self, finding_type: str) -> bool:
        return self.answer in {None, finding_type}

    def why(self, reason: str) -> str:
        """A reason or a rule in plain words; empty where there are none but its name."""
        return self.reasons.get(reason) or self.rules.get(reason) or _REASONS.get(reason, "")


# What ends a debate of any protocol.
_REASONS: Mapping[str, str] = {
    OperationalReason.BUDGET_EXHAUSTED: "the budget is used up",
    OperationalReason.CANCELLED: "somebody cancelled the debate",
    OperationalReason.QUORUM_LOST: "too few agents have spoken",
    OperationalReason.DEBATE_DISABLED: "the debate is switched off",
    "continue": "no rule ends the debate",
}

PLAIN = Presentation("plain")
PRESENTATIONS: Mapping[str, Presentation] = Plugins("parley.presentations", Presentation)


def presentation_of(protocol: str) -> Presentation:
    return PRESENTATIONS.get(protocol, PLAIN)


def answering(protocol: str) -> tuple[str, ...]:
    """The types of findings that may hold the answer of a debate."""
    told = presentation_of(protocol)
    if told.answer is not None:
        return (told.answer,)
    found = CONTRACTS[protocol].findings if protocol in CONTRACTS else ()
    return tuple(one.model_fields["type"].default for one in found)
