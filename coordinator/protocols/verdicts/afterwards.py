"""What follows the end of a debate of verdicts: a judge's ruling, follow-ups, the decision, words."""

from parley.bus.contracts.facts import Abstained, Asked, Decided, TurnTaken
from parley.bus.contracts.verdicts.content import (
    FollowUp,
    Localization,
    LocalizeRequest,
    ManagerDecision,
    Report,
    ReportRequest,
    RoundRequest,
    TerminationReason,
)
from parley.coordinator.core.budget import exhausted
from parley.coordinator.core.flow import ask
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import (
    DISSENT,
    LOCALIZE,
    REPORT,
    RULING,
    Board,
    board_of,
    foreign_verdict,
    panel_of,
    stand_after,
)
from parley.coordinator.protocols.verdicts.brief import brief_of
from parley.coordinator.protocols.verdicts.decide import Case
from parley.coordinator.protocols.verdicts.dissent import (
    advocate_of,
    board_after,
    dissent_request,
)
from parley.coordinator.protocols.verdicts.manager import (
    UNDECIDED,
    decide_verdict,
    follow_ups_for,
    judge_for,
    stopped_by,
)
from parley.coordinator.protocols.verdicts.rationale import Word


def decide_afterwards(state: DebateState, reason: TerminationReason) -> Asked | Decided:
    advocate = advocate_of(board_of(state), panel_of(state), reason)
    if advocate is not None and state.cancelled_at is None and _may_be_asked(state, DISSENT):
        request = dissent_request(state, board_of(state), advocate)
        return ask(state, DISSENT, (advocate,), request, None)
    judge = judge_for(panel_of(state), reason, _rule_of(state))
    if judge is not None and state.cancelled_at is None and _may_be_asked(state, RULING):
        return _ask_to_decide(state, judge)
    localizers = _localizers(state, reason)
    if localizers and _may_be_asked(state, LOCALIZE):
        return _ask_for_region(state, reason, localizers)
    if _report_is_due(state, reason):
        return _ask_for_words(state, reason)
    return _decided(state, reason)


def _may_be_asked(state: DebateState, step: str) -> bool:
    """Once, and only while the budget lasts."""
    return state.step(step) is None and not exhausted(state)


def _ask_to_decide(state: DebateState, judge: str) -> Asked:
    board, panel = board_after(state), panel_of(state)
    request = RoundRequest(
        brief=brief_of(panel),
        round=board.round + 1,
        standing=board.statements(),
        challenges=(),
        history=board.past(board.round),
        decides=True,
    )
    return ask(state, RULING, (judge,), request, None)


def _localizers(state: DebateState, reason: TerminationReason) -> tuple[str, ...]:
    tasks = follow_ups_for(panel_of(state), stopped_by(reason, _rule_of(state)))
    return tuple(dict.fromkeys([task.persona for task, seated in tasks if seated]))


def _ask_for_region(
    state: DebateState, reason: TerminationReason, personas: tuple[str, ...]
) -> Asked:
    request = LocalizeRequest(
        brief=brief_of(panel_of(state)), reason=reason, standing=board_after(state).statements()
    )
    return ask(state, LOCALIZE, personas, request, None)


def _report_is_due(state: DebateState, reason: TerminationReason) -> bool:
    return (
        panel_of(state).manager is not None
        and reason not in UNDECIDED
        and state.cancelled_at is None
        and bool(board_of(state).positions)
        and _may_be_asked(state, REPORT)
    )


def _ask_for_words(state: DebateState, reason: TerminationReason) -> Asked:
    panel = panel_of(state)
    assert panel.manager is not None
    request = ReportRequest(
        brief=brief_of(panel),
        decision=_decision(state, reason),
        standing=board_after(state).statements(),
    )
    return ask(state, REPORT, (panel.manager,), request, None)


def _decided(state: DebateState, reason: TerminationReason) -> Decided:
    """What the manager says is attached; what the rules decided stays as it is."""
    decision = _decision(state, reason)
    step = state.step(REPORT)
    for heard in step.heard if step is not None else ():
        said = heard.said.content if isinstance(heard.said, TurnTaken) else None
        if isinstance(said, Report):
            decision = decision.model_copy(update={"report": said})
    return Decided(decided_at=state.facts, decision=decision)


def _decision(state: DebateState, reason: TerminationReason) -> ManagerDecision:
    board, panel = board_after(state), panel_of(state)
    case = Case(
        panel,
        board.history,
        {one.position.agent: one.evidence for one in board.standing},
        _word(state, board),
    )
    quotes = {one.position.agent: one.arguments or (one.reasoning,) for one in board.standing}
    decision = decide_verdict(reason, case, rule=_rule_of(state), quotes=quotes)
    return _answered(decision, state.step(LOCALIZE))


def _word(state: DebateState, board: Board) -> Word:
    """What the judge said when it was asked to decide."""
    step = state.step(RULING)
    if step is None or not step.heard:
        return Word(None)
    heard = step.heard[0]
    if isinstance(heard.said, Abstained):
        return Word(None, lack="no_answer", detail=heard.said.reason)
    verdicts = panel_of(state).verdicts
    foreign = foreign_verdict(heard.said.content, verdicts)
    after = stand_after(board.latest.get(heard.said.persona), heard, verdicts)
    if after is None:
        return Word(None, lack="no_label" if foreign else "no_verdict", detail=foreign or "")
    return Word(after.verdict, after.confidence)


def _answered(decision: ManagerDecision, step: Step | None) -> ManagerDecision:
    """The decision with the answers to its follow-ups attached."""
    if not decision.follow_ups:
        return decision
    return decision.model_copy(
        update={"follow_ups": tuple(_with_answer(one, step) for one in decision.follow_ups)}
    )


def _with_answer(follow_up: FollowUp, step: Step | None) -> FollowUp:
    """Nobody was asked where nobody can answer, or where the budget was spent."""
    if follow_up.status is not None:
        return follow_up
    heard = step.heard_from(follow_up.agent) if step is not None else None
    said = heard.said.content if heard and isinstance(heard.said, TurnTaken) else None
    if isinstance(said, Localization):
        return follow_up.model_copy(update={"status": "answered", "answer": said})
    return follow_up.model_copy(update={"status": "unanswered"})


def _rule_of(state: DebateState) -> str:
    """As the declaration names the rule that ended the debate."""
    assert state.terminated is not None
    return state.terminated.declaration.details.rule
