"""
The invariants of a debate, checked after every record that is stored, from the log alone.

1. Control facts are legal where they stand, and each rests on the latest one before it: the
   chain never forks. At most one terminates, exactly one closes, nothing follows.
2. A persona's turn in a step is recorded once, after it was asked, and counted at most once.
3. Every control fact is, byte for byte, what the facts it rests on call for.
4. A deadline passes no earlier than it said, and nobody is missing in a step without an excuse.
5. A closed debate leaves the log for the archive, whole; what comes after it opens nothing.
6. The state at the end is the fold of the log, and undisturbed debates end as the pure play does.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from parley.bus.archive import Archived
from parley.bus.codec import encode
from parley.bus.contracts.absa.findings import Judged, Moderated, Overridden
from parley.bus.contracts.facts import (
    Abstained,
    AbstainReason,
    Asked,
    ControlFact,
    DeadlineFired,
    Decided,
    Fact,
    Failure,
    Opened,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import DecodeError, ProtocolError
from parley.bus.journal import Journal, Logged, externalise
from parley.bus.port import Record
from parley.bus.subjects import CLOSED, DebateRef
from parley.coordinator.core.audit import audit
from parley.coordinator.core.misplaced import unasked
from parley.coordinator.core.policy import decide
from parley.coordinator.core.protocol import PROTOCOLS
from parley.coordinator.core.reducer import apply, fold, pass_over
from parley.coordinator.core.state import DebateState
from tests.simulation.families import play
from tests.simulation.plan import Debate


def steps_of(panel: PanelBase) -> int:
    return PROTOCOLS[panel.protocol].extent(panel).steps


@dataclass(slots=True)
class Ledger:
    """One debate as the log tells it; `states[n]` is what its first n facts amount to."""

    debate: Debate
    facts: list[Fact] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    states: list[DebateState] = field(default_factory=lambda: [DebateState()])
    # Where the last control fact stands, forged ones included.
    last_control: int = -1
    forged: set[int] = field(default_factory=set)
    subjects: Counter[str] = field(default_factory=Counter)
    # When each step was asked for, by the log's clock.
    asked_ns: dict[str, int] = field(default_factory=dict)

    @property
    def state(self) -> DebateState:
        return self.states[-1]


# The persona, the ask it did not answer, and when that was written.
Excuse = Callable[[str, Asked, int], bool]
# What the clocks of a log lose by rounding.
ROUNDING_S = 0.001


class Checker:
    def __init__(
        self,
        journal: Journal,
        debates: Mapping[DebateRef, Debate],
        has_excuse: Excuse,
        is_archived: Callable[[DebateRef], bool],
    ) -> None:
        self.violations: list[str] = []
        self.ledgers = {ref: Ledger(debate) for ref, debate in debates.items()}
        # Sequences of records that were forged.
        self.forged: set[int] = set()
        # (queue, sequence of the ask) that was given up.
        self.given_up: set[tuple[str, int]] = set()
        self.on_closed: Callable[[], None] = lambda: None
        self._journal = journal
        self._has_excuse = has_excuse
        self._is_archived = is_archived
        # Sequences of the asks that opened a step, forged ones included.
        self._asks: dict[tuple[DebateRef, str], list[int]] = {}

    @property
    def open_debates(self) -> list[Ledger]:
        return [one for one in self.ledgers.values() if one.state.closed is None]

    def on_record(self, record: Record) -> None:
        try:
            logged = self._journal.decode(record)
        except DecodeError as error:
            self._expect(record.sequence in self.forged, f"{record.subject}: {error}")
            return
        ledger = self.ledgers[logged.ref]
        if self._is_archived(logged.ref):
            # The purge takes its guards away: what comes late is put aside, and nobody is asked
            # anything. An opening says that somebody is about to look into the archive.
            goes_on = isinstance(logged.fact, ControlFact) and not isinstance(logged.fact, Opened)
            ghost = goes_on and record.sequence not in self.forged
            self._expect(not ghost, f"{record.subject}: its debate is archived")
            return
        if isinstance(logged.fact, Asked):
            self._asks.setdefault((logged.ref, logged.fact.step), []).append(record.sequence)
        if not ledger.facts and not isinstance(logged.fact, Submitted):
            self._check_stray(record, logged)
            return
        if isinstance(logged.fact, TurnTaken) and self._nobody_asked(ledger, record, logged.fact):
            self._check_stray(record, logged)
            return
        self._enter(ledger, record, logged.fact)

    def _nobody_asked(self, ledger: Ledger, record: Record, turn: TurnTaken) -> bool:
        """It has no place in the debate, and the log forgets it. No agent of ours speaks twice."""
        step = ledger.state.step(turn.step)
        never = step is None or turn.persona not in step.ask.personas
        forged = record.sequence in self.forged
        return never or (forged and unasked(ledger.state, turn) is not None)

    def _check_stray(self, record: Record, logged: Logged) -> None:
        """What has no place was forged, or answers what was."""
        fact = logged.fact
        answers = isinstance(fact, TurnTaken) and (logged.ref, fact.step) in self._asks
        stray = f"{record.subject} has no place where it stands"
        self._expect(answers or record.sequence in self.forged, stray)

    def is_legal(self, ref: DebateRef, data: bytes, tail: str) -> bool:
        """Whether such a record would count for something at this moment."""
        record = Record(0, self._journal.subjects.at(ref, tail), data, 0)
        try:
            apply(self.ledgers[ref].state, self._journal.decode(record).fact)
        except (DecodeError, ProtocolError):
            return False
        return True

    def _enter(self, ledger: Ledger, record: Record, fact: Fact) -> None:
        forged = record.sequence in self.forged
        if forged:
            ledger.forged.add(len(ledger.facts))
        else:
            self._check(ledger, record, fact)
        if isinstance(fact, ControlFact):
            ledger.last_control = len(ledger.facts)
        ledger.facts.append(fact)
        ledger.records.append(record)
        try:
            ledger.states.append(apply(ledger.state, fact))
            if isinstance(fact, Asked):
                ledger.asked_ns[fact.step] = record.time_ns
        except ProtocolError as error:
            self._expect(forged, f"{record.subject}: {error}")
            ledger.states.append(pass_over(ledger.state))
        if ledger.state.closed is not None:
            self.on_closed()

    def _check(self, ledger: Ledger, record: Record, fact: Fact) -> None:
        self._check_once(ledger, record)
        if isinstance(fact, ControlFact):
            self._check_control(ledger, record, fact)
        elif isinstance(fact, TurnTaken):
            known = (ledger.debate.ref, fact.step) in self._asks
            self._expect(known, f"{record.subject}: nobody asked")
        elif isinstance(fact, DeadlineFired):
            self._check_deadline(ledger, record, fact)

    def _check_once(self, ledger: Ledger, record: Record) -> None:
        ledger.subjects[record.subject] += 1
        once = ledger.subjects[record.subject] == 1
        self._expect(once, f"{record.subject} stands in the log twice")

    def _check_deadline(self, ledger: Ledger, record: Record, fact: DeadlineFired) -> None:
        step = ledger.state.step(fact.step)
        self._expect(step is not None, f"{record.subject}: nobody asked")
        if step is None:
            return
        passed_s = (record.time_ns - ledger.asked_ns[fact.step]) / 1e9
        due = passed_s >= step.ask.deadline_s - ROUNDING_S
        early = f"{record.subject} fired after {passed_s:.3f} s of {step.ask.deadline_s:g} s"
        self._expect(due, early)

    def _check_absence(self, ledger: Ledger, where: str, fact: Abstained) -> None:
        step = ledger.state.step(fact.step)
        if step is None or not step.awaits(fact.persona):
            return
        excused = self._has_excuse(fact.persona, step.ask, ledger.asked_ns[fact.step])
        self._expect(excused, f"{where}: {fact.persona} was there all the time")

    def _check_control(self, ledger: Ledger, record: Record, fact: ControlFact) -> None:
        where = f"{record.subject} (record {record.sequence})"
        self._expect(ledger.state.closed is None, f"{where} follows the end of the debate")
        if fact.decided_at > len(ledger.facts):
            self._expect(False, f"{where} rests on facts that do not stand before it")
            return
        forks = fact.decided_at <= ledger.last_control
        self._expect(not forks, f"{where} forks the control chain")
        if isinstance(fact, Abstained):
            self._check_absence(ledger, where, fact)
        if isinstance(fact, Abstained) and fact.reason is AbstainReason.UNDELIVERABLE:
            queue = f"{ledger.debate.ref.panel}-{fact.persona}"
            asks = self._asks.get((ledger.debate.ref, fact.step), [])
            given_up = any((queue, ask) in self.given_up for ask in asks)
            self._expect(given_up, f"{where}: the queue has not given up")
            return
        expected = decide(ledger.states[fact.decided_at])
        if isinstance(expected, Asked) and _by_reference(fact):
            expected, _ = externalise(expected)
        same = expected is not None and encode(expected) == record.data
        self._expect(same, f"{where} is not what the facts call for")

    def check_end(self) -> None:
        """Once all debates are closed."""
        for ref, ledger in self.ledgers.items():
            self._check_counts(ref, ledger)
            steps, most = len(ledger.state.steps), steps_of(ledger.debate.question.panel)
            self._expect(steps <= most, f"{ref} took {steps} steps instead of at most {most}")
            report = audit(ledger.facts)
            found = {one.ordinal for one in report.discrepancies}
            self._expect(found == ledger.forged, f"{ref}: the audit found {report.discrepancies}")
            self._expect(fold(ledger.facts) == ledger.state, f"{ref}: the replay differs")
            if undisturbed(ledger):
                same = _outcome(ledger.state) == _outcome(play(ledger.debate.question))
                self._expect(same, f"{ref}: ended otherwise, as {_outcome(ledger.state)}")

    def check_archived(self, ref: DebateRef, ledger: Ledger, archived: Archived | None) -> None:
        """
        Everything that has a place in the debate went into the archive as it was. What came after
        its end may have come while it was being archived: then it was put aside.
        """
        self._expect(archived is not None, f"{ref} is not archived")
        if archived is not None:
            self._expect(not archived.broken, f"{ref}: {archived.broken}")
            kept = {one.sequence: (one.subject, one.data, one.time_ns) for one in archived.records}
            over = next((one.sequence for one in ledger.records if one.subject.endswith(CLOSED)), 0)
            lost = [
                one.subject
                for one in ledger.records
                if one.sequence <= over
                and kept.get(one.sequence) != (one.subject, one.data, one.time_ns)
            ]
            self._expect(over in kept, f"{ref}: its end is not in the archive")
            self._expect(not lost, f"{ref}: not in the archive: {lost}")

    def _check_counts(self, ref: DebateRef, ledger: Ledger) -> None:
        kinds = Counter(fact.type for n, fact in enumerate(ledger.facts) if n not in ledger.forged)
        self._expect(kinds["closed"] == 1, f"{ref} closed {kinds['closed']} times")
        self._expect(kinds["terminated"] <= 1, f"{ref} terminated {kinds['terminated']} times")
        counted = Counter(
            (step.name, heard.said.persona) for step in ledger.state.steps for heard in step.heard
        )
        twice = [place for place, count in counted.items() if count > 1]
        self._expect(not twice, f"{ref}: counted twice: {twice}")

    def _expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.violations.append(problem)


def undisturbed(ledger: Ledger) -> bool:
    """Nobody cancelled, and everybody who was asked answered."""
    said = [heard.said for step in ledger.state.steps for heard in step.heard]
    return ledger.state.cancelled_at is None and not any(
        isinstance(one, Abstained) or isinstance(one.content, Failure) for one in said
    )


def _outcome(state: DebateState) -> dict[str, object]:
    """What was decided at the end, whatever the order in which people spoke (ordinals follow it)."""
    ends = {
        "decided": state.finding(Decided),
        "judged": state.finding(Judged),
        "overridden": state.finding(Overridden),
        "moderated": state.finding(Moderated),
        "closed": state.closed,
    }
    return {
        name: fact.model_dump(exclude={"decided_at", "declared"})
        for name, fact in ends.items()
        if fact is not None
    }


def _by_reference(fact: ControlFact) -> bool:
    return isinstance(fact, Asked) and isinstance(fact.request, RequestByReference)
