"""Deliberations as a protocol."""

from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Decided
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.protocol import Answer, Course, Extent, Protocol
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.flow import advance, cancel, panel_of
from parley.coordinator.protocols.deliberation.progress import StepKind, progress_of
from parley.coordinator.protocols.deliberation.result import result_of

# The judge, and the judge once more.
JUDGEMENTS = 2


def course_of(state: DebateState) -> Course:
    progress = progress_of(state, panel_of(state))
    decided = state.finding(Decided)
    decision = decided.decision if decided else None
    assert decision is None or isinstance(decision, DeliberationDecision)
    return Course(
        rounds=progress.state.iterations,
        answer=Answer(decision.conclusion) if decision else None,
        confidence=decision.confidence if decision else None,
    )


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, DeliberationPanel)
    iterations = panel.params.max_iterations
    return Extent(iterations * len(StepKind) + JUDGEMENTS, iterations, len(panel.debaters))


PROTOCOL = Protocol(
    name="deliberation",
    rules=2,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
