"""
The flow of a deliberation.

    iterations (see `progress`) ─▶ terminated ─▶ judge (once more: judge-again) ─▶ decided ─▶ closed

After every iteration the coordinator declares whether it goes on; the declaration rides in the
fact it leads to: the next iteration's first ask, or `terminated`. An answer that stays away has a
default: no judgement means unknown figures, no forced perspective means going on, no sensitivity
counts as high, no summary leaves the last conclusion standing. So does a budget that is used up.
"""

from parley.bus.contracts.deliberation.content import RegimeReason, Summary
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import (
    Asked,
    Closed,
    ControlFact,
    Decided,
    Status,
    Terminated,
    TurnTaken,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.budget import exhausted, refused
from parley.coordinator.core.flow import STATUS_OF, ask
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.deliberation.closing import decision_of, declare_operational
from parley.coordinator.protocols.deliberation.progress import (
    Progress,
    StepKind,
    progress_of,
    step_name,
)
from parley.coordinator.protocols.deliberation.requests import request_for, summary_request

BUDGET_EXHAUSTED = TerminationReason.BUDGET_EXHAUSTED
JUDGE = "judge"
JUDGE_AGAIN = "judge-again"


def advance(state: DebateState) -> ControlFact:
    if state.terminated is None:
        return _go_on_or_end(state)
    if state.finding(Decided) is not None:
        return _closed(state, state.terminated)
    judge = _step_of_judge(state, state.terminated)
    return _decided(state) if judge is None else _ask_judge(state, judge)


def cancel(state: DebateState) -> Terminated:
    assert state.cancelled_at is not None
    return _stopped(state, TerminationReason.CANCELLED, basis=(state.cancelled_at,))


def panel_of(state: DebateState) -> DeliberationPanel:
    panel = state.running_panel
    assert isinstance(panel, DeliberationPanel)
    return panel


def summary_of(state: DebateState) -> Summary | None:
    for name in (JUDGE, JUDGE_AGAIN):
        step = state.step(name)
        for heard in step.heard if step else ():
            if isinstance(heard.said, TurnTaken) and isinstance(heard.said.content, Summary):
                return heard.said.content
    return None


def _go_on_or_end(state: DebateState) -> ControlFact:
    panel = panel_of(state)
    progress = progress_of(state, panel)
    basis = progress.current.basis if progress.current else ()
    if refused(state):
        return _stopped(state, BUDGET_EXHAUSTED, basis)
    if progress.quorum_lost:
        return _stopped(state, TerminationReason.QUORUM_LOST, basis)
    if progress.due is None:
        return _ended(state, progress)
    if exhausted(state):
        return _stopped(state, BUDGET_EXHAUSTED, basis)
    return _ask_next(state, panel, progress, progress.due)


def _ask_next(
    state: DebateState, panel: DeliberationPanel, progress: Progress, due: StepKind
) -> Asked:
    debating = due in (StepKind.THINK, StepKind.SCORE)
    debaters = tuple(persona.name for persona in panel.debaters)
    iteration = progress.current.number if progress.current else len(progress.judged) + 1
    return ask(
        state,
        step_name(due, iteration),
        debaters if debating else (panel.facilitator,),
        request_for(due, panel, progress),
        progress.declaration if due is StepKind.THINK else None,
    )


def _ended(state: DebateState, progress: Progress) -> Terminated:
    declaration = progress.declaration
    assert declaration is not None, "nothing is due only after a declaration"
    capped = declaration.details.forced_by_cap
    return Terminated(
        decided_at=state.facts,
        reason=(
            RegimeReason.MAX_ITERATIONS if capped else RegimeReason(declaration.termination_type)
        ),
        declaration=declaration,
    )


def _stopped(state: DebateState, reason: TerminationReason, basis: tuple[int, ...]) -> Terminated:
    panel = panel_of(state)
    declaration = declare_operational(reason, panel.params, progress_of(state, panel), basis)
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _step_of_judge(state: DebateState, terminated: Terminated) -> str | None:
    """The step in which the judge is to be asked next, if it is."""
    if terminated.reason not in list(RegimeReason) or summary_of(state) is not None:
        return None
    if exhausted(state):
        return None
    return next((name for name in (JUDGE, JUDGE_AGAIN) if state.step(name) is None), None)


def _ask_judge(state: DebateState, step: str) -> Asked:
    panel = panel_of(state)
    assert state.terminated is not None
    reason = RegimeReason(state.terminated.reason)
    request = summary_request(panel, progress_of(state, panel), reason)
    return ask(state, step, (panel.judge,), request)


def _decided(state: DebateState) -> Decided:
    panel = panel_of(state)
    assert state.terminated is not None
    decision = decision_of(state.terminated, panel, progress_of(state, panel), summary_of(state))
    return Decided(decided_at=state.facts, decision=decision)


def _closed(state: DebateState, terminated: Terminated) -> Closed:
    status = STATUS_OF.get(terminated.reason, Status.COMPLETED)
    return Closed(decided_at=state.facts, status=status, reason=terminated.reason)
