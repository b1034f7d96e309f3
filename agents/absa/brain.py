"""
The rules of the aspect-sentiment personas as a brain: offline and deterministic.

A sentence takes a few milliseconds, which is not worth a thread; a long text, and the first of a
language, for which models are read, would keep everybody else in this process waiting.
"""

from anyio.to_thread import run_sync

from parley.agents.absa.skill import answer
from parley.agents.absa.text import resolve_language
from parley.agents.brain import Answer, BrainFailure, Task
from parley.bus.contracts.absa.protocol import AbsaContent
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.facts import FailureReason, Request
from parley.bus.extras import MissingPackage

LONG_TEXT = 1_000


class AbsaRuleBrain:
    name = "rule"

    def __init__(self) -> None:
        self._warm: set[str] = set()

    async def speak(self, task: Task) -> Answer:
        text = task.input.text
        language = resolve_language(absa_request(task.request).language_code, text)
        if language in self._warm and len(text) < LONG_TEXT:
            return Answer(think(task.persona, task.request, text))
        try:
            content = await run_sync(think, task.persona, task.request, text)
        except MissingPackage as error:
            raise BrainFailure(FailureReason.BRAIN_ERROR, str(error)) from error
        self._warm.add(language)
        return Answer(content)


def absa_request(request: Request) -> AbsaRequest:
    if isinstance(request, AbsaRequest):
        return request
    raise BrainFailure(FailureReason.UNSUPPORTED_REQUEST, f"no rules for {request.kind}")


def think(persona: str, request: Request, text: str) -> AbsaContent:
    return answer(text, persona, absa_request(request))
