"""
The board of a debate of verdicts: who stands where after each round, read off the steps.

An agent that missed its opening is absent until it speaks; one that misses a later turn keeps
its last statement.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Abstained, Content, Failure, TurnTaken
from parley.bus.contracts.verdicts import (
    PastTurn,
    Reply,
    ResponseType,
    RoundRequest,
    Standing,
    Statement,
    Verdict,
)
from parley.coordinator.state import DebateState, Heard, Step
from parley.coordinator.verdicts.position import Position

OPENING = "opening"
LOCALIZE = "localize"


def round_step(number: int) -> str:
    return f"round-{number}"


class TurnError(Contract):
    """A turn that was missed or failed, and why."""

    step: str
    agent: str
    reason: str
    detail: str = ""


class DebateTurn(Contract):
    """One agent's turn in one round, with what it changed."""

    round: int
    agent: str
    challengers: tuple[str, ...]
    response_type: ResponseType | None
    response: str
    verdict_before: Verdict | None
    verdict_after: Verdict | None
    confidence_before: float | None
    confidence_after: float | None
    verdict_changed: bool


@dataclass(frozen=True, slots=True)
class Board:
    """`standing` and every entry of `history` are in roster order."""

    standing: tuple[Standing, ...]
    history: tuple[tuple[Position, ...], ...]
    turns: tuple[DebateTurn, ...]
    # What was said, in the order of the log; an agent that kept its statement says it again.
    said: tuple[PastTurn, ...]
    errors: tuple[TurnError, ...]
    # Ordinals: of each agent's standing statement, and of all that was heard in each round.
    statement_ordinals: tuple[int, ...]
    round_ordinals: tuple[tuple[int, ...], ...]

    @property
    def round(self) -> int:
        return len(self.history) - 1

    @property
    def positions(self) -> tuple[Position, ...]:
        return self.history[-1] if self.history else ()

    def before_round(self, number: int) -> tuple[PastTurn, ...]:
        """What is older than the statements that stand when round `number` opens."""
        return tuple(line for line in self.said if line.round < number - 1)

    def basis(self, streak: int) -> tuple[int, ...]:
        """The facts a declaration rests on: the standing statements and the rounds of the streak."""
        recent = self.round_ordinals[-max(1, streak) :] if self.round_ordinals else ()
        return tuple(sorted({*self.statement_ordinals, *(o for r in recent for o in r)}))


def board_of(state: DebateState) -> Board:
    """Of the rounds that are over."""
    roster = state.running_panel.roster
    standing: dict[str, tuple[int, Standing]] = {}
    history, turns, said, errors, heard_in_rounds = [], [], [], [], []
    for number, step in enumerate(_finished_rounds(state)):
        for heard in step.heard:
            before = standing.get(heard.said.persona)
            error = _error_of(step, heard)
            if error is not None:
                errors.append(error)
            after = _standing_after(before[1] if before else None, heard)
            if after is not None:
                standing[heard.said.persona] = (heard.ordinal, after)
                said.append(_past(number, after))
            if number > 0:
                turns.append(_turn(number, step, heard, before and before[1], after))
        history.append(
            tuple(
                Position(name, standing[name][1].verdict, standing[name][1].confidence)
                for name in roster
                if name in standing
            )
        )
        heard_in_rounds.append(tuple(heard.ordinal for heard in step.heard))
    present = [standing[name] for name in roster if name in standing]
    return Board(
        standing=tuple(statement for _, statement in present),
        history=tuple(history),
        turns=tuple(turns),
        said=tuple(said),
        errors=tuple(errors),
        statement_ordinals=tuple(ordinal for ordinal, _ in present),
        round_ordinals=tuple(heard_in_rounds),
    )


def _finished_rounds(state: DebateState) -> list[Step]:
    return [
        step
        for step in state.steps
        if step.name != LOCALIZE and step.is_over and not step.abandoned
    ]


def _content(heard: Heard) -> Content | None:
    return heard.said.content if isinstance(heard.said, TurnTaken) else None


def _standing_after(before: Standing | None, heard: Heard) -> Standing | None:
    """The statement that stands after a turn; None if the turn left things as they were."""
    agent = heard.said.persona
    match _content(heard):
        case Statement() as said:
            return Standing(
                agent=agent,
                verdict=said.verdict,
                confidence=said.confidence,
                reasoning=said.reasoning,
                evidence=said.evidence,
                arguments=said.arguments,
            )
        case Reply() as said:
            return _replied(agent, before, said)
        case _:
            return None


def _replied(agent: str, before: Standing | None, said: Reply) -> Standing | None:
    verdict = said.new_verdict or (before.verdict if before else None)
    confidence = said.new_confidence
    if confidence is None and before is not None:
        confidence = before.confidence
    if verdict is None or confidence is None:
        return None
    old = before or Standing(agent=agent, verdict=verdict, confidence=confidence)
    return Standing(
        agent=agent,
        verdict=verdict,
        confidence=confidence,
        reasoning=said.reasoning or said.content or old.reasoning,
        evidence=old.evidence if said.evidence is None else said.evidence,
        arguments=old.arguments if said.arguments is None else said.arguments,
    )


def _past(number: int, said: Standing) -> PastTurn:
    return PastTurn(
        round=number,
        agent=said.agent,
        verdict=said.verdict,
        confidence=said.confidence,
        said=said.reasoning,
    )


def _turn(
    number: int, step: Step, heard: Heard, before: Standing | None, after: Standing | None
) -> DebateTurn:
    now = after or before
    content = _content(heard)
    return DebateTurn(
        round=number,
        agent=heard.said.persona,
        challengers=tuple(_challengers(step, heard.said.persona)),
        response_type=content.response_type if isinstance(content, Reply) else None,
        response=content.content if isinstance(content, Reply) else "",
        verdict_before=before.verdict if before else None,
        verdict_after=now.verdict if now else None,
        confidence_before=before.confidence if before else None,
        confidence_after=now.confidence if now else None,
        verdict_changed=before is not None and now is not None and before.verdict != now.verdict,
    )


def _challengers(step: Step, agent: str) -> Iterator[str]:
    if isinstance(step.ask.request, RoundRequest):
        for challenge in step.ask.request.challenges:
            if challenge.challenged == agent:
                yield challenge.challenger


def _error_of(step: Step, heard: Heard) -> TurnError | None:
    agent = heard.said.persona
    if isinstance(heard.said, Abstained):
        return TurnError(step=step.name, agent=agent, reason=heard.said.reason)
    content = heard.said.content
    if isinstance(content, Failure):
        return TurnError(step=step.name, agent=agent, reason=content.reason, detail=content.detail)
    return None
