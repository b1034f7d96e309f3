"""
The scripted brain: plays a file of statements. Simulations, demos, drills and test vectors use it.

    panel: forensic
    preset: default                  # or params: {max_rounds: 3, …}
    roster: [frequency, noise]       # optional subset
    rounds:                          # rounds[0] = opening statements
      - frequency: [ai_generated, 0.92]
        noise: {verdict: authentic, confidence: 0.88, reasoning: "sensor noise is uniform"}
      - {}                           # an agent that is not named keeps its statement
    follow_ups:
      spatial: {summary: "the sky", regions: [[10, 20, 100, 80, 0.9]]}
    report: {summary: "…", key_evidence: ["…"]}   # what the panel's manager says of the decision

A line may also say `response`, `arguments`, `evidence`, `delay_s`, `silent: true` (it never
answers) or `fail: why`.

A deliberation has `iterations` in place of `rounds`. Each holds what `rules terminate-regime` takes
(the facilitator and the scores say it) and, if wanted, the debaters' words:

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

from collections.abc import Mapping
from typing import Annotated, Self

import anyio
from pydantic import BeforeValidator, Field, JsonValue, ValidationError, model_validator

from parley.agents.absa.script import AbsaScript, play_line
from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.cue import Cue
from parley.agents.deliberation.script import (
    IterationLines,
    IterationRequest,
    deliberate,
    sum_up,
)
from parley.agents.files import ParsedFiles
from parley.agents.verdicts.report import recount
from parley.bus.contracts.base import Contract, Share, Text, Token
from parley.bus.contracts.deliberation.content import Summary, SummaryRequest
from parley.bus.contracts.deliberation.regimes import Theta
from parley.bus.contracts.facts import Content, FailureReason, Request
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
from parley.bus.errors import BadInput
from parley.configs.careful_yaml import parse_yaml

# The name under which a debate's script travels among the blobs of its input.
SCRIPT_BLOB = "script"


def _folded(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


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


class Script(Contract):
    """Either `rounds`, a debate of verdicts, or `iterations`, a deliberation."""

    panel: Token = "forensic"
    preset: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)
    roster: tuple[Token, ...] | None = None
    rounds: Annotated[tuple[dict[Token, Line], ...], Field(min_length=1)] | None = None
    follow_ups: dict[Token, FollowUpLine] = Field(default_factory=dict)
    report: Report | None = None
    question: Text = ""
    theta: Theta | None = None
    iterations: Annotated[tuple[IterationLines, ...], Field(min_length=1)] | None = None
    summary: Summary | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual_panel(cls, value: object) -> object:
        if isinstance(value, dict) and "iterations" in value:
            return {"panel": "deliberation", **value}
        return value

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.rounds is None) == (self.iterations is None):
            raise ValueError("a script has rounds or iterations, one of both")
        return self

    @model_validator(mode="after")
    def _openings_are_whole(self) -> Self:
        for agent, line in self.rounds[0].items() if self.rounds else ():
            spoken = not line.silent and line.fail is None
            if spoken and (line.verdict is None or line.confidence is None):
                raise ValueError(f"{agent}'s opening statement needs a verdict and a confidence")
        return self

    def agents(self) -> set[str]:
        opposed = {agent for lines in self.rounds or () for agent in lines}
        deliberating = {agent for lines in self.iterations or () for agent in lines.says}
        return opposed | deliberating | set(self.follow_ups)

    def verdicts(self) -> dict[str, str]:
        """Every verdict that a line names, by its place in the file."""
        return {
            f"rounds.{number}.{agent}.verdict": line.verdict
            for number, lines in enumerate(self.rounds or ())
            for agent, line in lines.items()
            if line.verdict is not None
        }

    def line(self, round_: int, agent: str) -> Line | None:
        rounds = self.rounds or ()
        return rounds[round_].get(agent) if round_ < len(rounds) else None

    def iteration(self, number: int) -> IterationLines:
        """Counted from 1; an empty one after the last."""
        iterations = self.iterations or ()
        return iterations[number - 1] if number <= len(iterations) else IterationLines()


# A script of any panel.
AnyScript = Script | AbsaScript


def script_schema(content: object) -> type[AnyScript]:
    """A script of rounds, or of steps."""
    steps = isinstance(content, Mapping) and "steps" in content
    return AbsaScript if steps else Script


def parse_script(text: str | bytes, source: str = "script") -> Script:
    """Raises BadInput that names every mistake."""
    script = parse_any_script(text, source)
    if not isinstance(script, Script):
        raise BadInput(f"{source}: should have rounds")
    return script


def parse_any_script(text: str | bytes, source: str = "script") -> AnyScript:
    """Raises BadInput that names every mistake."""
    content = parse_yaml(text, source)
    try:
        return script_schema(content).model_validate(content)
    except ValidationError as error:
        mistakes = "; ".join(
            f"{'.'.join(str(part) for part in mistake['loc']) or 'file'}: {mistake['msg']}"
            for mistake in error.errors(include_url=False)
        )
        raise BadInput(f"{source}: {mistakes}") from error


def cue_for(script: Script, request: Request, persona: str) -> Cue | None:
    match request:
        case OpeningRequest():
            return script.line(0, persona)
        case RoundRequest():
            return script.line(request.round, persona)
        case LocalizeRequest() | ReportRequest() | SummaryRequest():
            return None
        case _ if isinstance(request, IterationRequest):
            return script.iteration(request.iteration).says.get(persona)
        case _:
            return None


def recite(script: Script, request: Request, persona: str) -> Content:
    """What the script lets a persona say. Raises BrainFailure where it has it fail."""
    return _recited(script, request, persona, cue_for(script, request, persona))


def _recited(script: Script, request: Request, persona: str, cue: Cue | None) -> Content:
    if cue is not None and cue.fail is not None:
        raise BrainFailure(FailureReason.BRAIN_ERROR, cue.fail)
    match request:
        case OpeningRequest():
            return _statement(cue if isinstance(cue, Line) else None, persona)
        case RoundRequest():
            return _reply(cue if isinstance(cue, Line) else UNCHANGED, request, persona)
        case LocalizeRequest():
            follow_up = script.follow_ups.get(persona)
            return (follow_up or FollowUpLine(summary="The script names no region.")).localization()
        case ReportRequest():
            return script.report or recount(request)
        case SummaryRequest():
            return script.summary or sum_up(request)
        case _ if isinstance(request, IterationRequest):
            return deliberate(script.iteration(request.iteration), request, persona)
        case _:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST, f"the script knows nothing of {request.kind}"
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
    challenged = persona in [challenge.challenged for challenge in request.challenges]
    default = (
        ResponseType.CONCESSION
        if changed
        else ResponseType.DEFENSE
        if challenged
        else ResponseType.CLARIFICATION
    )
    return Reply(
        response_type=line.response or default,
        content=line.reasoning,
        verdict_changed=changed,
        new_verdict=line.verdict,
        new_confidence=line.confidence,
        evidence=line.evidence,
        arguments=line.arguments,
    )


class ScriptedBrain:
    """Plays the script that travels with the debate, or one given to it for all debates."""

    name = "script"

    def __init__(self, script: AnyScript | None = None) -> None:
        self._given = script
        self._scripts = ParsedFiles(parse_any_script)

    async def speak(self, task: Task) -> Answer:
        script = self._given or await self._travelling(task)
        if isinstance(script, AbsaScript):
            return await play_line(script, task)
        cue = cue_for(script, task.request, task.persona)
        if cue is not None and cue.silent:
            await anyio.sleep_forever()
        if cue is not None and cue.delay_s:
            await anyio.sleep(cue.delay_s)
        return Answer(_recited(script, task.request, task.persona, cue))

    async def _travelling(self, task: Task) -> AnyScript:
        ref = task.input.blobs.get(SCRIPT_BLOB)
        if ref is None:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST, "the debate carries no script to play"
            )
        return await self._scripts.read(task, ref)
