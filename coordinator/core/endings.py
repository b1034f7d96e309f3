"""
How a debate ended, in terms that debates of all protocols share.

`answer` is what was asked for: a verdict, a label, a conclusion. `before` is the same as
it stood before anybody argued, so that everybody can see what the debate changed.
"""

from dataclasses import dataclass

from parley.bus.contracts.facts import Status
from parley.coordinator.core.accounting import ended_by_rule
from parley.coordinator.core.protocol import Answer, protocol_of
from parley.coordinator.core.state import DebateState


@dataclass(frozen=True, slots=True)
class Ending:
    """
    `rounds` is what the panel's protocol iterates: rounds, or iterations.

    Calls are nominal: one for each speaker and round, whoever thinks for the speaker; people are
    told of turns, as models are called as well.
    """

    status: Status | None
    reason: str | None
    by_rule: bool = False
    rounds: int = 0
    most_rounds: int = 0
    speakers: int = 0
    answer: Answer | None = None
    confidence: float | None = None
    before: Answer | None = None

    @property
    def calls(self) -> int:
        return self.speakers * self.rounds

    @property
    def calls_without_early_stop(self) -> int:
        return self.speakers * self.most_rounds


def ending_of(state: DebateState) -> Ending:
    """Also of a debate that is not over: what is not known yet is None."""
    protocol = protocol_of(state)
    course = protocol.course(state)
    extent = protocol.extent(state.running_panel)
    return Ending(
        status=state.closed.status if state.closed else None,
        reason=state.terminated.reason if state.terminated else None,
        by_rule=ended_by_rule(state),
        rounds=course.rounds,
        most_rounds=extent.rounds,
        speakers=extent.speakers,
        answer=course.answer,
        confidence=course.confidence,
        before=course.before,
    )
