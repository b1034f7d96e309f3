"""A debate as it stands at this moment, also in the middle of a round: what the views show."""

from dataclasses import dataclass
from enum import StrEnum

from parley.bus.contracts.facts import Abstained, Failure, TurnTaken
from parley.coordinator.core.state import DebateState, Step
from parley.coordinator.protocols.verdicts.board import AFTERWARDS, Stand, board_of
from parley.coordinator.protocols.verdicts.turns import DebateTurn, turns_of


class Mark(StrEnum):
    """Where an agent is in the step that runs, or in the last round."""

    THINKING = "thinking"
    SPOKEN = "spoken"
    MISSED = "missed"
    FAILED = "failed"
    NOT_ASKED = "not asked"


MARKS = {
    Mark.THINKING: ("… thinking", "cyan"),
    Mark.SPOKEN: ("✓ spoken", "green"),
    Mark.MISSED: ("✗ missed", "red"),
    Mark.FAILED: ("✗ failed", "red"),
    Mark.NOT_ASKED: ("", ""),
}
_BAR_WIDTH = 10


@dataclass(frozen=True, slots=True)
class Seat:
    agent: str
    mark: Mark
    standing: Stand | None
    # The agent's turn in the round that runs or ran last, with what it changed.
    turn: DebateTurn | None


@dataclass(frozen=True, slots=True)
class Readout:
    # -1 before the opening statements are asked for, 0 while they are given.
    round: int
    seats: tuple[Seat, ...]
    # After the opening statements and after every round that is over.
    disagreement: tuple[float, ...]


def read_out(state: DebateState) -> Readout:
    now = so_far(state)
    board = board_of(now)
    standing = {one.position.agent: one for one in board.standing}
    turns = {turn.agent: turn for turn in turns_of(now) if turn.round == board.round}
    asked = [step for step in state.steps if step.name not in AFTERWARDS or not step.is_over]
    step = asked[-1] if asked else None
    return Readout(
        round=board.round,
        seats=tuple(
            Seat(agent, mark_of(step, agent), standing.get(agent), turns.get(agent))
            for agent in state.running_panel.roster
        ),
        disagreement=tuple(_disagreements(state)),
    )


def bar(share: float) -> str:
    full = round(share * _BAR_WIDTH)
    return "█" * full + "░" * (_BAR_WIDTH - full)


def so_far(state: DebateState) -> DebateState:
    """The state as if the open step were over, with those who have spoken already."""
    step = state.open_step
    if step is None or step.name in AFTERWARDS:
        return state
    heard = tuple(one.said.persona for one in step.heard)
    ask = step.ask.model_copy(update={"personas": heard})
    return state._replace(steps=(*state.steps[:-1], step._replace(ask=ask)))


def mark_of(step: Step | None, agent: str) -> Mark:
    if step is None or agent not in step.ask.personas:
        return Mark.NOT_ASKED
    heard = step.heard_from(agent)
    match heard.said if heard is not None else None:
        case None:
            return Mark.MISSED if step.abandoned else Mark.THINKING
        case Abstained():
            return Mark.MISSED
        case TurnTaken(content=Failure()):
            return Mark.FAILED
        case _:
            return Mark.SPOKEN


def _disagreements(state: DebateState) -> list[float]:
    declared = [step.ask.declaration for step in state.steps]
    declared.append(state.terminated.declaration if state.terminated else None)
    values = [one.details.values.get("disagreement") for one in declared if one is not None]
    return [value for value in values if isinstance(value, float)]
