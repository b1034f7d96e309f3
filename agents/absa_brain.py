"""
The rules of the aspect-sentiment personas as a brain: offline and deterministic.

A sentence takes a few milliseconds, which is not worth a thread; a long text, and the first of a
language, for which models are read, would keep everybody else in this process waiting.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar, assert_never

from anyio.to_thread import run_sync

from parley.agents.absa.debate_v2 import speak_v2
from parley.agents.absa.judge_v2 import judge_v2
from parley.agents.absa.stage1 import classify_terms, extract_terms
from parley.agents.absa.stage2 import review_sentiments, review_terms, validate_finally
from parley.agents.absa.text import resolve_language
from parley.agents.absa.validator import validate
from parley.agents.brain import Answer, BrainFailure, Task
from parley.bus.contracts.absa.debate import DebateSummary, DebateTurn, Protocol
from parley.bus.contracts.absa.requests import (
    AbsaRequest,
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ReviewRequest,
    ValidationRequest,
)
from parley.bus.contracts.facts import AbsaContent, FailureReason, Request

LONG_TEXT = 1_000

Rule = TypeVar("Rule")
SPEAK: Mapping[Protocol, Callable[[str, DebateTurnRequest], DebateTurn]] = {"v2": speak_v2}
JUDGE: Mapping[Protocol, Callable[[str, JudgeRequest], DebateSummary]] = {"v2": judge_v2}


class AbsaRuleBrain:
    name = "rule"

    def __init__(self) -> None:
        self._warm: set[str] = set()

    async def speak(self, task: Task) -> Answer:
        text = task.input.text
        request = absa_request(task.request)
        language = resolve_language(request.language_code, text)
        if language in self._warm and len(text) < LONG_TEXT:
            return Answer(think(task.persona, request, text))
        try:
            content = await run_sync(think, task.persona, request, text)
        except ModuleNotFoundError as error:
            needed = f"reading {language} needs the package {error.name}"
            raise BrainFailure(FailureReason.BRAIN_ERROR, needed) from error
        self._warm.add(language)
        return Answer(content)


def absa_request(request: Request) -> AbsaRequest:
    if isinstance(request, AbsaRequest):
        return request
    raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, f"no rules for {request.kind}")


def think(persona: str, request: AbsaRequest, text: str) -> AbsaContent:
    match request:
        case AteRequest():
            return extract_terms(text, request)
        case AtsaRequest():
            return classify_terms(text, request)
        case ValidationRequest():
            return validate(text, request)
        case DebateTurnRequest():
            return _of(SPEAK, request.protocol)(text, request)
        case JudgeRequest():
            return _of(JUDGE, request.protocol)(text, request)
        case ReviewRequest():
            return _review(persona, request, text)
        case _:
            assert_never(request)


def _of(rules: Mapping[Protocol, Rule], protocol: Protocol) -> Rule:
    if protocol not in rules:
        raise BrainFailure(
            FailureReason.UNSUPPORTED_REQUEST, f"the rules do not speak in protocol {protocol}"
        )
    return rules[protocol]


def _review(persona: str, request: ReviewRequest, text: str) -> AbsaContent:
    match persona:
        case "ate":
            return review_terms(text, request)
        case "atsa":
            return review_sentiments(text, request)
        case "validator":
            return validate_finally(text, request)
        case _:
            raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, f"{persona} reviews nothing")
