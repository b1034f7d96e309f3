"""Deliberations as a protocol."""

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Decided
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import Answer, Course, Extent, Protocol
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.deliberation.flow import (
    JUDGE,
    JUDGE_AGAIN,
    advance,
    cancel,
    panel_of,
)
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


def declare_step(state: DebateState, step: Step) -> TerminationDeclaration:
    judges = step.name in (JUDGE, JUDGE_AGAIN)
    return declare_judge(state, step) if judges else declare_stage(state, step)


PROTOCOL = Protocol(
    name="deliberation",
    rules=3,
    declare=declare_step,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
