"""Simulated personas of a panel of verdicts."""

from random import Random

from parley.agents.simulated import Attacker, Belief, Beliefs, Skill
from parley.agents.verdicts.report import recount
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.content import (
    Localization,
    LocalizeRequest,
    OpeningRequest,
    Reply,
    ReportRequest,
    ResponseType,
    RoundRequest,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel

FLOOD = "It cannot be otherwise. " * 800


class SimulatedVerdicts:
    text = "a case"

    def __init__(
        self, panel: Panel, skill: Skill, random: Random, attacker: Attacker | None = None
    ) -> None:
        assert isinstance(panel, VerdictPanel)
        labels = [label.name for label in panel.labels]
        self._beliefs = Beliefs(labels, panel.roster, skill, random, attacker)
        self.truth = self._beliefs.truth

    def speak(self, persona: str, request: Request) -> Content:
        match request:
            case OpeningRequest():
                belief = self._beliefs.first(persona)
                return Statement(
                    verdict=belief.verdict,
                    confidence=belief.confidence,
                    reasoning=self._words(persona, belief),
                )
            case RoundRequest():
                return self._reply(persona, request)
            case LocalizeRequest():
                return Localization()
            case ReportRequest():
                return recount(request)
            case _:
                raise AssertionError(request)

    def _reply(self, persona: str, request: RoundRequest) -> Reply:
        standing = {one.agent: Belief(one.verdict, one.confidence) for one in request.standing}
        before = standing.pop(persona, None)
        after = self._beliefs.after(persona, tuple(standing.values()))
        moved = before is not None and before.verdict != after.verdict
        return Reply(
            response_type=ResponseType.CONCESSION if moved else ResponseType.DEFENSE,
            verdict_changed=moved,
            new_verdict=after.verdict,
            new_confidence=after.confidence,
            reasoning=self._words(persona, after),
        )

    def _words(self, persona: str, belief: Belief) -> str:
        return FLOOD if self._beliefs.floods(persona) else f"I hold it to be {belief.verdict}."
