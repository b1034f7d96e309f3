"""
Scripts of debates of verdicts:

    panel: review
    preset: default                  # or params: {max_rounds: 3, …}
    roster: [security, maintainer]   # optional subset
    rounds:                          # rounds[0] = opening statements
      - security: [reject, 0.92]
        maintainer: {verdict: approve, confidence: 0.88, reasoning: "reads well"}
      - {}                           # an agent that is not named keeps its statement
    follow_ups:
      security: {summary: "the corner", regions: [[10, 20, 100, 80, 0.9]]}
    report: {summary: "…", key_evidence: ["…"]}   # what the panel's manager says of the decision

A line may also say `response`, `arguments`, `evidence`, and what any line may (see agents/script.py).
"""

from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator
from typing_extensions import override

from parley.agents.brain import BrainFailure
from parley.agents.cue import Cue
from parley.agents.script import Script
from parley.agents.verdicts.report import recount
from parley.bus.contracts.base import Contract, Share, Text, Token
from parley.bus.contracts.facts import Content, FailureReason, Request
from parley.bus.contracts.panel import PanelBase
from parley.bus.contracts.verdicts.content import (
    Label,
    Localization,
    LocalizeRequest,
    OpeningRequest,
    Region,
    Reply,
    Report,
    ReportRequest,
    ResponseType,
    RoundRequest,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.configs.names import name_unknown


def _folded(value: object) -> object:
    """YAML reads the labels true and false as something else."""
    return str(value).strip().lower() if isinstance(value, str | bool) else value


class Line(Cue):
    verdict: Annotated[Label, BeforeValidator(_folded)] | None = None
    confidence: Share | None = None
    reasoning: Text = ""
    arguments: tuple[Text, ...] | None = None
    evidence: dict[str, JsonValue] | None = None
    response: ResponseType | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        names = ("verdict", "confidence", "reasoning")
        if len(value) not in (len(names) - 1, len(names)):
            raise ValueError(
                "a short line is [verdict, confidence] or [verdict, confidence, reasoning]"
            )
        return dict(zip(names, value, strict=False))


# Of an agent that is not named.
UNCHANGED = Line()


class FollowUpLine(Contract):
    summary: Text = ""
    regions: tuple[tuple[int, int, int, int, float], ...] = ()

    def localization(self) -> Localization:
        return Localization(
            summary=self.summary,
            regions=tuple(
                Region(x=x, y=y, width=w, height=h, score=score)
                for x, y, w, h, score in self.regions
            ),
        )


class VerdictScript(Script):
    key: ClassVar[str] = "rounds"

    panel: Token = "forensic"
    rounds: Annotated[tuple[dict[Token, Line], ...], Field(min_length=1)]
    follow_ups: dict[Token, FollowUpLine] = Field(default_factory=dict)
    report: Report | None = None
    question: Text = ""

    @model_validator(mode="after")
    def _openings_are_whole(self) -> Self:
        for agent, line in self.rounds[0].items():
            spoken = not line.silent and line.fail is None
            if spoken and (line.verdict is None or line.confidence is None):
                raise ValueError(f"{agent}'s opening statement needs a verdict and a confidence")
        return self

    @property
    @override
    def about(self) -> str:
        return self.text or self.question

    @property
    @override
    def settings(self) -> dict[str, JsonValue]:
        """A report needs somebody who gives it."""
        return {"manager": True} if self.report is not None else {}

    @override
    def agents(self) -> set[str]:
        return {agent for lines in self.rounds for agent in lines} | set(self.follow_ups)

    @override
    def mistakes(self, panel: PanelBase) -> list[str]:
        known = panel.verdicts if isinstance(panel, VerdictPanel) else ()
        return [
            f"rounds.{number}.{agent}.verdict: {name_unknown('verdict', line.verdict, known)}"
            for number, lines in enumerate(self.rounds)
            for agent, line in lines.items()
            if known and line.verdict is not None and line.verdict not in known
        ]

    def line(self, round_: int, agent: str) -> Line | None:
        return self.rounds[round_].get(agent) if round_ < len(self.rounds) else None

    @override
    def cue(self, step: str, request: Request, persona: str) -> Line | None:
        match request:
            case OpeningRequest():
                return self.line(0, persona)
            case RoundRequest():
                return self.line(request.round, persona)
            case _:
                return None

    @override
    def recite(self, step: str, request: Request, persona: str) -> Content:
        line = self.cue(step, request, persona)
        if line is not None and line.fail is not None:
            raise BrainFailure(FailureReason.BRAIN_ERROR, line.fail)
        match request:
            case OpeningRequest():
                return _statement(line, persona)
            case RoundRequest():
                return _reply(line or UNCHANGED, request, persona)
            case LocalizeRequest():
                unknown = FollowUpLine(summary="The script names no region.")
                return self.follow_ups.get(persona, unknown).localization()
            case ReportRequest():
                return self.report or recount(request)
            case _:
                raise BrainFailure(
                    FailureReason.UNSUPPORTED_REQUEST,
                    f"the script knows nothing of {request.kind}",
                )


def _statement(line: Line | None, persona: str) -> Statement:
    if line is None or line.verdict is None or line.confidence is None:
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"the script has no opening statement for {persona}"
        )
    return Statement(
        verdict=line.verdict,
        confidence=line.confidence,
        reasoning=line.reasoning,
        evidence=line.evidence or {},
        arguments=line.arguments or (),
    )


def _reply(line: Line, request: RoundRequest, persona: str) -> Reply:
    before = {one.agent: one.verdict for one in request.standing}.get(persona)
    changed = line.verdict is not None and line.verdict != before
    challengers = tuple(one.challenger for one in request.challenges if one.challenged == persona)
    default = (
        ResponseType.CONCESSION
        if changed
        else ResponseType.DEFENSE
        if challengers
        else ResponseType.CLARIFICATION
    )
    return Reply(
        response_type=line.response or default,
        content=line.reasoning,
        answers=challengers if line.reasoning else (),
        verdict_changed=changed,
        new_verdict=line.verdict,
        new_confidence=line.confidence,
        evidence=line.evidence,
        arguments=line.arguments,
    )
