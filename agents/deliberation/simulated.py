"""Simulated debaters of a deliberation, with a facilitator and a judge who only count."""

from collections.abc import Sequence
from random import Random

from parley.agents.simulated import Attacker, Belief, Beliefs, Skill
from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.content import (
    AxesJudgement,
    AxesRequest,
    DeliberateRequest,
    Deliberation,
    Dissent,
    ForceRequest,
    Perspective,
    Proposal,
    RaisedAxis,
    Score,
    ScoreRequest,
    Scores,
    SenseRequest,
    SensitivityJudgement,
    Spoken,
    Summary,
    SummaryRequest,
)
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel

OPTIONS = ("first", "second", "third")
# Axes that there are to be found; each debater raises the next one that is not known.
AXES = ("cost", "time", "safety", "people", "law", "reach", "upkeep", "trust", "growth", "risk")
# Of the option a debater holds, and of the others.
FAVOURED, OTHER = 0.9, 0.4
FLOOD = "It cannot be otherwise. " * 800


class SimulatedDeliberation:
    text = "a question"

    def __init__(
        self, panel: Panel, skill: Skill, random: Random, attacker: Attacker | None = None
    ) -> None:
        assert isinstance(panel, DeliberationPanel)
        debaters = [one.name for one in panel.debaters]
        self._beliefs = Beliefs(OPTIONS, debaters, skill, random, attacker)
        self._places = {name: place for place, name in enumerate(debaters)}
        self._held: dict[str, Belief] = {}
        self.truth = self._beliefs.truth

    def speak(self, persona: str, request: Request) -> Content:
        match request:
            case DeliberateRequest():
                return self._deliberate(persona, request)
            case ScoreRequest():
                favoured = self._held[persona].verdict
                marks = (
                    Score(id=one.id, score=FAVOURED if one.id == favoured else OTHER)
                    for one in request.candidates
                )
                return Scores(scores=tuple(marks))
            case AxesRequest():
                return _axes(request)
            case ForceRequest():
                return Perspective(truly_saturated=True)
            case SenseRequest():
                return SensitivityJudgement(sensitivity=Sensitivity.LOW)
            case SummaryRequest():
                return _summary(request.turns)
            case _:
                raise AssertionError(request)

    def _deliberate(self, persona: str, request: DeliberateRequest) -> Deliberation:
        others = [
            Belief(one.position, one.confidence or 0.0)
            for one in request.last_turns
            if one.agent != persona
        ]
        opens = persona not in self._held
        belief = self._beliefs.first(persona) if opens else self._beliefs.after(persona, others)
        self._held[persona] = belief
        unknown = [one for one in AXES if one not in request.axes]
        floods = self._beliefs.floods(persona)
        return Deliberation(
            message=FLOOD if floods else f"I am for the {belief.verdict}.",
            position=belief.verdict,
            confidence=belief.confidence,
            axes=tuple(unknown[self._places[persona] :][:1]),
            candidates=tuple(Proposal(id=one, text=one) for one in OPTIONS),
        )


def _axes(request: AxesRequest) -> AxesJudgement:
    raised = dict.fromkeys(one for turn in request.turns for one in turn.axes)
    leader, share = _leader(request.turns)
    return AxesJudgement(
        axes=tuple(RaisedAxis(name=one) for one in raised if one not in request.axes),
        conclusion=leader or None,
        confidence=share,
    )


def _leader(turns: Sequence[Spoken]) -> tuple[str, float]:
    """The position that weighs most by confidence, and its share."""
    weights: dict[str, float] = {}
    for one in turns:
        weights[one.position] = weights.get(one.position, 0.0) + (one.confidence or 0.0)
    if not weights:
        return "", 0.0
    leader = max(weights, key=weights.__getitem__)
    return leader, weights[leader] / (sum(weights.values()) or 1.0)


def _summary(turns: Sequence[Spoken]) -> Summary:
    leader, share = _leader(turns)
    others = (one for one in turns if one.position != leader)
    return Summary(
        conclusion=leader,
        confidence=share,
        rationale="what most of them hold, by confidence",
        dissent=tuple(Dissent(agent=one.agent, position=one.position) for one in others),
    )
