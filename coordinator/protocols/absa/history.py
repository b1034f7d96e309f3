"""The turns of a debate as they are kept: complete, in order, by round."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parley.bus.contracts.absa.debate import (
    DebateOutput,
    DebatePersona,
    DebateRound,
    DebateSummary,
    DebateTurn,
    Protocol,
)


class HeardTurn(NamedTuple):
    """A turn that was taken: `key` is the persona's key, `round` counts from 1."""

    round: int
    key: str
    turn: DebateTurn


def completed(turn: DebateTurn, persona: DebatePersona, protocol: Protocol) -> DebateTurn:
    """A turn that names its author: a speaker who gave no name or stance has the persona's."""
    if protocol == "v2":
        return turn if turn.agent else turn.model_copy(update={"agent": persona.name})
    if turn.speaker and turn.stance:
        return turn
    return turn.model_copy(
        update={"speaker": turn.speaker or persona.name, "stance": turn.stance or persona.stance}
    )


def debate_output(
    topic: str,
    personas: Mapping[str, DebatePersona],
    heard: Sequence[HeardTurn],
    summary: DebateSummary,
) -> DebateOutput:
    rounds = sorted({turn.round for turn in heard})
    return DebateOutput(
        topic=topic,
        personas=dict(personas),
        rounds=tuple(
            DebateRound(
                round_index=index, turns=tuple(turn.turn for turn in heard if turn.round == index)
            )
            for index in rounds
        ),
        summary=summary,
    )
