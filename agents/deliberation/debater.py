"""A debater by rule: weighs what is on the table by its stance and raises the next criterion."""

from collections.abc import Sequence

from parley.agents.deliberation.phrases import PHRASES
from parley.agents.deliberation.question import Criterion, Evidence, Option, Question
from parley.agents.deliberation.weighing import (
    LENSES,
    NEUTRAL,
    Lens,
    Ranked,
    confidence,
    evidence_on,
    known_criteria,
    next_criterion,
    ranking,
    score,
    weight,
)
from parley.bus.contracts.deliberation.content import (
    DeliberateRequest,
    Deliberation,
    Proposal,
    Score,
    ScoreRequest,
    Scores,
    conclusion_text,
)
from parley.bus.contracts.deliberation.regimes import Regime, Theta
from parley.bus.contracts.panel import Persona

_ARGUMENTS = 3
# New candidates that one debater proposes in an iteration.
_PROPOSALS = 2


def speak(question: Question, request: DeliberateRequest, persona: Persona) -> Deliberation:
    stance = persona.stance or "neutral"
    lens = LENSES[stance]
    raised = _raise(question, request, stance)
    axes = [*request.axes, *([raised.name] if raised else [])]
    criteria = weighed_criteria(question, request.theta, axes)
    ranked = ranking(question, criteria, lens)
    leader = ranked[0].option
    point = _raising(question, request, raised, leader, stance) if raised else ""
    return Deliberation(
        planning=_plan(question, criteria, raised, persona),
        reflection=_reflection(question, request, ranked),
        message=_message(question, criteria, ranked, point),
        stance=persona.stance,
        position=leader.label if criteria else "",
        confidence=confidence(question, criteria, ranked),
        arguments=_arguments(question, criteria, ranked, lens),
        axes=(raised.name,) if raised else (),
        candidates=_proposals(request, ranked),
    )


def mark(question: Question, request: ScoreRequest, persona: Persona) -> Scores:
    lens = LENSES[persona.stance or "neutral"]
    criteria = weighed_criteria(question, request.theta, request.axes)
    scores = []
    for candidate in request.candidates:
        option = question.option(candidate.id)
        if option is not None:
            scores.append(
                Score(
                    id=candidate.id,
                    score=score(question, option, criteria, lens),
                    reason=_weakness(question, option, criteria),
                )
            )
    return Scores(scores=tuple(scores))


def weighed_criteria(question: Question, theta: Theta, axes: Sequence[str]) -> list[Criterion]:
    """Only an open question is opened up axis by axis; any other is weighed whole at once."""
    if theta.regime is Regime.DELIBERATIVE:
        return known_criteria(question, axes)
    return list(question.criteria)


def _raise(question: Question, request: DeliberateRequest, stance: str) -> Criterion | None:
    if not request.theta.tracks_axes:
        return None
    if request.decisive_axis is not None and stance == "neutral":
        decisive = question.criterion(request.decisive_axis)
        if decisive is not None and decisive.name not in request.axes:
            return decisive
    known = known_criteria(question, request.axes)
    leader = ranking(question, known, NEUTRAL)[0].option if known else None
    return next_criterion(question, request.axes, stance, leader)


def _plan(
    question: Question, criteria: Sequence[Criterion], raised: Criterion | None, persona: Persona
) -> str:
    phrases = PHRASES[question.language]
    pattern = phrases.plan_raise if raised else phrases.plan
    return pattern.format(
        count=len(criteria),
        total=len(question.criteria),
        role=persona.role or persona.name,
        axis=raised.name if raised else "",
    )


def _reflection(question: Question, request: DeliberateRequest, ranked: Sequence[Ranked]) -> str:
    if request.conclusion is None:
        return ""
    conclusion = conclusion_text(request.conclusion)
    phrases = PHRASES[question.language]
    same = conclusion == ranked[0].option.label
    return (phrases.agree if same else phrases.differ).format(conclusion=conclusion)


def _message(
    question: Question,
    criteria: Sequence[Criterion],
    ranked: Sequence[Ranked],
    point: str,
) -> str:
    phrases = PHRASES[question.language]
    if not criteria:
        return phrases.no_grounds
    stands = phrases.ranked.format(
        count=len(criteria),
        total=len(question.criteria),
        first=ranked[0].option.label,
        first_score=ranked[0].score,
        second=ranked[1].option.label,
        second_score=ranked[1].score,
    )
    return f"{point} {stands}".strip()


def _raising(
    question: Question, request: DeliberateRequest, raised: Criterion, leader: Option, stance: str
) -> str:
    phrases = PHRASES[question.language]
    decisive = raised.name == request.decisive_axis
    pattern = phrases.taken_up if decisive else phrases.raise_axis
    said = _point(question, raised, leader, stance)
    about = question.option(said.option) if said is not None else None
    return pattern.format(
        axis=raised.name,
        weight=raised.weight,
        option=(about or leader).label,
        point=said.text if said is not None else phrases.nothing_stated,
    )


def _point(question: Question, raised: Criterion, leader: Option, stance: str) -> Evidence | None:
    """
    The strongest statement on a criterion; who is for something prefers one about its favourite.

    Who is against it looks for the strongest contrary one, whichever option that is about.
    """
    about = [one for one in question.evidence if one.criterion == raised.name]
    if stance == "con":
        about.sort(key=lambda one: -(one.against or 0.0))
    else:
        about.sort(key=lambda one: (one.option != leader.id, -(one.supports or one.against or 0.0)))
    return about[0] if about else None


def _arguments(
    question: Question, criteria: Sequence[Criterion], ranked: Sequence[Ranked], lens: Lens
) -> tuple[str, ...]:
    """The heaviest statements about its favourite, as its stance weighs them."""
    leader = ranked[0].option
    statements = [
        (weight(criterion, lens) * ((one.supports or 0) + (one.against or 0) * lens.contrary), one)
        for criterion in criteria
        for one in evidence_on(question, leader, criterion)
    ]
    statements.sort(key=lambda pair: -pair[0])
    return tuple(one.text for _, one in statements[:_ARGUMENTS])


def _proposals(request: DeliberateRequest, ranked: Sequence[Ranked]) -> tuple[Proposal, ...]:
    if request.theta is not Theta.L2:
        return ()
    known = {one.id for one in request.candidates}
    fresh = [one.option for one in ranked if one.option.id not in known]
    return tuple(Proposal(id=one.id, text=one.text) for one in fresh[:_PROPOSALS])


def _weakness(question: Question, option: Option, criteria: Sequence[Criterion]) -> str:
    against = [
        (criterion.weight * one.against, one.text)
        for criterion in criteria
        for one in evidence_on(question, option, criterion)
        if one.against is not None
    ]
    return max(against, key=lambda pair: pair[0])[1] if against else ""
