"""
The board of a debate of verdicts: who stands where after each round, read off the steps.

An agent that missed its opening is absent until it speaks; one that misses a later turn keeps
its last statement.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.facts import Abstained
from parley.bus.contracts.verdicts import PastTurn, Reply, Standing, Statement, Verdict
from parley.coordinator.state import DebateState, Heard, Step
from parley.coordinator.verdicts.position import Position

OPENING = "opening"
LOCALIZE = "localize"


def round_step(number: int) -> str:
    return f"round-{number}"


class Stand(NamedTuple):
    """An agent's latest statement, and the ordinal of the turn that made it."""

    ordinal: int
    position: Position
    reasoning: str
    evidence: dict[str, JsonValue]
    arguments: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        return self.position.verdict

    @property
    def confidence(self) -> float:
        return self.position.confidence


class Board(NamedTuple):
    """`standing` and every entry of `history` are in roster order."""

    standing: tuple[Stand, ...]
    history: tuple[tuple[Position, ...], ...]
    # Who said what in which round, in the order of the log.
    said: tuple[tuple[int, Stand], ...]
    # Ordinals of all that was heard, by round.
    heard: tuple[tuple[int, ...], ...]
    # The latest statement of everybody who ever made one.
    latest: Mapping[str, Stand]

    @property
    def round(self) -> int:
        return len(self.history) - 1

    @property
    def positions(self) -> tuple[Position, ...]:
        return self.history[-1] if self.history else ()

    def statements(self) -> tuple[Standing, ...]:
        return tuple(
            Standing(
                agent=stand.position.agent,
                verdict=stand.position.verdict,
                confidence=stand.position.confidence,
                reasoning=stand.reasoning,
                evidence=stand.evidence,
                arguments=stand.arguments,
            )
            for stand in self.standing
        )

    def past(self, rounds: int) -> tuple[PastTurn, ...]:
        """What was said in the last `rounds` rounds before the one that made the statements stand."""
        if rounds == 0:
            return ()
        return tuple(
            PastTurn(
                round=round_,
                agent=stand.position.agent,
                verdict=stand.verdict,
                confidence=stand.confidence,
                said=stand.reasoning,
            )
            for round_, stand in self.said
            if self.round - rounds <= round_ < self.round
        )

    def basis(self, streak: int) -> tuple[int, ...]:
        """The facts a declaration rests on: the standing statements and the rounds of the streak."""
        recent = self.heard[-max(1, streak) :]
        latest = {stand.ordinal for stand in self.standing}
        return tuple(sorted(latest.union(*recent)))


NOTHING_SAID = Board((), (), (), (), {})


def board_of(state: DebateState) -> Board:
    """Of the rounds that are over. Each is read once: a round that is over stays as it is."""
    roster = state.running_panel.roster
    board, unread = NOTHING_SAID, []
    for step in reversed(finished_rounds(state)):
        noted = step.margin.noted(step.heard)
        if isinstance(noted, Board):
            board = noted
            break
        unread.append(step)
    for step in reversed(unread):
        board = _with_round(board, step, roster)
        step.margin.note(step.heard, board)
    return board


def _with_round(before: Board, step: Step, roster: tuple[str, ...]) -> Board:
    latest = dict(before.latest)
    number, said = len(before.history), []
    for heard in step.heard:
        agent = heard.said.persona
        after = stand_after(latest.get(agent), heard)
        if after is not None:
            latest[agent] = after
            said.append((number, after))
    standing = tuple([latest[name] for name in roster if name in latest])
    return Board(
        standing=standing,
        history=(*before.history, tuple([stand.position for stand in standing])),
        said=(*before.said, *said),
        heard=(*before.heard, tuple([heard.ordinal for heard in step.heard])),
        latest=latest,
    )


def finished_rounds(state: DebateState) -> list[Step]:
    """The opening is number 0."""
    return [
        step
        for step in state.steps
        if step.is_over and not step.abandoned and step.name != LOCALIZE
    ]


def stand_after(before: Stand | None, heard: Heard) -> Stand | None:
    """The statement that a turn made; None if the turn left things as they were."""
    said = heard.said
    if isinstance(said, Abstained):
        return None
    content = said.content
    if isinstance(content, Reply):
        return _replied(before, heard.ordinal, said.persona, content)
    if isinstance(content, Statement):
        return Stand(
            heard.ordinal,
            Position(said.persona, content.verdict, content.confidence),
            content.reasoning,
            content.evidence,
            content.arguments,
        )
    return None


def _replied(before: Stand | None, ordinal: int, agent: str, said: Reply) -> Stand | None:
    verdict, confidence = said.new_verdict, said.new_confidence
    if before is None:
        if verdict is None or confidence is None:
            return None
        before = Stand(ordinal, Position(agent, verdict, confidence), "", {}, ())
    position = before.position
    if verdict is not None or confidence is not None:
        position = Position(
            agent,
            position.verdict if verdict is None else verdict,
            position.confidence if confidence is None else confidence,
        )
    return Stand(
        ordinal,
        position,
        said.reasoning or said.content or before.reasoning,
        before.evidence if said.evidence is None else said.evidence,
        before.arguments if said.arguments is None else said.arguments,
    )
