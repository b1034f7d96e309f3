"""What others might have said, in brackets, so that the prompts of a later step can be shown."""

from parley.agents.llm.question import Speak
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
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


def stand_in(panel: Panel, _text: str, _question: bytes | None) -> Speak:
    """So chosen that every kind of ask comes up: the first is as sure as all others are, of another thing."""
    assert isinstance(panel, VerdictPanel)
    first = panel.roster[0]
    *_, others, alone = ("", *(panel.verdicts[:-1] or ("first", "second")))

    def speak(persona: str, request: Request) -> Content:
        match request:
            case OpeningRequest():
                return Statement(
                    verdict=alone if persona == first else others,
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
