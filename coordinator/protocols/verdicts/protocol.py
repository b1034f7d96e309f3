"""Debates of verdicts as a protocol."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Decided, TurnTaken
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import ManagerDecision
from parley.bus.contracts.verdicts.own_rules import OWN_DECIDE_RULES, OWN_STOP_RULES
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.rules import (
    ANY,
    AllOf,
    Judge,
    OwnDecide,
    OwnStop,
    Plurality,
    Rounds,
)
from parley.coordinator.core.checks import in_words
from parley.coordinator.core.nodes import declare_judge, declare_stage
from parley.coordinator.core.protocol import Answer, Course, Extent, Flip, Opening, Protocol
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import (
    AFTERWARDS,
    DISSENT,
    EPILOGUE,
    OPENING,
    RULING,
    Board,
    board_of,
    foreign_verdict,
    panel_of,
)
from parley.coordinator.protocols.verdicts.dissent import board_after, dissent_of
from parley.coordinator.protocols.verdicts.figures import History
from parley.coordinator.protocols.verdicts.flow import advance, cancel
from parley.coordinator.protocols.verdicts.manager import majority_vote
from parley.coordinator.protocols.verdicts.result import result_of
from parley.coordinator.protocols.verdicts.trust import UNKNOWN_AGENT_TRUST
from parley.coordinator.protocols.verdicts.votes import best_of, confidence_scores, leading

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
        opening=_opening(board_after(state), panel) if opened else Opening(),
    )


def _opening(board: Board, panel: VerdictPanel) -> Opening:
    opened = board.history[0]
    weighted, _ = best_of(confidence_scores(opened), panel.verdicts or (panel.undecided,))
    return Opening(
        steps=frozenset({OPENING}),
        alone={one.agent: Answer(one.verdict) for one in opened},
        weighted=Answer(weighted),
        most_trusted=_most_trusted(panel, [one.agent for one in opened]),
        flips=tuple(_flips(board.history)),
    )


def _most_trusted(panel: VerdictPanel, present: Sequence[str]) -> str | None:
    leaders = leading(present, lambda name: panel.trust.get(name, UNKNOWN_AGENT_TRUST))
    return leaders[0] if len(leaders) == 1 else None


def _flips(history: History) -> Iterator[Flip]:
    for number, (before, after) in enumerate(pairwise(history), start=1):
        held = {one.agent: one.verdict for one in before}
        for one in after:
            if one.agent in held and held[one.agent] != one.verdict:
                yield Flip(
                    persona=one.agent, round=number, before=held[one.agent], after=one.verdict
                )


def extent_of(panel: PanelBase) -> Extent:
    assert isinstance(panel, VerdictPanel)
    rounds = panel.max_rounds
    rulings = any(isinstance(rule, Judge) for rule in panel.decide.values())
    steps = rounds * (len(panel.personas) if panel.chamber == "asynchronous" else 1)
    asked = STEPS_BESIDE_ROUNDS + rulings + (panel.dissent is not None)
    return Extent(steps + asked, rounds, len(panel.personas))


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
    if step.name == DISSENT:
        return _declare_dissent(state, step)
    return declare_judge(state, step) if step.name == RULING else declare_stage(state, step)


def _declare_dissent(state: DebateState, step: Step) -> TerminationDeclaration:
    """Answered or not, and whether what was said counts."""
    declared, heard = declare_stage(state, step), dissent_of(state)
    if heard is None:
        return declared
    details = declared.details.model_copy(
        update={"rule": heard.rule, "checks": (*declared.details.checks, *heard.checks)}
    )
    why = f"{step.name} ended by {heard.rule}: {'; '.join(map(in_words, heard.checks))}."
    return declared.model_copy(update={"details": details, "justification": why})


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


def without_debate(panel: PanelBase) -> PanelBase:
    assert isinstance(panel, VerdictPanel)
    opening_only = {"stop": (Rounds(at=0),), "decide": {ANY: Plurality()}, "follow_ups": ()}
    return panel.model_copy(update={**opening_only, "manager": None, "dissent": None})


PROTOCOL = Protocol(
    name="verdicts",
    rules=3,
    advance=advance,
    cancel=cancel,
    result=result_of,
    course=course_of,
    extent=extent_of,
    declare=declare_step,
    without_debate=without_debate,
    refusal=refusal,
    lacks=lacks,
    epilogue=EPILOGUE,
)
