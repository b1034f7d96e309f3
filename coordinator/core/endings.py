"""
How a debate ended, in terms that debates of all protocols share.

`answer` is what was asked for: a verdict, a sentence's label, a conclusion. `before` is the same as
it stood before anybody argued, so that everybody can see what the debate changed.
"""

from dataclasses import dataclass, replace

from parley.bus.contracts.absa.debate import SentimentTuple
from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.facts import Status
from parley.bus.contracts.panel import AbsaPanel, DeliberationPanel, Panel, VerdictPanel
from parley.bus.contracts.verdicts.content import ManagerDecision
from parley.coordinator.core.accounting import ended_by_rule
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.absa.final import build_tuples
from parley.coordinator.protocols.absa.sample import Reading
from parley.coordinator.protocols.absa.steps import is_turn
from parley.coordinator.protocols.deliberation.progress import progress_of
from parley.coordinator.protocols.verdicts.board import Stand, board_of
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm, CobraResponse, cobra
from parley.coordinator.protocols.verdicts.manager import majority_vote

# (aspect, polarity) of a sentence.
Tuples = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """`tuples` only of a debate about aspects."""

    label: str
    tuples: Tuples | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """
    `rounds` is what the panel's protocol iterates: rounds, or iterations of a deliberation.

    Calls are nominal: one for each speaker and round, whoever thinks for the speaker; people are
    told of turns, as models are called as well.
    """

    status: Status | None
    reason: str | None
    by_rule: bool
    rounds: int
    most_rounds: int
    speakers: int
    answer: Answer | None
    confidence: float | None
    before: Answer | None

    @property
    def calls(self) -> int:
        return self.speakers * self.rounds

    @property
    def calls_without_early_stop(self) -> int:
        return self.speakers * self.most_rounds


@dataclass(frozen=True, slots=True)
class _Course:
    rounds: int
    answer: Answer | None
    confidence: float | None
    before: Answer | None = None


def ending_of(state: DebateState) -> Ending:
    """Also of a debate that is not over: what is not known yet is None."""
    panel = state.running_panel
    course = _course(state, panel)
    return Ending(
        status=state.closed.status if state.closed else None,
        reason=state.terminated.reason.value if state.terminated else None,
        by_rule=ended_by_rule(state),
        rounds=course.rounds,
        most_rounds=_most_rounds(panel),
        speakers=_speakers(panel),
        answer=course.answer,
        confidence=course.confidence,
        before=course.before,
    )


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
    return replace(ending, answer=Answer(merged.final_verdict.value), confidence=merged.confidence)


def _generation_score(stand: Stand) -> float | None:
    score = stand.evidence.get("ai_generation_score")
    return float(score) if isinstance(score, int | float) and 0 <= score <= 1 else None


def _course(state: DebateState, panel: Panel) -> _Course:
    match panel:
        case VerdictPanel():
            return _of_verdicts(state, panel)
        case AbsaPanel():
            return _of_aspects(state, panel)
        case DeliberationPanel():
            return _of_deliberation(state, panel)


def _of_verdicts(state: DebateState, panel: VerdictPanel) -> _Course:
    board = board_of(state)
    decision = state.decided.decision if state.decided else None
    assert decision is None or isinstance(decision, ManagerDecision)
    opened = board.history[0] if board.history else ()
    return _Course(
        rounds=max(0, board.round),
        answer=Answer(decision.final_verdict.value) if decision else None,
        confidence=decision.confidence if decision else None,
        before=Answer(majority_vote(opened, panel.trust).value) if opened else None,
    )


def _of_aspects(state: DebateState, panel: AbsaPanel) -> _Course:
    taken = sum(is_turn(step) and step.is_over and not step.abandoned for step in state.steps)
    rounds = taken // max(1, len(panel.params.order))
    if state.moderated is None or state.overridden is None:
        return _Course(rounds, None, None)
    reading = Reading(state)
    moderated = state.moderated.output
    first = reading.settled.moderator_input.stage1_ate
    return _Course(
        rounds=rounds,
        answer=Answer(
            moderated.final_label, _plain(state.overridden.outcome.adoption.final_tuples)
        ),
        confidence=moderated.confidence,
        before=Answer(first.label, _plain(build_tuples(reading.stage1.sentiments))),
    )


def _of_deliberation(state: DebateState, panel: DeliberationPanel) -> _Course:
    progress = progress_of(state, panel)
    decision = state.decided.decision if state.decided else None
    assert decision is None or isinstance(decision, DeliberationDecision)
    return _Course(
        rounds=progress.state.iterations,
        answer=Answer(decision.conclusion) if decision else None,
        confidence=decision.confidence if decision else None,
    )


def _plain(tuples: tuple[SentimentTuple, ...]) -> Tuples:
    return frozenset((one.key, str(one.polarity)) for one in tuples)


def _most_rounds(panel: Panel) -> int:
    match panel:
        case VerdictPanel():
            return panel.params.max_rounds
        case AbsaPanel():
            return panel.params.rounds if panel.params.debates else 0
        case DeliberationPanel():
            return panel.params.max_iterations


def _speakers(panel: Panel) -> int:
    match panel:
        case VerdictPanel():
            return len(panel.personas)
        case AbsaPanel():
            return len(panel.params.order)
        case DeliberationPanel():
            return len(panel.debaters)
