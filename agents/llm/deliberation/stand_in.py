"""What others would have said, by rule or in brackets, so that a later step's prompts can be shown."""

from parley.agents.deliberation.question import parse_question
from parley.agents.deliberation.rule import answer
from parley.agents.llm.question import Speak
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationContent,
    DeliberationRequest,
    ForceRequest,
    Perspective,
    Proposal,
    Score,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Summary,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel

_CANDIDATES = ("(first)", "(second)", "(third)")


def stand_in(_panel: Panel, _text: str, question: bytes | None) -> Speak:
    file = parse_question(question) if question is not None else None

    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, DeliberationRequest)
        return answer(file, request, persona) if file is not None else _invented(persona, request)

    return speak


def _invented(persona: str, request: DeliberationRequest) -> DeliberationContent:
    """So chosen that every kind of ask comes up."""
    match request:
        case DeliberateRequest():
            proposed = _CANDIDATES if request.theta is Theta.L2 else ()
            return Deliberation(
                message=f"(what {persona} says)",
                position=f"(the position of {persona})",
                confidence=0.9,
                candidates=tuple(Proposal(id=one) for one in proposed),
            )
        case ScoreRequest():
            marks = {one.id: 1.0 / place for place, one in enumerate(request.candidates, start=1)}
            return Scores(scores=tuple(Score(id=one, score=mark) for one, mark in marks.items()))
        case AxesRequest():
            conclusion = "(the conclusion so far)"
            return AxesJudgement(
                axes=(),
                orthogonality=0.0,
                conclusion=conclusion,
                confidence=0.9,
                unexplored=("(unexplored axis)",),
            )
        case ForceRequest():
            return Perspective(axis=f"(axis {len(request.axes) + 1})", reason="(a reason)")
        case SenseRequest():
            return SensitivityJudgement(sensitivity=Sensitivity.LOW, reason="(a reason)")
        case SummaryRequest():
            return Summary(conclusion="(the conclusion)")
