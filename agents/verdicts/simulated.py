"""Simulated personas of a panel of verdicts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from parley.agents.simulated import Attack, Attacker, Skill
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
    Standing,
    Statement,
)
from parley.bus.contracts.verdicts.panel import VerdictPanel

# How much the chance of being right differs from case to case.
CONCENTRATION = 6.0
# What confidence is where it says nothing.
HOLLOW = (0.55, 0.95)
CERTAIN = 0.99
FLOOD = "It cannot be otherwise. " * 800


@dataclass(frozen=True, slots=True)
class _Belief:
    verdict: str
    confidence: float


class SimulatedVerdicts:
    def __init__(
        self, panel: Panel, skill: Skill, random: Random, attacker: Attacker | None = None
    ) -> None:
        assert isinstance(panel, VerdictPanel)
        self._skill = skill
        self._attacker = attacker
        labels = [label.name for label in panel.labels]
        self.truth = random.choice(labels)
        wrong = [one for one in labels if one != self.truth]
        # What a lie says, and what an order in the input asks for.
        self._lie = random.choice(wrong)
        together = random.random() < skill.correlation
        common = random.random(), random.choice(wrong), _chance(random, skill)
        self._beliefs: dict[str, _Belief] = {}
        self._chances: dict[str, Random] = {}
        for persona in panel.roster:
            own = random.random(), random.choice(wrong), _chance(random, skill)
            drawn, error, chance = common if together else own
            verdict = self.truth if drawn < chance else error
            hollow = random.uniform(*HOLLOW)
            kept = skill.calibration
            self._beliefs[persona] = _Belief(verdict, kept * chance + (1 - kept) * hollow)
            self._chances[persona] = Random(random.random())  # noqa: S311 - to be repeated

    def speak(self, persona: str, request: Request) -> Content:
        match request:
            case OpeningRequest():
                belief = self._attacked(persona, ()) or self._beliefs[persona]
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
        before = self._beliefs[persona]
        others = [one for one in request.standing if one.agent != persona]
        after = self._attacked(persona, others)
        if after is None:
            after = self._persuaded(persona, before, others)
            self._beliefs[persona] = after
        return Reply(
            response_type=ResponseType.DEFENSE
            if after.verdict == before.verdict
            else ResponseType.CONCESSION,
            verdict_changed=after.verdict != before.verdict,
            new_verdict=after.verdict,
            new_confidence=after.confidence,
            reasoning=self._words(persona, after),
        )

    def _persuaded(self, persona: str, own: _Belief, others: Sequence[Standing]) -> _Belief:
        """First by whoever is right, then by how many disagree."""
        chance, skill = self._chances[persona], self._skill
        sees, yields = chance.random() < skill.insight, chance.random()
        if sees:
            if own.verdict == self.truth:
                return own
            if any(one.verdict == self.truth for one in others):
                return _Belief(self.truth, own.confidence)
        held = Counter(one.verdict for one in others if one.verdict != own.verdict)
        if not held:
            return own
        verdict, many = held.most_common(1)[0]
        if yields < skill.conformity * many / len(others):
            sure = [one.confidence for one in others if one.verdict == verdict]
            return _Belief(verdict, sum(sure) / len(sure))
        return own

    def _attacked(self, persona: str, others: Sequence[Standing]) -> _Belief | None:
        """What an attacker says; None for everybody else."""
        attacker = self._attacker
        if attacker is None or attacker.persona != persona:
            return None
        match attacker.attack:
            case Attack.LIES | Attack.FLOODS | Attack.OBEYS:
                return _Belief(self._lie, CERTAIN)
            case Attack.ALWAYS_SURE:
                return _Belief(self._beliefs[persona].verdict, 1.0)
            case Attack.COPIES:
                held = Counter(one.verdict for one in others)
                own = self._beliefs[persona].verdict
                return _Belief(held.most_common(1)[0][0] if held else own, CERTAIN)

    def _words(self, persona: str, belief: _Belief) -> str:
        floods = self._attacker == Attacker(persona, Attack.FLOODS)
        return FLOOD if floods else f"I hold it to be {belief.verdict}."


def _chance(random: Random, skill: Skill) -> float:
    """Of being right in this case: easy and hard ones, with the accuracy for their mean."""
    mean = skill.accuracy
    if not 0 < mean < 1:
        return mean
    return random.betavariate(CONCENTRATION * mean, CONCENTRATION * (1 - mean))
