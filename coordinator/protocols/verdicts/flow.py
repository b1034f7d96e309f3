"""
The flow of a debate of verdicts.

    opening ─▶ round-1 ─▶ … ─▶ terminated ─▶ (localize, after a deadlock)
            ─▶ (report, where a manager sits) ─▶ decided ─▶ closed

After the opening and after every round the coordinator declares whether it goes on; the
declaration rides in the fact it leads to: the next round's ask, or `terminated`.
"""

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import (
    Asked,
    Closed,
    ControlFact,
    Decided,
    Status,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.verdicts.content import (
    FollowUp,
    Localization,
    LocalizeRequest,
    ManagerDecision,
    OpeningRequest,
    Report,
    ReportRequest,
    RoundRequest,
    TerminationReason,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.coordinator.core.budget import exhausted, limits_of, refused, spent_all, spent_in
from parley.coordinator.core.flow import STATUS_OF, ask
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import (
    LOCALIZE,
    OPENING,
    REPORT,
    Board,
    board_of,
    round_step,
)
from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.declare import declare, declare_operational
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.manager import LOCALIZER, decide_verdict
from parley.coordinator.protocols.verdicts.termination import evaluate

# Endings without a decision that would be worth words.
UNREPORTED = frozenset(
    {
        TerminationReason.CANCELLED,
        TerminationReason.QUORUM_LOST,
        TerminationReason.DEBATE_DISABLED,
    }
)


def advance(state: DebateState) -> ControlFact:
    if state.terminated is None:
        return _next_round_or_end(state)
    reason = reason_of(state.terminated)
    if state.finding(Decided) is not None:
        return _closed(state, reason)
    if _localization_is_due(state, reason):
        return _ask_for_region(state, reason)
    if _report_is_due(state, reason):
        return _ask_for_words(state, reason)
    return _decided(state, reason)


def cancel(state: DebateState) -> Terminated:
    assert state.cancelled_at is not None
    board = board_of(state)
    return _stopped(
        state,
        TerminationReason.CANCELLED,
        _operational(state, board, TerminationReason.CANCELLED, basis=(state.cancelled_at,)),
    )


def _next_round_or_end(state: DebateState) -> ControlFact:
    panel = panel_of(state)
    if not state.steps:
        return ask(state, OPENING, panel.roster, OpeningRequest(), None)
    board = board_of(state)
    if refused(state):
        return _out_of_budget(state, board)
    if len(board.positions) < panel.quorum_size:
        lost = TerminationReason.QUORUM_LOST
        return _stopped(state, lost, _operational(state, board, lost, basis=board.basis(1)))
    evaluation = evaluate(board.history, panel.params)
    declaration = declare(
        evaluation, basis=board.basis(evaluation.unchanged_streak), axes=_axes(panel, board)
    )
    if evaluation.reason is not None:
        return _stopped(state, evaluation.reason, declaration)
    if spent_all(state):
        return _out_of_budget(state, board)
    return _ask_round(state, board, declaration)


def _out_of_budget(state: DebateState, board: Board) -> Terminated:
    """Another round would cost more than is left; the statements made so far decide."""
    reason = TerminationReason.BUDGET_EXHAUSTED
    panel = panel_of(state)
    declaration = declare_operational(
        reason,
        iteration=max(0, board.round),
        basis=board.basis(len(board.heard)),
        axes=_axes(panel, board),
        disagreement=disagreement([position.verdict for position in board.positions]),
        thresholds=limits_of(panel),
        values=spent_in(state)._asdict(),
    )
    return _stopped(state, reason, declaration)


def _ask_round(
    state: DebateState, board: Board, declaration: TerminationDeclaration
) -> ControlFact:
    panel = panel_of(state)
    number = board.round + 1
    challenged = challenges(board.positions)
    request = RoundRequest(
        round=number,
        standing=board.statements(),
        challenges=challenged,
        history=board.past(panel.params.history_rounds),
    )
    personas = panel.roster
    if panel.params.skip_unchallenged:
        called = {challenge.challenged for challenge in challenged}
        present = {position.agent for position in board.positions}
        personas = tuple(name for name in personas if name in called or name not in present)
    return ask(state, round_step(number), personas, request, declaration)


def _stopped(
    state: DebateState, reason: TerminationReason, declaration: TerminationDeclaration
) -> Terminated:
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _operational(
    state: DebateState, board: Board, reason: TerminationReason, basis: tuple[int, ...]
) -> TerminationDeclaration:
    return declare_operational(
        reason,
        iteration=max(0, board.round),
        basis=basis,
        axes=_axes(panel_of(state), board),
        disagreement=disagreement([position.verdict for position in board.positions]),
    )


def _localization_is_due(state: DebateState, reason: TerminationReason) -> bool:
    return (
        reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK
        and LOCALIZER in state.running_panel.roster
        and state.step(LOCALIZE) is None
        and not exhausted(state)
    )


def _ask_for_region(state: DebateState, reason: TerminationReason) -> Asked:
    request = LocalizeRequest(reason=reason, standing=board_of(state).statements())
    return ask(state, LOCALIZE, (LOCALIZER,), request, None)


def _report_is_due(state: DebateState, reason: TerminationReason) -> bool:
    return (
        panel_of(state).manager is not None
        and reason not in UNREPORTED
        and state.cancelled_at is None
        and state.step(REPORT) is None
        and bool(board_of(state).positions)
        and not exhausted(state)
    )


def _ask_for_words(state: DebateState, reason: TerminationReason) -> Asked:
    manager = panel_of(state).manager
    assert manager is not None
    request = ReportRequest(
        decision=_decision(state, reason), standing=board_of(state).statements()
    )
    return ask(state, REPORT, (manager,), request, None)


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
    panel = panel_of(state)
    board = board_of(state)
    decision = decide_verdict(
        reason,
        board.positions,
        panel.trust,
        roster=panel.roster,
        mixed_content_min_confidence=panel.params.mixed_content_min_confidence,
        evidence={one.position.agent: one.arguments or (one.reasoning,) for one in board.standing},
    )
    return _answered(decision, state.step(LOCALIZE))


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


def _closed(state: DebateState, reason: TerminationReason) -> Closed:
    status = STATUS_OF.get(reason, Status.COMPLETED)
    heard = len(board_of(state).positions)
    if reason is TerminationReason.BUDGET_EXHAUSTED and heard < panel_of(state).quorum_size:
        status = Status.FAILED
    return Closed(decided_at=state.facts, status=status, reason=reason.value)


def _axes(panel: VerdictPanel, board: Board) -> tuple[str, ...]:
    present = {position.agent for position in board.positions}
    return tuple([one.speciality or one.name for one in panel.personas if one.name in present])


def panel_of(state: DebateState) -> VerdictPanel:
    panel = state.running_panel
    assert isinstance(panel, VerdictPanel)
    return panel


def reason_of(terminated: Terminated) -> TerminationReason:
    return TerminationReason(terminated.reason)
