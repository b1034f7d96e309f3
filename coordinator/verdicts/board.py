"""
The board of a debate of verdicts: who stands where after each round, read off the steps.

An agent that missed its opening is absent until it speaks; one that misses a later turn keeps
its last statement.
"""

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


def board_of(state: DebateState) -> Board:
    """Of the rounds that are over."""
    roster = state.running_panel.roster
    standing: dict[str, Stand] = {}
    history, said, heard_in_rounds = [], [], []
    for number, step in enumerate(finished_rounds(state)):
        for heard in step.heard:
            agent = heard.said.persona
            after = stand_after(standing.get(agent), heard)
            if after is not None:
                standing[agent] = after
                said.append((number, after))
        history.append(tuple([standing[name].position for name in roster if name in standing]))
        heard_in_rounds.append(tuple([heard.ordinal for heard in step.heard]))
    return Board(
        standing=tuple(standing[name] for name in roster if name in standing),
        history=tuple(history),
        said=tuple(said),
        heard=tuple(heard_in_rounds),
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
