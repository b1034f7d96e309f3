"""The result of a deliberation, as people and machines read it; a view of the state."""

from parley.bus.contracts.base import Contract, Usage
from parley.bus.contracts.declaration import RejectedCandidate, TerminationDeclaration
from parley.bus.contracts.deliberation.content import (
    DeliberationDecision,
    Dissent,
    ExploredAxis,
    RegimeReason,
    conclusion_text,
)
from parley.bus.contracts.deliberation.regimes import (
    AxesRecord,
    Candidate,
    Regime,
    RegimeParams,
    Theta,
    warnings_for,
)
from parley.bus.contracts.facts import Decided, Status
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.subjects import DebateRef
from parley.coordinator.core.accounting import (
    TurnError,
    brains_of,
    declarations_of,
    errors_of,
    usage_by_persona,
    usage_of,
)
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.explored import explored_axes
from parley.coordinator.protocols.deliberation.flow import panel_of
from parley.coordinator.protocols.deliberation.progress import Progress, progress_of


class DeliberationTurn(Contract):
    """One debater's turn in one iteration; `planning` and `reflection` stay in the log."""

    iteration: int
    agent: str
    stance: str | None
    position: str
    confidence: float | None
    message: str
    arguments: tuple[str, ...]
    axes: tuple[str, ...]


class DeliberationResult(Contract):
    debate_id: str
    panel: str
    question: str
    theta: Theta
    regime: Regime
    params: RegimeParams
    warnings: tuple[str, ...]
    status: Status | None
    total_iterations: int
    termination_reason: TerminationReason | RegimeReason | None
    conclusion: str
    # Of a question with two options: whether the first of them, or yes, holds.
    answer: bool | None
    confidence: float | None
    rationale: str
    dissent: tuple[Dissent, ...]
    # Nobody summed up: the conclusion is the last one that stood.
    incomplete: bool
    axes: tuple[ExploredAxis, ...]
    logical_axes: tuple[AxesRecord, ...]
    orthogonality_history: tuple[float | None, ...]
    candidates: tuple[Candidate, ...]
    rejected_candidates: tuple[RejectedCandidate, ...]
    # Who thought for each persona, as its turns say.
    brains: dict[str, str]
    nominal_llm_calls: int
    actual_llm_calls: int
    usage: Usage
    usage_by_persona: dict[str, Usage]
    declarations: tuple[TerminationDeclaration, ...]
    turns: tuple[DeliberationTurn, ...]
    errors: tuple[TurnError, ...]


def result_of(ref: DebateRef, state: DebateState) -> DeliberationResult:
    """Also of a debate that still runs: what is not known yet is null or empty."""
    panel = panel_of(state)
    progress = progress_of(state, panel)
    decision = state.found(Decided).decision if state.finding(Decided) else None
    assert decision is None or isinstance(decision, DeliberationDecision)
    theta = panel.params.theta
    usage = usage_of(state)
    return DeliberationResult(
        debate_id=ref.id,
        panel=ref.panel,
        question=state.input.text,
        theta=theta,
        regime=theta.regime,
        params=panel.params,
        warnings=warnings_for(panel.params),
        status=state.closed.status if state.closed else None,
        total_iterations=progress.state.iterations,
        termination_reason=state.terminated.reason if state.terminated else None,
        conclusion=(
            decision.conclusion if decision else conclusion_text(progress.state.conclusion)
        ),
        answer=decision.answer if decision else None,
        confidence=decision.confidence if decision else None,
        rationale=decision.rationale if decision else "",
        dissent=decision.dissent if decision else (),
        incomplete=bool(decision and decision.incomplete),
        axes=explored_axes(progress, panel) if theta.tracks_axes else (),
        logical_axes=progress.state.records,
        orthogonality_history=tuple(one.orthogonality_score for one in progress.state.records),
        candidates=progress.state.candidates,
        rejected_candidates=decision.rejected_candidates if decision else (),
        brains=brains_of(state),
        nominal_llm_calls=sum(len(step.ask.personas) for step in state.steps),
        actual_llm_calls=usage.model_calls,
        usage=usage,
        usage_by_persona=usage_by_persona(state),
        declarations=declarations_of(state),
        turns=_turns(progress),
        errors=errors_of(state),
    )


def _turns(progress: Progress) -> tuple[DeliberationTurn, ...]:
    return tuple(
        DeliberationTurn(
            iteration=round_.number,
            agent=said.agent,
            stance=said.turn.stance,
            position=said.turn.position,
            confidence=said.turn.confidence,
            message=said.turn.message,
            arguments=said.turn.arguments,
            axes=said.turn.axes,
        )
        for round_ in progress.rounds
        for said in round_.said
    )
