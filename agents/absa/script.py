"""
The scripted brain of the aspect-sentiment pipeline: plays contents by step and persona.

    panel: absa
    params: {debate.rounds: 2}       # as after --set
    text: 음식은 맛있지만 서비스는 느려요   # debated unless an input is given
    steps:
      s1-ate: {ate: {aspects: [{term: 음식}]}}
      d1-epm: {epm: {proposed_edits: [{op: set_polarity, target: {aspect_ref: 음식}, value: positive}]}}
      judge: {judge: {silent: true}} # the second asking, `judge-again`, may have a line of its own
      s2: {ate: {fail: no idea}}

Who is not named gives an empty answer of the right kind. `kind` names another one.
"""

from collections.abc import Mapping
from typing import Annotated

import anyio
from pydantic import Field, JsonValue, TypeAdapter, model_validator

from parley.agents.brain import Answer, BrainFailure, Task
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.base import Contract, Text, Token
from parley.bus.contracts.facts import Content, FailureReason, Request

CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
_STAGES = {"ate": "ate", "atsa": "atsa", "validator": "validation"}
_REVIEWS = {"ate": "ate_review", "atsa": "atsa_review", "validator": "final_validation"}


class AbsaLine(Contract):
    content: Content
    delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    silent: bool = False
    fail: Text | None = None


class AbsaScript(Contract):
    panel: Token = "absa"
    preset: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)
    text: Annotated[str, Field(max_length=200_000)] = ""
    steps: dict[Token, dict[Token, AbsaLine]]

    @model_validator(mode="before")
    @classmethod
    def _lines_as_people_write_them(cls, value: object) -> object:
        if not isinstance(value, Mapping) or not isinstance(value.get("steps"), Mapping):
            return value
        return {
            **value,
            "steps": {
                step: {persona: _line(str(step), str(persona), raw) for persona, raw in by.items()}
                for step, by in value["steps"].items()
                if isinstance(by, Mapping)
            },
        }

    @property
    def roster(self) -> None:
        """Who is asked follows from the parameters."""

    def agents(self) -> set[str]:
        return {persona for lines in self.steps.values() for persona in lines}

    def line(self, step: str, persona: str) -> AbsaLine | None:
        return self.steps.get(step, {}).get(persona)


def kind_expected(step: str, persona: str) -> str:
    if step.startswith("s1-"):
        return _STAGES.get(persona, "ate")
    if step.startswith("s2"):
        return _REVIEWS.get(persona, "ate_review")
    return "debate_summary" if step.startswith("judge") else "debate_turn"


def recite_absa(script: AbsaScript, step: str, request: Request, persona: str) -> Content:
    """What the script lets a persona say. Raises BrainFailure where it has it fail."""
    if not isinstance(request, AbsaRequest):
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"the script knows nothing of {request.kind}"
        )
    line = script.line(step, persona)
    if line is not None and line.fail is not None:
        raise BrainFailure(FailureReason.BRAIN_ERROR, line.fail)
    return line.content if line is not None else empty_answer(request, persona)


def empty_answer(request: AbsaRequest, persona: str) -> Content:
    match request:
        case AteRequest() | AtsaRequest() | ValidationRequest():
            kind = _STAGES[request.kind.removesuffix("_request").replace("validation", "validator")]
        case DebateTurnRequest():
            kind = "debate_turn"
        case JudgeRequest():
            kind = "debate_summary"
        case ReviewRequest():
            kind = _REVIEWS.get(persona, "ate_review")
    return CONTENT.validate_python({"kind": kind})


async def play_line(script: AbsaScript, task: Task) -> Answer:
    line = script.line(task.step, task.persona)
    if line is not None and line.silent:
        await anyio.sleep_forever()
    if line is not None and line.delay_s:
        await anyio.sleep(line.delay_s)
    return Answer(recite_absa(script, task.step, task.request, task.persona))


def _line(step: str, persona: str, raw: object) -> object:
    """A line is the content itself, with the stage directions beside it."""
    if not isinstance(raw, Mapping) or "content" in raw:
        return raw
    directions = {key: raw[key] for key in ("delay_s", "silent", "fail") if key in raw}
    content = {key: value for key, value in raw.items() if key not in directions}
    return {**directions, "content": {"kind": kind_expected(step, persona), **content}}
