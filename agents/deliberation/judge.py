"""The judge by rule: says what was concluded, by which numbers, and who disagrees."""

from collections.abc import Sequence

from parley.agents.deliberation.debater import weighed_criteria
from parley.agents.deliberation.phrases import PHRASES
from parley.agents.deliberation.question import Criterion, Option, Question
from parley.agents.deliberation.weighing import (
    NEUTRAL,
    Ranked,
    contribution,
    ranking,
)
from parley.bus.contracts.deliberation.content import (
    Dissent,
    Summary,
    SummaryRequest,
    conclusion_text,
)

_NAMED_CRITERIA = 3
_TWO = 2
_YES = frozenset({"yes", "true", "예", "네", "참", "그렇다"})


def sum_up(question: Question, request: SummaryRequest) -> Summary:
    criteria = weighed_criteria(question, request.theta, [one.name for one in request.axes])
    ranked = ranking(question, criteria, NEUTRAL)
    chosen = _chosen(question, request, ranked)
    return Summary(
        conclusion=chosen.option.label,
        answer=_answer(question, chosen),
        confidence=request.confidence,
        rationale=" ".join(_rationale(question, criteria, chosen, ranked)),
        dissent=tuple(
            Dissent(
                agent=turn.agent,
                position=turn.position,
                reason=" ".join((turn.message, *turn.arguments[:1])),
            )
            for turn in request.turns
            if turn.position not in ("", chosen.option.label)
        ),
    )


def _answer(question: Question, chosen: Ranked) -> bool | None:
    """Of two options the one that says yes, or else the first, stands for true."""
    if len(question.options) != _TWO:
        return None
    said_yes = [one for one in question.options if one.label.strip(" .!").casefold() in _YES]
    return chosen.option == (said_yes or question.options)[0]


def _chosen(question: Question, request: SummaryRequest, ranked: Sequence[Ranked]) -> Ranked:
    concluded = question.option(conclusion_text(request.conclusion))
    return next((one for one in ranked if one.option == concluded), ranked[0])


def _rationale(
    question: Question,
    criteria: Sequence[Criterion],
    chosen: Ranked,
    ranked: Sequence[Ranked],
) -> list[str]:
    phrases = PHRASES[question.language]
    rival = next(one for one in ranked if one.option != chosen.option)
    shares = _shares(question, (chosen.option, rival.option), criteria)
    gained = [f"{name} {share:+.2f}" for name, share in shares if share > 0][:_NAMED_CRITERIA]
    lost = [f"{name} {share:+.2f}" for name, share in reversed(shares) if share < 0]
    pattern = phrases.by_weight if chosen.score < rival.score else phrases.verdict
    said = pattern.format(
        first=chosen.option.label,
        first_score=chosen.score,
        count=len(criteria),
        second=rival.option.label,
        second_score=rival.score,
    )
    listed = (
        (phrases.decided_by, gained),
        (phrases.spoke_against, lost[:_NAMED_CRITERIA]),
        (phrases.not_weighed, [one.name for one in question.criteria if one not in criteria]),
    )
    grounds = [about.format(items=", ".join(items)) for about, items in listed if items]
    return [said, *grounds, phrases.honest]


def _shares(
    question: Question, pair: tuple[Option, Option], criteria: Sequence[Criterion]
) -> list[tuple[str, float]]:
    """What each criterion adds to the lead, most first, as far as two decimals show it."""
    shares = [(one.name, contribution(question, pair, one, criteria)) for one in criteria]
    shown = [(name, share) for name, share in shares if round(share, 2)]
    return sorted(shown, key=lambda share: -share[1])
