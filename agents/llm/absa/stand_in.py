"""What others would have said, by rule, so that the prompts of a later step can be shown."""

from parley.agents.absa.brain import think
from parley.agents.absa.script import empty_answer
from parley.agents.llm.question import Speak
from parley.bus.contracts.absa.requests import AbsaRequest
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.extras import MissingPackage


def stand_in(_panel: Panel, text: str, _question: bytes | None) -> Speak:
    def speak(persona: str, request: Request) -> Content:
        assert isinstance(request, AbsaRequest)
        try:
            return think(persona, request, text)
        except MissingPackage:
            return empty_answer(request, persona)

    return speak
