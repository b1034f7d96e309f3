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
from typing import ClassVar

from pydantic import TypeAdapter
from typing_extensions import override

from parley.agents.brain import BrainFailure
from parley.agents.script import StepScript
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.base import Token
from parley.bus.contracts.facts import Content, FailureReason, Request

CONTENT: TypeAdapter[Content] = TypeAdapter(Content)
_STAGES = {"ate": "ate", "atsa": "atsa", "validator": "validation"}
_REVIEWS = {"ate": "ate_review", "atsa": "atsa_review", "validator": "final_validation"}


class AbsaScript(StepScript):
    key: ClassVar[str] = "steps"

    panel: Token = "absa"

    @override
    @classmethod
    def content_as_written(
        cls, step: str, persona: str, content: Mapping[str, object]
    ) -> Mapping[str, object]:
        return {"kind": kind_expected(step, persona), **content}

    @override
    def unscripted(self, step: str, request: Request, persona: str) -> Content:
        if not isinstance(request, AbsaRequest):
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST, f"the script knows nothing of {request.kind}"
            )
        return empty_answer(request, persona)


def kind_expected(step: str, persona: str) -> str:
    if step.startswith("s1-"):
        return _STAGES.get(persona, "ate")
    if step.startswith("s2"):
        return _REVIEWS.get(persona, "ate_review")
    return "debate_summary" if step.startswith("judge") else "debate_turn"


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
