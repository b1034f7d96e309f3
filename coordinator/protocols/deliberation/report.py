"""
From what was said in one iteration of a deliberation to the report that the regimes judge.

What brains say is bounded here: a long axis is cut, an unusable one left out, a forcing answer
that says SATURATED in place of an axis is taken for what it means, and one that names nothing
usable for no answer.
"""

from collections.abc import Iterable, Sequence
from math import fsum
from typing import NamedTuple

from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    Deliberation,
    Perspective,
    Proposal,
    Scores,
    SensitivityJudgement,
    Spoken,
)
from parley.bus.contracts.deliberation.regimes import (
    SATURATED,
    TRULY_SATURATED,
    Candidate,
    Forcing,
    Iteration,
)

_LONGEST_AXIS = 200
_LONGEST_TEXT = 200_000
_MOST_CANDIDATES = 1000
# Decimals of a mean score: three equal scores are to have themselves for their mean.
_SCORE_DECIMALS = 9


class Said(NamedTuple):
    """A debater's turn, and its ordinal in the debate."""

    ordinal: int
    agent: str
    turn: Deliberation


class Round(NamedTuple):
    """One iteration as far as it has come; `basis` are the ordinals of all that was heard in it."""

    number: int
    said: tuple[Said, ...]
    # Every candidate proposed so far, in the order first seen.
    proposals: tuple[Proposal, ...]
    scored: tuple[Candidate, ...]
    judgement: AxesJudgement | None
    perspective: Perspective | None
    sensitivity: SensitivityJudgement | None
    basis: tuple[int, ...]

    @property
    def spoken(self) -> tuple[Spoken, ...]:
        return tuple(
            Spoken(
                agent=one.agent,
                position=one.turn.position,
                confidence=one.turn.confidence,
                message=one.turn.message,
                arguments=one.turn.arguments,
                axes=one.turn.axes,
            )
            for one in self.said
        )

    @property
    def unexplored(self) -> tuple[str, ...]:
        return self.judgement.unexplored if self.judgement else ()


def usable_axis(name: str) -> str | None:
    """The name as the regimes take it; None for one that names nothing."""
    stripped = name.strip()[:_LONGEST_AXIS].strip()
    if stripped in (SATURATED, TRULY_SATURATED) or not any(map(str.isalnum, stripped)):
        return None
    return stripped


def usable_axes(names: Iterable[str]) -> tuple[str, ...]:
    usable = (usable_axis(name) for name in names)
    return tuple(dict.fromkeys(name for name in usable if name is not None))


def iteration_of(heard: Round) -> Iteration:
    judged = heard.judgement or AxesJudgement()
    return Iteration(
        axes=None if judged.axes is None else usable_axes(one.name for one in judged.axes),
        orthogonality=judged.orthogonality,
        d_current=judged.d_current,
        delta_coverage=judged.delta_coverage,
        delta_sem=judged.delta_sem,
        confidence=judged.confidence,
        candidates=heard.scored or None,
        sensitivity=heard.sensitivity.sensitivity if heard.sensitivity else None,
        forcing=_forcing(heard.perspective),
        conclusion=judged.conclusion,
        text=_text(heard.said) or None,
        axes_remaining_estimate=judged.axes_remaining_estimate,
    )


def merge_proposals(known: tuple[Proposal, ...], said: Sequence[Said]) -> tuple[Proposal, ...]:
    by_id = {one.id: one for one in known}
    for one in said:
        for proposal in one.turn.candidates:
            by_id.setdefault(proposal.id, proposal)
    return tuple(by_id.values())[:_MOST_CANDIDATES]


def mean_scores(proposals: Sequence[Proposal], answers: Sequence[Scores]) -> tuple[Candidate, ...]:
    """
    Each candidate's mean over those who scored it; who scored none of it is not counted.

    The reason that goes with it is the one of its severest critic, the first of them if equal.
    """
    found = []
    for proposal in proposals:
        marks = [one for answer in answers for one in answer.scores if one.id == proposal.id]
        if marks:
            mean = fsum(one.score for one in marks) / len(marks)
            found.append(
                Candidate(
                    id=proposal.id,
                    score=round(mean, _SCORE_DECIMALS),
                    reason=min(marks, key=lambda one: one.score).reason,
                )
            )
    return tuple(found)


def _forcing(answer: Perspective | None) -> Forcing | None:
    if answer is None:
        return None
    if answer.axis is None or answer.axis.strip() in (SATURATED, TRULY_SATURATED):
        return Forcing(truly_saturated=True)
    axis = usable_axis(answer.axis)
    return None if axis is None else Forcing(axis=axis)


def _text(said: Iterable[Said]) -> str:
    parts = (part for one in said for part in (one.turn.message, *one.turn.arguments))
    return "\n".join(filter(None, parts))[:_LONGEST_TEXT]
