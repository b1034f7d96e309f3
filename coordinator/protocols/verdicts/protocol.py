"""Debates of verdicts as a protocol."""

from dataclasses import replace

from parley.bus.contracts.facts import Decided, Status
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import ManagerDecision
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.endings import Ending, ending_of
from parley.coordinator.core.protocol import Answer, Course, Extent, Protocol
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.board import AFTERWARDS, Stand, board_of
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm, CobraResponse, cobra
from parley.coordinator.protocols.verdicts.flow import advance, cancel, panel_of
from parley.coordinator.protocols.verdicts.manager import majority_vote
from parley.coordinator.protocols.verdicts.result import result_of

# Beside the rounds: the opening, the follow-up and the manager's report.
STEPS_BESIDE_ROUNDS = 3


def course_of(state: DebateState) -> Course:
    board, panel = board_of(state), panel_of(state)
    decided = state.finding(Decided)
    decision = decided.decision if decided else None
    assert decision is None or isinstance(decision, ManagerDecision)
    opened = board.history[0] if board.history else ()
    return Course(
        rounds=max(0, board.round),
        answer=Answer(decision.final_verdict) if decision else None,
        confidence=decision.confidence if decision else None,
        before=Answer(majority_vote(opened, panel.trust)) if opened else None,
    )


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, VerdictPanel)
    rounds = panel.params.max_rounds
    return Extent(rounds + STEPS_BESIDE_ROUNDS, rounds, len(panel.personas))


def merged_by_cobra(state: DebateState, algorithm: CobraAlgorithm | None) -> Ending:
    """The ending with COBRA in the manager's place; only of a debate of verdicts that was decided."""
    ending, panel = ending_of(state), state.running_panel
    if not isinstance(panel, VerdictPanel) or ending.status is not Status.COMPLETED:
        return ending
    responses = [
        CobraResponse(
            stand.position.agent, stand.verdict, stand.confidence, _generation_score(stand)
        )
        for stand in board_of(state).standing
    ]
    merged = cobra(responses, panel.trust, algorithm)
    return replace(ending, answer=Answer(merged.final_verdict), confidence=merged.confidence)


def _generation_score(stand: Stand) -> float | None:
    score = stand.evidence.get("ai_generation_score")
    return float(score) if isinstance(score, int | float) and 0 <= score <= 1 else None


PROTOCOL = Protocol(
    name="verdicts",
    rules=1,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
    epilogue=AFTERWARDS,
)
