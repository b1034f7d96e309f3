"""One line a debate: how it ended, what it cost, and whether it was right."""

from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import OperationalReason, Status
from parley.console.cli.exits import warn
from parley.console.reports.gold import Gold, Truth
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.text import one_line
from parley.coordinator.core.accounting import errors_of, usage_of
from parley.coordinator.core.endings import Ending, ending_of
from parley.coordinator.core.protocol import Answer
from parley.coordinator.core.state import DebateState
from parley.logs import Log

TOPIC_WIDTH = 200
# In place of a debate's status.
UNREADABLE = "unreadable"
CUT_SHORT = OperationalReason.BUDGET_EXHAUSTED.value


class DebateRow(Contract):
    """
    `before` is what a vote before the debate would have said, or Stage 1.

    Calls are turns, one for each speaker and round; `model_calls` is what models were asked.
    """

    debate_id: str
    panel: str
    # Of a batch with several; empty otherwise.
    variant: str
    protocol: str
    topic: str
    status: str
    reason: str
    rounds: int = 0
    answer: str | None = None
    confidence: float | None = None
    before: str | None = None
    changed_by_debate: bool | None = None
    correct: bool | None = None
    correct_before: bool | None = None
    calls: int = 0
    calls_without_early_stop: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    # From the first fact to the last, by the server's clock.
    seconds: float = 0.0
    missed_turns: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    log: Log
    ending: Ending
    row: DebateRow
    # What is known to be true.
    truth: Truth | None = None

    @property
    def is_readable(self) -> bool:
        return self.row.status != UNREADABLE

    @property
    def subject(self) -> str:
        """What variants of a run have in common: the sentence, the question, the image."""
        panel, about = self.log.state.running_panel, self.log.state.input
        names = presentation_of(panel.protocol).names(panel)
        if names:
            return names[0]
        return about.text or ",".join(ref.sha256 for ref in about.blobs.values())


def outcomes_of(logs: Sequence[Log], gold: Gold, variant: str = "") -> tuple[Outcome, ...]:
    return tuple(_outcome_or_line(log, gold, variant) for log in logs)


def by_protocol(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Of those that can be read."""
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.is_readable:
            found.setdefault(one.row.protocol, []).append(one)
    return found


def _outcome_or_line(log: Log, gold: Gold, variant: str) -> Outcome:
    """A debate whose facts make no sense spoils its own line of a report and nothing else."""
    try:
        return _outcome(log, gold, variant)
    except Exception as error:  # noqa: BLE001 - whatever the rules of a protocol raise
        warn([f"debate {log.ref.id} cannot be read: {type(error).__name__}: {error}"])
        return _unreadable(log, variant)


def _outcome(log: Log, gold: Gold, variant: str) -> Outcome:
    state = log.state
    ending, usage = ending_of(state), usage_of(state)
    truth = gold.of(log.ref, state)

    whole = ending.status is Status.COMPLETED

    def judged(answer: Answer | None) -> bool | None:
        return truth.confirms(answer) if truth and answer and whole else None

    row = DebateRow(
        debate_id=log.ref.id,
        panel=log.ref.panel,
        variant=variant,
        protocol=state.running_panel.protocol,
        topic=one_line(state.input.listed, TOPIC_WIDTH),
        status=ending.status.value if ending.status else "open",
        reason=_reason(state, ending),
        rounds=ending.rounds,
        answer=ending.answer.label if ending.answer else None,
        confidence=ending.confidence,
        before=ending.before.label if ending.before else None,
        changed_by_debate=_changed(ending) if whole else None,
        correct=judged(ending.answer),
        correct_before=judged(ending.before),
        calls=ending.calls,
        calls_without_early_stop=ending.calls_without_early_stop,
        model_calls=usage.model_calls,
        tokens=usage.tokens,
        cost=usage.cost,
        seconds=_seconds(log),
        missed_turns=len(errors_of(state)),
    )
    return Outcome(log, ending, row, truth)


def _unreadable(log: Log, variant: str) -> Outcome:
    ending = Ending(status=None, reason=None)
    row = DebateRow(
        debate_id=log.ref.id,
        panel=log.ref.panel,
        variant=variant,
        protocol=log.state.running_panel.protocol,
        topic=one_line(log.state.input.listed, TOPIC_WIDTH),
        status=UNREADABLE,
        reason=UNREADABLE,
    )
    return Outcome(log, ending, row)


def _reason(state: DebateState, ending: Ending) -> str:
    """Why it terminated; of a debate that failed or was cut short later on, why it closed."""
    closed = state.closed
    if closed is not None and (closed.status is Status.FAILED or closed.reason == CUT_SHORT):
        return one_line(closed.reason, TOPIC_WIDTH)
    return ending.reason or "open"


def _changed(ending: Ending) -> bool | None:
    if ending.answer is None or ending.before is None:
        return None
    return ending.answer != ending.before


def _seconds(log: Log) -> float:
    times = [one.time_ns for one in log.recorded]
    return round((max(times) - min(times)) / 1e9, 3)
