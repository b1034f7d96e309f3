"""The turns of a debate of verdicts as a reader wants them: what each changed."""

from collections.abc import Iterator, Sequence

from parley.bus.contracts.base import Contract
from parley.bus.contracts.facts import Abstained
from parley.bus.contracts.verdicts.content import Challenge, Reply, ResponseType
from parley.coordinator.core.state import DebateState, Heard
from parley.coordinator.protocols.verdicts.board import (
    Stand,
    board_of,
    finished_rounds,
    panel_of,
    round_of,
    stand_after,
)
from parley.coordinator.protocols.verdicts.challenges import challenges
from parley.coordinator.protocols.verdicts.position import Position


class DebateTurn(Contract):
    """One agent's turn in one round, with what it changed."""

    round: int
    agent: str
    challengers: tuple[str, ...]
    # Those of them whose points the turn takes up.
    answers: tuple[str, ...] = ()
    response_type: ResponseType | None
    response: str
    verdict_before: str | None
    verdict_after: str | None
    confidence_before: float | None
    confidence_after: float | None
    verdict_changed: bool


def turns_of(state: DebateState) -> tuple[DebateTurn, ...]:
    """Of the rounds; opening statements are no turns."""
    verdicts = panel_of(state).verdicts
    # By round, of the statements that stood before it.
    challenged = [(), *map(challenges, board_of(state).history)]
    if panel_of(state).chamber is not None:
        return tuple(_chamber_turns(state, challenged))
    standing: dict[str, Stand] = {}
    turns = []
    for number, step in enumerate(finished_rounds(state)):
        for heard in step.contributions:
            before = standing.get(heard.said.persona)
            after = stand_after(before, heard, verdicts) or before
            if after is not None:
                standing[heard.said.persona] = after
            if number > 0:
                turns.append(_turn(number, challenged[number], heard, before, after))
    return tuple(turns)


def _chamber_turns(
    state: DebateState, challenged: Sequence[Sequence[Challenge]]
) -> Iterator[DebateTurn]:
    """A round's messages move confidences once all have spoken."""
    history = board_of(state).history
    for step in finished_rounds(state)[1:]:
        number = round_of(step)
        before = {one.agent: one for one in history[number - 1]}
        after = {one.agent: one for one in history[number]}
        for heard in step.contributions:
            who = heard.said.persona
            yield _turn(number, challenged[number], heard, before.get(who), after.get(who))


def _turn(
    number: int,
    challenged: Sequence[Challenge],
    heard: Heard,
    before: Stand | Position | None,
    after: Stand | Position | None,
) -> DebateTurn:
    content = None if isinstance(heard.said, Abstained) else heard.said.content
    reply = content if isinstance(content, Reply) else None
    return DebateTurn(
        round=number,
        agent=heard.said.persona,
        challengers=tuple(
            one.challenger for one in challenged if one.challenged == heard.said.persona
        ),
        answers=reply.answers if reply else (),
        response_type=reply.response_type if reply else None,
        response=reply.content if reply else "",
        verdict_before=before.verdict if before else None,
        verdict_after=after.verdict if after else None,
        confidence_before=before.confidence if before else None,
        confidence_after=after.confidence if after else None,
        verdict_changed=bool(before and after and before.verdict != after.verdict),
    )
