"""
The flow of the aspect-sentiment pipeline.

    Stage 1 ─▶ debate ─▶ terminated ─▶ judge ─▶ judged ─▶ Stage 2 ─▶ overridden ─▶ moderated ─▶ closed

After every round of the debate the coordinator declares whether it goes on; the declaration rides
in the next ask or in `terminated`. A speaker that misses its turn is skipped. A stage or judge
without a usable answer is asked once more; then the debate closes as failed, with the reason. Once
the budget is used up nobody is asked any more: what Stage 1 found is settled without a review.
"""

from collections.abc import Callable, Sequence

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.findings import Judged, Moderated, Overridden, Recalled, Remembered
from parley.bus.contracts.absa.gate import OverrideOutcome
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.sentiment import AteOutput, AtsaOutput, ValidatorOutput
from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Asked, Closed, ControlFact, Status, Terminated
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.budget import exhausted
from parley.coordinator.core.flow import ask
from parley.coordinator.core.novelty import novelty_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.declare import declare_round, declare_stopped, judge_outcome
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.memory.recall import (
    debate_meta,
    episode_left,
    recall_before_review,
    recall_before_speech,
    slot_for,
)
from parley.coordinator.protocols.absa.pipeline import Settlement, shared_context
from parley.coordinator.protocols.absa.rules.final import PolarityContractViolation
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import (
    AGAIN,
    ATE,
    ATSA,
    JUDGE,
    S1_ATE,
    S1_ATSA,
    S1_VALIDATOR,
    S2,
    VALIDATOR,
    Wanted,
    is_turn,
    stage2_wanted,
    turn_step,
)

CANCELLED = TerminationReason.CANCELLED
BUDGET_EXHAUSTED = TerminationReason.BUDGET_EXHAUSTED
# Why a debate failed.
NO_USABLE_ANSWER = "no_usable_answer"
POLARITY_CONTRACT_VIOLATION = "polarity_contract_violation"


def advance(state: DebateState) -> ControlFact:
    reading = Reading(state)
    if state.terminated is None:
        return _stage1_or_debate(reading)
    if state.terminated.reason == CANCELLED:
        return stop(state)
    if state.finding(Overridden) is None:
        due = _judge(reading) or _stage2(reading) or _overridden(reading)
        broke = isinstance(due, Asked | Recalled | Closed) and exhausted(state)
        return _overridden(reading) if broke else due
    if state.finding(Moderated) is None:
        return Moderated(decided_at=state.facts, output=reading.settled.moderated)
    reason = state.found(Overridden).outcome.adoption.adopt_reason
    return _remembered(reading) or _closed(
        state, Status.COMPLETED, BUDGET_EXHAUSTED.value if reading.is_cut_short else reason
    )


def _stage1_or_debate(reading: Reading) -> ControlFact:
    state = reading.state
    debating = bool(state.steps) and is_turn(state.steps[-1])
    due = None if debating else _stage1(reading)
    broke = exhausted(state)
    if due is not None:
        return _closed(state, Status.FAILED, BUDGET_EXHAUSTED.value) if broke else due
    if broke and reading.panel.params.debates:
        return _stopped(reading, BUDGET_EXHAUSTED, _basis(state))
    return _debate(reading)


def cancel(state: DebateState) -> Terminated:
    assert state.cancelled_at is not None
    return _stopped(Reading(state), CANCELLED, (state.cancelled_at,))


def stop(state: DebateState) -> Closed:
    return _closed(state, Status.CANCELLED, CANCELLED.value)


def _stopped(reading: Reading, reason: TerminationReason, basis: tuple[int, ...]) -> Terminated:
    """From outside the debate: what Stage 1 found stands, if it is done."""
    state, params = reading.state, reading.panel.params
    rounds = sum(is_turn(step) for step in state.steps) // max(1, len(params.order))
    declaration = declare_stopped(reason, params, reading.heard, round_number=rounds, basis=basis)
    return Terminated(decided_at=state.facts, reason=reason, declaration=declaration)


def _stage1(reading: Reading) -> ControlFact | None:
    language = reading.panel.params.language_code

    def ate(attempt: int) -> AbsaRequest:
        return AteRequest(language_code=language, attempt=attempt)

    def atsa(attempt: int) -> AbsaRequest:
        found = reading.answers.given(S1_ATE, ATE, AteOutput)
        return AtsaRequest(language_code=language, attempt=attempt, ate=found)

    def validation(attempt: int) -> AbsaRequest:
        return ValidationRequest(
            language_code=language,
            attempt=attempt,
            ate=reading.answers.given(S1_ATE, ATE, AteOutput),
            atsa=reading.answers.given(S1_ATSA, ATSA, AtsaOutput),
        )

    return (
        _answered(reading, S1_ATE, {ATE: AteOutput}, ate)
        or _answered(reading, S1_ATSA, {ATSA: AtsaOutput}, atsa)
        or (
            _answered(reading, S1_VALIDATOR, {VALIDATOR: ValidatorOutput}, validation)
            if reading.panel.params.enable_validator
            else None
        )
    )


def _debate(reading: Reading) -> ControlFact:
    state, params = reading.state, reading.panel.params
    if not params.debates:
        return _stopped(reading, TerminationReason.DEBATE_DISABLED, _basis(state))
    order = params.order
    taken = sum(is_turn(step) for step in state.steps)
    finished, place = divmod(taken, len(order)) if order else (params.rounds, 0)
    heard = reading.heard
    if place or not finished:
        return _ask_turn(reading, finished + 1, order[place], heard, None)
    declared = declare_round(
        heard,
        reading.stage1.index(reading.panel.patterns),
        params,
        round_number=finished,
        basis=_basis(state),
        novelty=novelty_of(state.steps, latest=len(order)),
    )
    if declared.reason is not None:
        return Terminated(
            decided_at=state.facts, reason=declared.reason, declaration=declared.declaration
        )
    return _ask_turn(reading, finished + 1, order[0], heard, declared.declaration)


def _ask_turn(
    reading: Reading,
    round_number: int,
    key: str,
    heard: Sequence[HeardTurn],
    declaration: TerminationDeclaration | None,
) -> Asked | Recalled:
    panel = reading.panel
    recalled = recall_before_speech(reading, key, round_number, heard)
    if recalled is not None:
        return recalled
    request = DebateTurnRequest(
        language_code=panel.params.language_code,
        protocol=panel.params.debate.protocol,
        round=round_number,
        key=key,
        persona=panel.debaters[key],
        context=shared_context(reading.text, reading.stage1, slot_for(reading, key)),
        history=tuple(one.turn for one in heard),
    )
    return ask(reading.state, turn_step(round_number, key), (key,), request, declaration)


def _judge(reading: Reading) -> ControlFact | None:
    state, params = reading.state, reading.panel.params
    if state.finding(Judged) is not None or not params.debates:
        return None
    heard = reading.heard
    if not reading.answers.asked(JUDGE):
        recalled = recall_before_speech(reading, JUDGE, params.rounds, heard)
        if recalled is not None:
            return recalled

    def judgement(attempt: int) -> AbsaRequest:
        return JudgeRequest(
            language_code=params.language_code,
            attempt=attempt,
            protocol=params.debate.protocol,
            context=shared_context(reading.text, reading.stage1, slot_for(reading, JUDGE)),
            turns=tuple(one.turn for one in heard),
        )

    due = _answered(reading, JUDGE, {JUDGE: DebateSummary}, judgement)
    if due is not None:
        return due
    summary = reading.answers.given(JUDGE, JUDGE, DebateSummary)
    return Judged(
        decided_at=state.facts,
        summary=summary,
        outcome=judge_outcome(summary),
        memory=debate_meta(reading),
    )


def _stage2(reading: Reading) -> ControlFact | None:
    panel = reading.panel
    if not panel.params.enable_stage2:
        return None
    if not reading.answers.asked(S2):
        recalled = recall_before_review(reading)
        if recalled is not None:
            return recalled

    def review(attempt: int) -> AbsaRequest:
        first = reading.stage1
        return ReviewRequest(
            language_code=panel.params.language_code,
            attempt=attempt,
            ate=AteOutput(aspects=first.aspects),
            atsa=AtsaOutput(aspect_sentiments=first.sentiments),
            validator=first.validator,
            review_context=reading.context,
        )

    return _answered(reading, S2, stage2_wanted(panel), review)


def _overridden(reading: Reading) -> Overridden | Closed:
    state = reading.state
    try:
        settled = reading.settled
    except PolarityContractViolation as error:
        return _closed(state, Status.FAILED, POLARITY_CONTRACT_VIOLATION, str(error))
    return Overridden(decided_at=state.facts, outcome=_outcome(settled))


def _outcome(settled: Settlement) -> OverrideOutcome:
    gate = settled.patched.gate
    return OverrideOutcome(
        decisions=gate.decisions,
        stats=gate.stats,
        skip_reasons=gate.skip_reasons,
        gate_decision=gate.gate_decision,
        representative_skip=gate.representative_skip,
        l3_types=gate.l3_types,
        log=settled.patched.log,
        anchor_issues=settled.patched.anchor_issues,
        adoption=settled.adoption,
    )


def _remembered(reading: Reading) -> Remembered | None:
    condition = reading.panel.params.memory_condition
    if not condition.writes or reading.state.finding(Remembered) is not None:
        return None
    return Remembered(decided_at=reading.state.facts, episode=episode_left(reading))


def _answered(
    reading: Reading, step: str, wanted: Wanted, request: Callable[[int], AbsaRequest]
) -> ControlFact | None:
    """What has to happen before everybody in the step has given a usable answer; None if they have."""
    answers, state = reading.answers, reading.state
    if not answers.asked(step):
        return ask(state, step, tuple(wanted), request(1))
    missing = answers.missing(step, wanted)
    if not missing:
        return None
    if not answers.asked(step + AGAIN):
        return ask(state, step + AGAIN, missing, request(2))
    return _closed(state, Status.FAILED, NO_USABLE_ANSWER, answers.problem(step, missing[0]))


def _closed(state: DebateState, status: Status, reason: str, detail: str | None = None) -> Closed:
    return Closed(decided_at=state.facts, status=status, reason=reason, detail=detail)


def _basis(state: DebateState) -> tuple[int, ...]:
    return tuple(heard.ordinal for step in state.steps for heard in step.heard)
