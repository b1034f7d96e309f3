"""What a coordinator knows of one open debate."""

from dataclasses import dataclass, field
from typing import NamedTuple

from parley.bus.contracts.facts import Fact
from parley.bus.journal import Draft
from parley.bus.port import Record
from parley.bus.subjects import ASKS, CONTROL, DebateRef
from parley.coordinator.core.state import DebateState, Phase

PATIENCE_S = 10.0


class Sent(NamedTuple):
    """A decision that we wrote, and the control sequence after which."""

    draft: Draft
    after: int
    # When it was offered to the log, if nobody will answer it.
    offered: float | None = None


@dataclass(slots=True)
class TrackedDebate:
    """A debate of ours that is not closed. `state` is None until it is read back."""

    sequence: int = 0
    # The last record under the guard of the control facts, whatever it holds. It moves with the
    # state: a guard must never vouch for more than a decision has seen.
    control: int = 0
    touched: float = 0.0
    state: DebateState | None = None
    loading: bool = False
    arrived: list[Record] = field(default_factory=list)
    # The control sequence after which a write of ours is under way, or was answered.
    acting_after: int | None = None
    answered_after: int | None = None
    # What we wrote last, until it comes back through the log: it need not be read then.
    sent: Sent | None = None
    # Where what we wrote came back.
    returned: int = 0
    # The last ask, and when we first saw it by our own clock.
    asked: tuple[int, float] = (0, 0.0)
    # When people were asked, by step: told by our own clock, as the log's shows it.
    people_asked: dict[str, float] = field(default_factory=dict)
    deadline: float | None = None
    # Where debates are traced: when each fact was stored, by its sequence.
    facts: dict[int, tuple[int, Fact]] = field(default_factory=dict)
    # Whether the end that the log shows is ours.
    closed_by_us: bool = False
    # After so much silence the archive is looked into: what was purged, a reader never sees.
    patience_s: float = PATIENCE_S
    # Whether the archive was looked into after the opening stood in the log, or is at this moment.
    confirmed: bool = False
    confirming: bool = False

    @property
    def is_writing(self) -> bool:
        """A decision was made and the log does not show yet what became of it."""
        return self.acting_after == self.control

    @property
    def is_unconfirmed(self) -> bool:
        """It runs, and may yet be one that took place before and is archived."""
        running = self.state is not None and self.state.phase is Phase.RUNNING
        return running and not self.confirmed

    def is_silent(self, now: float) -> bool:
        """Each time after twice as long."""
        if self.loading or now - self.touched <= self.patience_s:
            return False
        self.patience_s *= 2
        return True

    def move_to(self, sequence: int, tail: str) -> None:
        """Past a record whose subject ends in `tail`."""
        self.sequence = sequence
        if tail.startswith(CONTROL):
            self.control = sequence

    def arrive(self, record: Record, tail: str, now: float) -> bool:
        """A record of the log; True if it is new, and is to be folded or looked at by the caller."""
        if record.sequence <= self.sequence:
            return False
        self.touched, self.patience_s = now, PATIENCE_S
        if tail.startswith(ASKS):
            self.see_ask(record.sequence, now)
        if self.loading:
            self.arrived.append(record)
            return False
        self.move_to(record.sequence, tail)
        return True

    def reach(self, state: DebateState) -> None:
        self.state = state

    def let_go(self) -> DebateState | None:
        """No longer folded here; the state that it had."""
        state, self.state = self.state, None
        return state

    def start_loading(self) -> None:
        """Until the whole log is read, what arrives is kept for later."""
        self.loading = True

    def loaded(self) -> list[Record]:
        """Read anew from its first record on; what arrived meanwhile."""
        arrived, self.arrived = self.arrived, []
        self.sequence, self.loading = 0, False
        self.acting_after = self.answered_after = None
        return arrived

    def loading_failed(self) -> None:
        """Nothing is known of it, so that it is read again."""
        self.loading, self.state = False, None
        self.arrived.clear()

    def start_writing(self) -> int:
        """The control sequence after which a decision is being made."""
        self.acting_after = self.control
        return self.control

    def wrote(self, sent: Sent) -> None:
        self.sent = sent

    def came_back(self, sequence: int) -> None:
        """What was written stands in the log."""
        self.sent, self.returned = None, sequence

    def answered(self, after: int) -> None:
        """The server has said what became of the write after this control sequence."""
        self.answered_after = after

    def see_ask(self, sequence: int, now: float) -> None:
        """Reading the latest ask back later does not begin its time anew."""
        if sequence > self.asked[0]:
            self.asked = (sequence, now)

    def see_people_asked(self, step: str, when: float) -> None:
        self.people_asked[step] = when

    def arm(self, deadline: float | None) -> None:
        """When somebody's time is up next, or a deadline that is being written is looked for again."""
        self.deadline = deadline


class News(NamedTuple):
    """A record that concerns a tracked debate; `fact` is read only if somebody needs it."""

    record: Record
    ref: DebateRef
    tail: str
    tracked: TrackedDebate
    fact: Fact | None
