"""The facilitator by rule: merges axes, takes the vote, forces perspectives, tests sensitivity."""

from collections.abc import Sequence

from parley.agents.deliberation.debater import weighed_criteria
from parley.agents.deliberation.phrases import PHRASES
from parley.agents.deliberation.question import Criterion, Option, Question
from parley.agents.deliberation.weighing import (
    NEUTRAL,
    evidence_on,
    known_criteria,
    ranking,
    unraised,
)
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    ForceRequest,
    Perspective,
    RaisedAxis,
    SenseRequest,
    SensitivityJudgement,
)

# A criterion that takes away this share of the lead leaves the conclusion in doubt.
_DOUBTFUL_SHARE = 0.5
_DECIMALS = 6


def judge_axes(question: Question, request: AxesRequest) -> AxesJudgement:
    raised = _merged(question, request)
    axes = [*request.axes, *(one.name for one in raised)]
    leader = _leader(question, request, axes)
    left = [one.name for one in unraised(question, axes)]
    tracked = request.theta.tracks_axes
    return AxesJudgement(
        axes=raised if tracked else None,
        conclusion=leader.label,
        confidence=_confidence(request, leader),
        unexplored=tuple(left) if tracked else (),
        axes_remaining_estimate=len(left) if tracked else None,
    )


def force(question: Question, request: ForceRequest) -> Perspective:
    phrases = PHRASES[question.language]
    left = unraised(question, request.axes)
    if not left:
        reason = phrases.saturated.format(total=len(question.criteria))
        return Perspective(truly_saturated=True, reason=reason)
    reason = phrases.forced.format(axis=left[0].name, weight=left[0].weight)
    return Perspective(axis=left[0].name, reason=reason)


def sense(question: Question, request: SenseRequest) -> SensitivityJudgement:
    """High if one criterion would put another option first, medium if it would halve the lead."""
    phrases = PHRASES[question.language]
    known = known_criteria(question, request.axes)
    left = unraised(question, request.axes)
    before = ranking(question, known, NEUTRAL)
    lead = before[0].score - before[1].score
    doubtful: SensitivityJudgement | None = None
    for criterion in left:
        after = ranking(question, [*known, criterion], NEUTRAL)
        if after[0].option != before[0].option:
            reason = phrases.could_flip.format(
                axis=criterion.name, weight=criterion.weight, option=after[0].option.label
            )
            return SensitivityJudgement(
                sensitivity=Sensitivity.HIGH, axis=criterion.name, reason=reason
            )
        narrowed = after[0].score - after[1].score
        if doubtful is None and narrowed < lead * _DOUBTFUL_SHARE:
            doubtful = SensitivityJudgement(
                sensitivity=Sensitivity.MEDIUM,
                axis=criterion.name,
                reason=phrases.could_narrow.format(
                    axis=criterion.name, weight=criterion.weight, before=lead, after=narrowed
                ),
            )
    return doubtful or SensitivityJudgement(
        sensitivity=Sensitivity.LOW, reason=phrases.insensitive.format(count=len(left))
    )


def _merged(question: Question, request: AxesRequest) -> tuple[RaisedAxis, ...]:
    names = dict.fromkeys(axis for turn in request.turns for axis in turn.axes)
    criteria = [one for name in names if (one := question.criterion(name)) is not None]
    return tuple(
        RaisedAxis(
            name=one.name,
            difference=_difference(question, one),
            raised_by=tuple(turn.agent for turn in request.turns if one.name in turn.axes),
        )
        for one in criteria
    )


def _difference(question: Question, criterion: Criterion) -> str:
    count = sum(len(evidence_on(question, option, criterion)) for option in question.options)
    return PHRASES[question.language].differs.format(weight=criterion.weight, count=count)


def _leader(question: Question, request: AxesRequest, axes: Sequence[str]) -> Option:
    """
    The best scored candidate, or whom the debaters' votes put first.

    A vote counts by its confidence; of equal ones the neutral ranking decides.
    """
    ranked = ranking(question, weighed_criteria(question, request.theta, axes), NEUTRAL)
    if request.candidates:
        best = max(request.candidates, key=lambda one: one.score)
        return question.option(best.id) or ranked[0].option
    votes = {one.option.label: 0.0 for one in ranked}
    for turn in request.turns:
        if turn.position in votes:
            votes[turn.position] += turn.confidence or 0.0
    first = max(votes, key=lambda label: round(votes[label], _DECIMALS))
    return question.option(first) or ranked[0].option


def _confidence(request: AxesRequest, leader: Option) -> float:
    """The mean confidence of all debaters in the leader; who prefers another one has none in it."""
    behind = [turn.confidence or 0.0 for turn in request.turns if turn.position == leader.label]
    return round(sum(behind) / max(1, len(request.turns)), _DECIMALS)
