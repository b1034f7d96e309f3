"""
The flow of a debate of verdicts.

    opening ─▶ round-1 ─▶ … ─▶ terminated ─▶ (dissent, where all agree)
            ─▶ (ruling, where a judge decides) ─▶ (localize, where the panel has a follow-up)
            ─▶ (report, where a manager sits) ─▶ decided ─▶ closed

After the opening and after every round the coordinator declares whether it goes on; the
declaration rides in the fact it leads to: the next round's ask, or `terminated`.
"""

from collections.abc import Sequence

from parley.bus.contracts.declaration import Check, TerminationDeclaration
from parley.bus.contracts.facts import Closed, ControlFact, Decided, Status, Terminated
from parley.bus.contracts.verdicts.content import OpeningRequest, RoundRequest, TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.contracts.verdicts.visibility import shuffled
from parley.coordinator.core.budget import limits_of, refused, spent_all, spent_in
from parley.coordinator.core.checks import check
from parley.coordinator.core.flow import STATUS_OF, ask, ask_each
from parley.coordinator.core.novelty import novelty_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.core.tolerance import at_least
from parley.coordinator.protocols.verdicts.afterwards import decide_afterwards
from parley.coordinator.protocols.verdicts.board import (
    OPENING,
    Board,
    board_of,
    panel_of,
    round_step,
)
from parley.coordinator.protocols.verdicts.brief import brief_of
from parley.coordinator.protocols.verdicts.challenges import challenges, with_points
from parley.coordinator.protocols.verdicts.chamber import phase_of, roles_of, speaking_order
from parley.coordinator.protocols.verdicts.declare import Heard, declare, declare_operational
from parley.coordinator.protocols.verdicts.disagreement import disagreement
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.sensitivity import sensitivity_of
from parley.coordinator.protocols.verdicts.termination import evaluate, stops_of


def advance(state: DebateState) -> ControlFact:
    if state.terminated is None and state.open_step is not None:
        return _ask_round(state, board_of(state), None)
    if state.terminated is None:
        return _next_round_or_end(state)
    reason = reason_of(state.terminated)
    if state.finding(Decided) is not None:
        return _closed(state, reason)
    return decide_afterwards(state, reason)


def cancel(state: DebateState) -> Terminated:
    assert state.cancelled_at is not None
    board = board_of(state)
    return _stopped(
        state,
        TerminationReason.CANCELLED,
        _operational(state, board, TerminationReason.CANCELLED, basis=(state.cancelled_at,)),
    )


def _next_round_or_end(state: DebateState) -> ControlFact:  # noqa: PLR0911  one an end
    panel = panel_of(state)
    if not state.steps:
        return ask(state, OPENING, panel.roster, OpeningRequest(brief=brief_of(panel)), None)
    board = board_of(state)
    if refused(state):
        return _out_of_budget(state, board)
    if len(board.positions) < panel.quorum_size:
        lost = TerminationReason.QUORUM_LOST
        spoken = check("spoken", len(board.positions), "<", panel.quorum_size, True)
        return _stopped(
            state, lost, _operational(state, board, lost, basis=board.basis(1), checks=(spoken,))
        )
    if panel.chamber == "asynchronous" and board.round > 0 and _speakers_left(board, panel):
        return _ask_round(state, board, None)
    stops = stops_of(panel)
    spent = spent_in(state) if stops.counts_spending else None
    evaluation = evaluate(board.history, stops, spent)
    out_of_budget = evaluation.reason is TerminationReason.BUDGET_EXHAUSTED
    if out_of_budget or (evaluation.reason is None and spent_all(state)):
        return _out_of_budget(state, board)
    declaration = declare(
        evaluation,
        _heard(state, board),
        sensitivity_of(panel, board.history, spent),
        basis=board.basis(evaluation.unchanged_streak),
    )
    if evaluation.reason is not None:
        return _stopped(state, evaluation.reason, declaration)
    return _ask_round(state, board, declaration)


def _speakers_left(board: Board, panel: VerdictPanel) -> tuple[str, ...]:
    """Of an asynchronous round that is under way, in their order."""
    order = speaking_order(board.history[-2], panel.roster)
    return tuple(name for name in order if name not in board.asked)


def _ask_next_speaker(
    state: DebateState, board: Board, declaration: TerminationDeclaration | None
) -> ControlFact:
    """With a declaration a round opens; without one it goes on."""
    panel = panel_of(state)
    if declaration is None:
        number, before = board.round, board.history[-2]
        speaker, place = _speakers_left(board, panel)[0], len(board.asked) + 1
    else:
        number, before = board.round + 1, board.positions
        speaker, place = speaking_order(before, panel.roster)[0], 1
    request = _round_request(state, board, number, before)
    request = request.for_persona(speaker) if panel.visibility != "named" else request
    return ask(state, round_step(number, place), (speaker,), request, declaration)


def _out_of_budget(state: DebateState, board: Board) -> Terminated:
    """Another round would cost more than is left; the statements made so far decide."""
    reason = TerminationReason.BUDGET_EXHAUSTED
    panel = panel_of(state)
    limits, spent = limits_of(panel), spent_in(state)._asdict()
    declaration = declare_operational(
        reason,
        _heard(state, board),
        iteration=max(0, board.round),
        basis=board.basis(len(board.heard)),
        disagreement=disagreement([position.verdict for position in board.positions]),
        thresholds=limits,
        values=spent,
        checks=tuple(
            check(name, used, ">=", limit, at_least(used, limit))
            for name, used in spent.items()
            if isinstance(limit := limits.get(f"budget_{name}"), int | float)
        ),
    )
    return _stopped(state, reason, declaration)


def _ask_round(
    state: DebateState, board: Board, declaration: TerminationDeclaration | None
) -> ControlFact:
    """One ask for all where they may see the same, otherwise one for each, of which this is the next."""
    panel = panel_of(state)
    if panel.chamber == "asynchronous":
        return _ask_next_speaker(state, board, declaration)
    number = board.round + 1
    request = _round_request(state, board, number, board.positions)
    personas = panel.roster
    if panel.params.skip_unchallenged and panel.chamber is None:
        called = {challenge.challenged for challenge in request.challenges}
        present = {position.agent for position in board.positions}
        personas = tuple(name for name in personas if name in called or name not in present)
    put = ask if panel.visibility == "named" else ask_each
    return put(state, round_step(number), personas, request, declaration)


def _round_request(
    state: DebateState, board: Board, number: int, before: Sequence[Position]
) -> RoundRequest:
    """`before` is where all stood when the round opened."""
    panel = panel_of(state)
    chamber = panel.chamber
    challenged = challenges(board.positions)
    peers: tuple[str, ...] = ()
    if panel.visibility == "anonymous":
        peers = shuffled(panel.roster, f"{state.input.model_dump_json()}/{number}")
    return RoundRequest(
        brief=brief_of(panel),
        round=number,
        standing=board.statements(),
        challenges=with_points(challenged, board.statements()),
        history=board.past(panel.params.history_rounds),
        visibility=panel.visibility,
        peers=peers,
        roles={} if chamber is None else roles_of(chamber, number, before, panel.roster),
        phase=phase_of(number)[0] if chamber == "structured" else None,
    )


def _stopped(
    state: DebateState, reason: TerminationReason, declaration: TerminationDeclaration
) -> Terminated:
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _operational(
    state: DebateState,
    board: Board,
    reason: TerminationReason,
    basis: tuple[int, ...],
    checks: tuple[Check, ...] = (),
) -> TerminationDeclaration:
    return declare_operational(
        reason,
        _heard(state, board),
        iteration=max(0, board.round),
        basis=basis,
        disagreement=disagreement([position.verdict for position in board.positions]),
        checks=checks,
    )


def _closed(state: DebateState, reason: TerminationReason) -> Closed:
    status = STATUS_OF.get(reason, Status.COMPLETED)
    heard = len(board_of(state).positions)
    if reason is TerminationReason.BUDGET_EXHAUSTED and heard < panel_of(state).quorum_size:
        status = Status.FAILED
    return Closed(decided_at=state.facts, status=status, reason=reason.value)


def _heard(state: DebateState, board: Board) -> Heard:
    personas = panel_of(state).personas
    present = {position.agent for position in board.positions}
    return Heard(
        axes=tuple([one.speciality or one.name for one in personas if one.name in present]),
        missing=len(personas) - len(present),
        novelty=novelty_of(state.steps),
    )


def reason_of(terminated: Terminated) -> TerminationReason:
    return TerminationReason(terminated.reason)
