"""
Scripts of deliberations.

Each iteration holds what `rules terminate-regime` takes (the facilitator and the scores say it)
and, if wanted, the debaters' words:

    panel: deliberation
    question: Lease or buy?
    theta: L3
    iterations:
      - says:
          analyst: {message: "…", position: lease, confidence: 0.7, axes: [cost]}
          critic: "a text alone is the message"
        axes: [cost]                 # those that were said, where this is left out
        conclusion: lease
      - {axes: [], forcing: {axis: ethics}, sensitivity: low}
    summary: {conclusion: lease, rationale: "…"}

After the last iteration nobody adds anything.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, model_validator
from typing_extensions import override

from parley.agents.brain import BrainFailure
from parley.agents.cue import Cue
from parley.agents.script import Script
from parley.bus.contracts.base import Share, Text, Token
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    DeliberationContent,
    Dissent,
    ForceRequest,
    Perspective,
    Proposal,
    RaisedAxis,
    Score,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Summary,
    SummaryRequest,
    conclusion_text,
)
from parley.bus.contracts.deliberation.regimes import AxisName, Iteration, Theta
from parley.bus.contracts.facts import Content, FailureReason, Request

IterationRequest = DeliberateRequest | ScoreRequest | AxesRequest | ForceRequest | SenseRequest


class SpeechLine(Cue):
    """What a debater says in one iteration; of the facilitator only the cue counts."""

    planning: Text = ""
    reflection: Text = ""
    message: Text = ""
    position: Text = ""
    confidence: Share | None = None
    stance: str | None = None
    arguments: tuple[Text, ...] = ()
    axes: tuple[AxisName, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"message": value} if isinstance(value, str) else value


class IterationLines(Iteration):
    says: dict[Token, SpeechLine] = Field(default_factory=dict)


class DeliberationScript(Script):
    key: ClassVar[str] = "iterations"

    panel: Token = "deliberation"
    question: Text = ""
    theta: Theta | None = None
    iterations: Annotated[tuple[IterationLines, ...], Field(min_length=1)]
    summary: Summary | None = None

    @property
    @override
    def about(self) -> str:
        return self.text or self.question

    @property
    @override
    def settings(self) -> dict[str, JsonValue]:
        return {"theta": self.theta.value} if self.theta is not None else {}

    @override
    def agents(self) -> set[str]:
        return {agent for lines in self.iterations for agent in lines.says}

    def iteration(self, number: int) -> IterationLines:
        """Counted from 1; an empty one after the last."""
        within = number <= len(self.iterations)
        return self.iterations[number - 1] if within else IterationLines()

    @override
    def cue(self, step: str, request: Request, persona: str) -> SpeechLine | None:
        if not isinstance(request, IterationRequest):
            return None
        return self.iteration(request.iteration).says.get(persona)

    @override
    def recite(self, step: str, request: Request, persona: str) -> Content:
        line = self.cue(step, request, persona)
        if line is not None and line.fail is not None:
            raise BrainFailure(FailureReason.BRAIN_ERROR, line.fail)
        if isinstance(request, SummaryRequest):
            return self.summary or sum_up(request)
        if isinstance(request, IterationRequest):
            return deliberate(self.iteration(request.iteration), request, persona)
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"the script knows nothing of {request.kind}"
        )


def deliberate(
    lines: IterationLines, request: IterationRequest, persona: str
) -> DeliberationContent:
    """Raises BrainFailure for an answer that the script does not have."""
    match request:
        case DeliberateRequest():
            return _speech(lines, persona)
        case ScoreRequest():
            return Scores(
                scores=tuple(
                    Score(id=one.id, score=one.score, reason=one.reason)
                    for one in lines.candidates or ()
                )
            )
        case AxesRequest():
            return _judgement(lines)
        case ForceRequest():
            return _perspective(lines, request)
        case SenseRequest():
            if lines.sensitivity is None:
                raise _nothing_for("sensitivity", request.iteration)
            return SensitivityJudgement(sensitivity=lines.sensitivity)


def sum_up(request: SummaryRequest) -> Summary:
    """For a script without a summary: the last conclusion, and whose position is another."""
    conclusion = conclusion_text(request.conclusion)
    return Summary(
        conclusion=conclusion,
        confidence=request.confidence,
        rationale="The script names no summary.",
        dissent=tuple(
            Dissent(agent=one.agent, position=one.position, reason=one.message)
            for one in request.turns
            if one.position not in ("", conclusion)
        ),
    )


def _speech(lines: IterationLines, persona: str) -> Deliberation:
    line = lines.says.get(persona, SpeechLine())
    return Deliberation(
        planning=line.planning,
        reflection=line.reflection,
        message=line.message,
        stance=line.stance,
        position=line.position,
        confidence=line.confidence,
        arguments=line.arguments,
        axes=line.axes,
        candidates=tuple(Proposal(id=one.id) for one in lines.candidates or ()),
    )


def _judgement(lines: IterationLines) -> AxesJudgement:
    return AxesJudgement(
        axes=_axes(lines),
        orthogonality=lines.orthogonality,
        d_current=lines.d_current,
        delta_coverage=lines.delta_coverage,
        delta_sem=lines.delta_sem,
        conclusion=lines.conclusion,
        confidence=lines.confidence,
        axes_remaining_estimate=lines.axes_remaining_estimate,
    )


def _axes(lines: IterationLines) -> tuple[RaisedAxis, ...] | None:
    said = tuple(dict.fromkeys(axis for line in lines.says.values() for axis in line.axes))
    names = lines.axes if lines.axes is not None else said or None
    if names is None:
        return None
    return tuple(RaisedAxis(name=name, raised_by=tuple(_authors(lines, name))) for name in names)


def _authors(lines: IterationLines, axis: str) -> Iterator[str]:
    return (persona for persona, line in lines.says.items() if axis in line.axes)


def _perspective(lines: IterationLines, request: ForceRequest) -> Perspective:
    if lines.forcing is None:
        raise _nothing_for("forcing", request.iteration)
    return Perspective(axis=lines.forcing.axis, truly_saturated=lines.forcing.truly_saturated)


def _nothing_for(what: str, iteration: int) -> BrainFailure:
    return BrainFailure(
        FailureReason.UNSUPPORTED_REQUEST,
        f"the script has no {what} for iteration {iteration}",
    )
