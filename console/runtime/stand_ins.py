"""
The asks of a debate that nobody has held, for showing what a persona would be asked in it.

What comes before an ask is played: by the script, by the panel's rules where they can tell, and
otherwise by stand-ins, whose words stand in brackets.
"""

from collections.abc import Iterator

from parley.agents.absa.brain import think
from parley.agents.absa.script import empty_answer
from parley.agents.deliberation.question import Question, parse_question
from parley.agents.deliberation.rule import answer
from parley.agents.script import Script, StepScript
from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.requests import AbsaRequest
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
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import Asked, Content, Fact, Request, RequestByReference
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    OpeningRequest,
    Reply,
    Report,
    ReportRequest,
    ResponseType,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.bus.extras import MissingPackage
from parley.console.runtime.inputs import Material
from parley.console.runtime.rehearsal import Speak, play, play_on
from parley.coordinator.core.state import DebateState

_CANDIDATES = ("(first)", "(second)", "(third)")


def asks(
    panel: Panel, persona: str, material: Material, script: Script | None
) -> Iterator[tuple[str, Request]]:
    """What the persona is asked, step by step; no more is played than is looked at."""
    for fact, _ in _played(panel, material, script):
        if isinstance(fact, Asked) and persona in fact.personas:
            assert not isinstance(fact.request, RequestByReference)
            yield fact.step, fact.request


def _played(
    panel: Panel, material: Material, script: Script | None
) -> Iterator[tuple[Fact, DebateState]]:
    about = DebateInput(text=material.text)
    if script is None and isinstance(panel, AbsaPanel):
        return play_on(panel, about, _absa(material.text))
    if script is None and isinstance(panel, DeliberationPanel):
        question = parse_question(material.question) if material.question is not None else None
        return play_on(panel, about, _deliberation(question))
    if script is None and isinstance(panel, VerdictPanel):
        return play_on(panel, about, _verdicts(panel))
    return play(panel, script or StepScript(panel=panel.name, steps={}), about)


def _absa(text: str) -> Speak:
    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, AbsaRequest)
        try:
            return think(persona, request, text)
        except MissingPackage:
            return empty_answer(request, persona)

    return speak


def _deliberation(question: Question | None) -> Speak:
    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, DeliberationRequest)
        if question is not None:
            return answer(question, request, persona)
        return stand_in(persona, request)

    return speak


def _verdicts(panel: VerdictPanel) -> Speak:
    """So chosen that every kind of ask comes up: the first is as sure as all others are, of another thing."""
    *_, others, alone = ("", *(panel.verdicts[:-1] or ("first", "second")))

    def speak(persona: str, request: Request) -> Content:
        match request:
            case OpeningRequest():
                return Statement(
                    verdict=alone if persona == panel.roster[0] else others,
                    confidence=0.9,
                    reasoning=f"(what {persona} says)",
                    arguments=(f"(the evidence of {persona})",),
                )
            case LocalizeRequest():
                return Localization(summary="(the region)")
            case ReportRequest():
                return Report(summary="(the report)")
            case _:
                return Reply(response_type=ResponseType.DEFENSE)

    return speak


def stand_in(persona: str, request: DeliberationRequest) -> DeliberationContent:
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
