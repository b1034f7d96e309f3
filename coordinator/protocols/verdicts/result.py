"""The result of a debate of verdicts, as people and machines read it; a view of the state."""

from typing import Annotated

from pydantic import Field

from parley.bus.contracts.base import Contract, Usage, is_absent
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Decided, Status, TurnTaken
from parley.bus.contracts.verdicts.content import (
    FollowUp,
    ManagerDecision,
    Report,
    Standing,
    Statement,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictParams
from parley.bus.subjects import DebateRef
from parley.coordinator.core.accounting import (
    TurnError,
    brains_of,
    declarations_of,
    ended_by_rule,
    errors_of,
    usage_by_persona,
    usage_of,
)
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import OPENING, Board, board_of, panel_of
from parley.coordinator.protocols.verdicts.disagreement import disagreements
from parley.coordinator.protocols.verdicts.dissent import board_after
from parley.coordinator.protocols.verdicts.figures import figures_of
from parley.coordinator.protocols.verdicts.flow import reason_of
from parley.coordinator.protocols.verdicts.manager import majority_vote
from parley.coordinator.protocols.verdicts.turns import DebateTurn, turns_of


class VerdictResult(Contract):
    debate_id: str
    panel: str
    preset: str
    params: VerdictParams
    status: Status | None
    total_rounds: int
    opening_statements: tuple[Standing, ...]
    termination_reason: TerminationReason | None
    consensus_reached: bool
    disagreement_before: float
    disagreement_after: float
    disagreement_history: tuple[float, ...]
    unchanged_streak: int
    final_verdicts: dict[str, str]
    final_verdict: str | None
    confidence: float | None
    insufficient_evidence: bool
    incomplete: bool
    rationale: str
    follow_ups: tuple[FollowUp, ...]
    # The manager's words, where one was asked and had some.
    manager_report: Annotated[Report | None, Field(exclude_if=is_absent)] = None
    # The vote before anybody was challenged, and whether the debate moved the result away from it.
    opening_vote: str | None
    changed_by_debate: bool
    # Who thought for each persona, as its turns say.
    brains: dict[str, str]
    nominal_llm_calls: int
    # What the nominal count would have been with every round played.
    nominal_llm_calls_without_early_stop: int
    # The share of those that a rule has saved by stopping early; None while the debate runs.
    early_stop_savings: float | None
    actual_llm_calls: int
    usage: Usage
    usage_by_persona: dict[str, Usage]
    declarations: tuple[TerminationDeclaration, ...]
    turns: tuple[DebateTurn, ...]
    errors: tuple[TurnError, ...]


def result_of(ref: DebateRef, state: DebateState) -> VerdictResult:
    """Also of a debate that still runs: what is not known yet is null."""
    panel = panel_of(state)
    board = board_of(state)
    decision = state.found(Decided).decision if state.finding(Decided) else None
    assert decision is None or isinstance(decision, ManagerDecision)
    reason = reason_of(state.terminated) if state.terminated else None
    final = decision.final_verdict if decision else None
    vote = majority_vote(board.history[0], panel) if _somebody_opened(board) else None
    agents, rounds = len(panel.personas), max(0, board.round)
    usage = usage_of(state)
    levels = disagreements(board.history)
    return VerdictResult(
        debate_id=ref.id,
        panel=ref.panel,
        preset=panel.preset,
        params=panel.params,
        status=state.closed.status if state.closed else None,
        total_rounds=rounds,
        opening_statements=_openings(state),
        termination_reason=reason,
        consensus_reached=reason is TerminationReason.CONSENSUS_REACHED,
        disagreement_before=levels[0] if levels else 0.0,
        disagreement_after=levels[-1] if levels else 0.0,
        disagreement_history=levels,
        unchanged_streak=figures_of(board.history).unchanged_streak if levels else 0,
        final_verdicts={one.agent: one.verdict for one in board_after(state).positions},
        final_verdict=final,
        confidence=decision.confidence if decision else None,
        insufficient_evidence=bool(decision and decision.insufficient_evidence),
        incomplete=bool(decision and decision.incomplete),
        rationale=decision.rationale if decision else "",
        follow_ups=decision.follow_ups if decision else (),
        manager_report=decision.report if decision else None,
        opening_vote=vote,
        changed_by_debate=final is not None and final != vote,
        brains=brains_of(state),
        nominal_llm_calls=agents * rounds,
        nominal_llm_calls_without_early_stop=agents * panel.max_rounds,
        early_stop_savings=_savings(state, rounds, panel.max_rounds),
        actual_llm_calls=usage.model_calls,
        usage=usage,
        usage_by_persona=usage_by_persona(state),
        declarations=declarations_of(state),
        turns=turns_of(state),
        errors=errors_of(state),
    )


def _savings(state: DebateState, rounds: int, most: int) -> float | None:
    if state.terminated is None or most == 0:
        return None
    return 1.0 - min(rounds, most) / most if ended_by_rule(state) else 0.0


def _somebody_opened(board: Board) -> bool:
    return bool(board.history and board.history[0])


def _openings(state: DebateState) -> tuple[Standing, ...]:
    step = state.step(OPENING)
    said = {
        heard.said.persona: heard.said.content
        for heard in (step.heard if step else ())
        if isinstance(heard.said, TurnTaken) and isinstance(heard.said.content, Statement)
    }
    return tuple(
        Standing(agent=name, **said[name].model_dump(exclude={"kind"}))
        for name in state.running_panel.roster
        if name in said
    )
