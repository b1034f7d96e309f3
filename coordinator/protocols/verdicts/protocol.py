"""Debates of verdicts as a protocol."""

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Decided, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import ManagerDecision
from parley.bus.contracts.verdicts.own_rules import OWN_DECIDE_RULES, OWN_STOP_RULES
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import AllOf, Judge, OwnDecide, OwnStop
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import Answer, Course, Extent, Protocol
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import (
    AFTERWARDS,
    EPILOGUE,
    RULING,
    board_of,
    foreign_verdict,
    panel_of,
)
from parley.coordinator.protocols.verdicts.flow import advance, cancel
from parley.coordinator.protocols.verdicts.manager import majority_vote
from parley.coordinator.protocols.verdicts.result import result_of

# Beside the rounds: the opening, the follow-up and the manager's report; a judge's ruling is one more.
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
        before=Answer(majority_vote(opened, panel)) if opened else None,
    )


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, VerdictPanel)
    rounds = panel.max_rounds
    rulings = any(isinstance(rule, Judge) for rule in panel.decide.values())
    return Extent(rounds + STEPS_BESIDE_ROUNDS + rulings, rounds, len(panel.personas))


def refusal(state: DebateState, turn: TurnTaken) -> str | None:
    panel = panel_of(state)
    foreign = foreign_verdict(turn.content, panel.verdicts)
    if foreign is None:
        return None
    return f"the verdict {foreign!r} is none of the panel's: {', '.join(panel.verdicts)}"


def declare_step(state: DebateState, step: Step) -> TerminationDeclaration | None:
    """The debate itself declares after the opening and every round."""
    if step.name not in AFTERWARDS:
        return None
    return declare_judge(state, step) if step.name == RULING else declare_stage(state, step)


def lacks(panel: PanelBase) -> tuple[str, ...]:
    """Rules of somebody's own that are not installed here, or not as they were recorded."""
    assert isinstance(panel, VerdictPanel)
    single = [
        one for rule in panel.stop for one in (rule.rules if isinstance(rule, AllOf) else (rule,))
    ]
    found = [
        *(
            OWN_STOP_RULES.lack_of(one.name, one.digest)
            for one in single
            if isinstance(one, OwnStop)
        ),
        *(
            OWN_DECIDE_RULES.lack_of(one.name, one.digest)
            for one in panel.decide.values()
            if isinstance(one, OwnDecide)
        ),
    ]
    return tuple(one for one in found if one is not None)


PROTOCOL = Protocol(
    name="verdicts",
    rules=3,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
    declare=declare_step,
    refusal=refusal,
    lacks=lacks,
    epilogue=EPILOGUE,
)
