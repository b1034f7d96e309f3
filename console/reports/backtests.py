"""Many recorded debates decided anew, and what that would have saved, changed and got right."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Status
from parley.console.reports.changes import Changes
from parley.console.reports.gold import Gold
from parley.console.reports.intervals import ShareOf, share_of
from parley.coordinator.core.backtest import redecide
from parley.coordinator.core.endings import Ending, ending_of
from parley.coordinator.core.protocol import Answer
from parley.logs import Log

NOT_ENDED = "not_ended"


class Ended(Contract):
    """`answer` of a debate about aspects is the sentence's label; `tuples` are its results."""

    reason: str | None
    rounds: int
    calls: int
    answer: str | None
    tuples: tuple[tuple[str, str], ...] | None = None
    confidence: float | None
    correct: bool | None


class DebateChange(Contract):
    """`redecided` is None where the recording does not tell; `missing` says what it lacks."""

    debate_id: str
    panel: str
    recorded: Ended
    redecided: Ended | None
    # ending, outcome or follow_up: what nobody can know.
    unknown: str | None
    missing: str
    answer_changed: bool | None

    @property
    def ending_differs(self) -> bool:
        one, other = self.redecided, self.recorded
        return one is not None and (one.reason, one.rounds) != (other.reason, other.rounds)


class Summary(Contract):
    """
    Of the debates whose ending (calls, rounds, reasons) or answer (accuracy, changes) is known.

    Saved calls are those of the same debates as recorded, less those of the new course.
    """

    debates: int
    unknowable: int
    outcome_unknowable: int
    follow_up_unknowable: int
    stop_earlier: int
    stop_later: int
    answers_changed: int
    reasons: dict[str, int]
    mean_rounds: float | None
    rounds_saved: int
    calls: int
    calls_recorded: int
    calls_saved: int
    calls_saved_share: float | None
    accuracy: ShareOf | None
    # Of the same debates, as they were recorded.
    accuracy_recorded: ShareOf | None
    mended: int
    spoilt: int


class Point(Contract):
    """`name` is the preset or the parameter's value."""

    name: str
    value: float | None
    summary: Summary


class Backtest(Contract):
    changes: str
    summary: Summary
    debates: tuple[DebateChange, ...]
    swept: str | None = None
    curve: tuple[Point, ...] = ()
    presets: tuple[Point, ...] = ()
    rules: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded debate with its ending, which is the same however often it is decided anew."""

    log: Log
    ending: Ending


def cases_of(logs: Sequence[Log]) -> list[Case]:
    return [Case(log, ending_of(log.state)) for log in logs]


def backtest(cases: Sequence[Case], changes: Changes, gold: Gold) -> list[DebateChange]:
    return [_change(case, changes, gold) for case in cases]


def summarise(changes: Sequence[DebateChange]) -> Summary:
    known = [(one.recorded, one.redecided) for one in changes if one.redecided is not None]
    calls = sum(new.calls for _, new in known)
    before = sum(old.calls for old, _ in known)
    rounds = [new.rounds for _, new in known]
    reasons = Counter(new.reason or NOT_ENDED for _, new in known)
    judged = [
        (old.correct, new.correct)
        for old, new in known
        if new.correct is not None and old.correct is not None
    ]
    return Summary(
        debates=len(changes),
        unknowable=len(changes) - len(known),
        outcome_unknowable=sum(one.unknown == "outcome" for one in changes),
        follow_up_unknowable=sum(one.unknown == "follow_up" for one in changes),
        stop_earlier=sum(new.rounds < old.rounds for old, new in known),
        stop_later=sum(new.rounds > old.rounds for old, new in known),
        answers_changed=sum(bool(one.answer_changed) for one in changes),
        reasons=dict(reasons.most_common()),
        mean_rounds=sum(rounds) / len(rounds) if rounds else None,
        rounds_saved=sum(old.rounds - new.rounds for old, new in known),
        calls=calls,
        calls_recorded=before,
        calls_saved=before - calls,
        calls_saved_share=(before - calls) / before if before else None,
        accuracy=share_of(sum(new for _, new in judged), len(judged)) if judged else None,
        accuracy_recorded=share_of(sum(old for old, _ in judged), len(judged)) if judged else None,
        mended=sum(new and not old for old, new in judged),
        spoilt=sum(old and not new for old, new in judged),
    )


def _change(case: Case, changes: Changes, gold: Gold) -> DebateChange:
    log, recorded = case.log, case.ending
    redecided = redecide(log.recording, changes.of)
    truth = gold.of(log.ref, log.state)

    def ended(ending: Ending, *, answered: bool) -> Ended:
        whole = ending.status is Status.COMPLETED
        answer = ending.answer if answered else None
        return Ended(
            reason=ending.reason,
            rounds=ending.rounds,
            calls=ending.calls,
            answer=answer.label if answer else None,
            tuples=_listed(answer),
            confidence=ending.confidence if answered else None,
            correct=truth.confirms(answer) if truth and answer and whole else None,
        )

    new = ending_of(redecided.state) if redecided.ending_is_known else None
    known = redecided.outcome_is_known
    return DebateChange(
        debate_id=log.ref.id,
        panel=log.ref.panel,
        recorded=ended(recorded, answered=True),
        redecided=ended(new, answered=known) if new is not None else None,
        unknown=redecided.unknown,
        missing=redecided.missing,
        answer_changed=new.answer != recorded.answer if new is not None and known else None,
    )


def _listed(answer: Answer | None) -> tuple[tuple[str, str], ...] | None:
    return tuple(sorted(answer.parts)) if answer and answer.parts is not None else None
