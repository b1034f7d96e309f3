"""Deliberations as a protocol."""

from collections.abc import Iterable, Iterator, Sequence

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Decided
from parley.bus.contracts.panel import PanelBase
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import Answer, Course, Extent, Flip, Opening, Protocol
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.deliberation.flow import (
    JUDGE,
    JUDGE_AGAIN,
    advance,
    cancel,
    panel_of,
)
from parley.coordinator.protocols.deliberation.progress import StepKind, progress_of, step_name
from parley.coordinator.protocols.deliberation.report import Said
from parley.coordinator.protocols.deliberation.result import result_of

# The judge, and the judge once more.
JUDGEMENTS = 2


def course_of(state: DebateState) -> Course:
    progress = progress_of(state, panel_of(state))
    decided = state.finding(Decided)
    decision = decided.decision if decided else None
    assert decision is None or isinstance(decision, DeliberationDecision)
    rounds = [round_.said for round_ in progress.rounds]
    first = [one for one in rounds[0] if one.turn.position] if rounds else []
    return Course(
        rounds=progress.state.iterations,
        answer=Answer(decision.conclusion) if decision else None,
        confidence=decision.confidence if decision else None,
        before=_leader((one.turn.position, 1.0) for one in first),
        opening=Opening(
            steps=frozenset({step_name(StepKind.THINK, 1)}),
            alone={one.agent: Answer(one.turn.position) for one in first},
            weighted=_leader((one.turn.position, one.turn.confidence or 0.0) for one in first),
            flips=tuple(_flips(rounds)),
        ),
    )


def _leader(votes: Iterable[tuple[str, float]]) -> Answer | None:
    """The position that weighs most, the first if equal."""
    weights: dict[str, float] = {}
    for position, weight in votes:
        weights[position] = weights.get(position, 0.0) + weight
    return Answer(max(weights, key=weights.__getitem__)) if weights else None


def _flips(rounds: Iterable[Sequence[Said]]) -> Iterator[Flip]:
    """Who says nothing of its position keeps it."""
    held: dict[str, str] = {}
    for number, said in enumerate(rounds):
        for one in said:
            now = one.turn.position
            before = held.get(one.agent)
            if now and before and now != before:
                yield Flip(persona=one.agent, round=number, before=before, after=now)
            if now:
                held[one.agent] = now


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, DeliberationPanel)
    iterations = panel.params.max_iterations
    return Extent(iterations * len(StepKind) + JUDGEMENTS, iterations, len(panel.debaters))


def declare_step(state: DebateState, step: Step) -> TerminationDeclaration:
    judges = step.name in (JUDGE, JUDGE_AGAIN)
    return declare_judge(state, step) if judges else declare_stage(state, step)


def without_debate(panel: PanelBase) -> PanelBase:
    assert isinstance(panel, DeliberationPanel)
    params = panel.params.model_copy(update={"max_iterations": 1})
    return panel.model_copy(update={"params": params})


PROTOCOL = Protocol(
    name="deliberation",
    rules=3,
    declare=declare_step,
    without_debate=without_debate,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
)
