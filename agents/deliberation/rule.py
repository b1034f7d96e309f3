"""
The deliberation's rule brain: offline, deterministic, and honest about what it works from.

It needs a question file (see `question`), which travels with the debate; a free text alone tells
it nothing, and it says so instead of inventing an answer.
"""

from parley.agents.brain import Answer, BrainFailure, Task
from parley.agents.deliberation import debater, facilitator, judge
from parley.agents.deliberation.question import QUESTION_BLOB, Question, parse_question
from parley.agents.files import ParsedFiles
from parley.bus.contracts.deliberation.content import (
    AxesRequest,
    DeliberateRequest,
    DeliberationContent,
    DeliberationRequest,
    ForceRequest,
    ScoreRequest,
    SenseRequest,
    SummaryRequest,
)
from parley.bus.contracts.facts import FailureReason
from parley.bus.contracts.panel import Persona


class DeliberatingBrain:
    name = "rule: question file"

    def __init__(self) -> None:
        self._questions = ParsedFiles(parse_question)

    async def speak(self, task: Task) -> Answer:
        question = await self._question(task)
        if not isinstance(task.request, DeliberationRequest):
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST,
                f"the deliberation's rules know no answer to {task.request.kind!r}",
            )
        return Answer(answer(question, task.request, task.persona))

    async def _question(self, task: Task) -> Question:
        ref = task.input.blobs.get(QUESTION_BLOB)
        if ref is None:
            raise BrainFailure(
                FailureReason.UNSUPPORTED_REQUEST,
                "a free text can be deliberated by a model only; the rules need a question file",
            )
        return await self._questions.read(task, ref)


def answer(question: Question, request: DeliberationRequest, persona: str) -> DeliberationContent:
    match request:
        case DeliberateRequest():
            return debater.speak(question, request, _self(request, persona))
        case ScoreRequest():
            return debater.mark(question, request, _self(request, persona))
        case AxesRequest():
            return facilitator.judge_axes(question, request)
        case ForceRequest():
            return facilitator.force(question, request)
        case SenseRequest():
            return facilitator.sense(question, request)
        case SummaryRequest():
            return judge.sum_up(question, request)


def _self(request: DeliberateRequest | ScoreRequest, persona: str) -> Persona:
    return next((one for one in request.personas if one.name == persona), Persona(name=persona))
