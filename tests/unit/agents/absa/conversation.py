"""Asks the personas one after the other, in process, as the coordinator would over the bus."""

from dataclasses import dataclass

from parley.agents.absa.skill import answer
from parley.agents.absa.text_reading import Skill
from parley.bus.contracts.absa.debate import (
    DebatePersona,
    DebateSummary,
    DebateTurn,
    Protocol,
    SharedContext,
)
from parley.bus.contracts.absa.requests import (
    AteRequest,
    AtsaRequest,
    DebateTurnRequest,
    JudgeRequest,
    ValidationRequest,
)
from parley.bus.contracts.absa.sentiment import AteOutput, AtsaOutput, ValidatorOutput

STANCES = {"analyst": "neutral", "critic": "con", "empath": "pro"}
ORDER: dict[Protocol, tuple[str, ...]] = {"v1": tuple(STANCES), "v2": ("epm", "tan", "cj")}


@dataclass(frozen=True)
class Stage1:
    ate: AteOutput
    atsa: AtsaOutput
    validator: ValidatorOutput

    def context(self, text: str) -> SharedContext:
        return SharedContext(
            text=text,
            stage1_aspects=self.ate.aspects,
            stage1_aspect_sentiments=self.atsa.aspect_sentiments,
            stage1_structural_risks=self.validator.structural_risks,
            stage1_correction_proposals=self.validator.correction_proposals,
        )

    @property
    def tuples(self) -> set[tuple[str, str]]:
        return {(item.key, str(item.polarity)) for item in self.atsa.aspect_sentiments}


@dataclass(frozen=True)
class Conversation:
    stage1: Stage1
    turns: tuple[DebateTurn, ...]
    summary: DebateSummary

    @property
    def tuples(self) -> set[tuple[str, str]]:
        return {(item.key, str(item.polarity)) for item in self.summary.final_tuples}


def first_stage(text: str, code: str = "auto", skill: Skill = "model") -> Stage1:
    ate = answer(text, "ate", AteRequest(language_code=code), skill)
    assert isinstance(ate, AteOutput)
    atsa = answer(text, "atsa", AtsaRequest(language_code=code, ate=ate), skill)
    assert isinstance(atsa, AtsaOutput)
    request = ValidationRequest(language_code=code, ate=ate, atsa=atsa)
    validator = answer(text, "validator", request, skill)
    assert isinstance(validator, ValidatorOutput)
    return Stage1(ate, atsa, validator)


def persona(key: str) -> DebatePersona:
    stance = STANCES.get(key, "")
    name = key if stance else key.upper()
    return DebatePersona(name=name, role=key, goal=key, stance=stance)


def debate(
    text: str, context: SharedContext, protocol: Protocol = "v2", rounds: int = 1
) -> tuple[tuple[DebateTurn, ...], DebateSummary]:
    turns: list[DebateTurn] = []
    for number in range(1, rounds + 1):
        for key in ORDER[protocol]:
            request = DebateTurnRequest(
                language_code="auto",
                protocol=protocol,
                round=number,
                key=key,
                persona=persona(key),
                context=context,
                history=tuple(turns),
            )
            turn = answer(text, key, request)
            assert isinstance(turn, DebateTurn)
            turns.append(turn)
    asked = JudgeRequest(
        language_code="auto", protocol=protocol, context=context, turns=tuple(turns)
    )
    summary = answer(text, "judge", asked)
    assert isinstance(summary, DebateSummary)
    return tuple(turns), summary


def talk(text: str, protocol: Protocol = "v2", rounds: int = 1) -> Conversation:
    stage1 = first_stage(text)
    turns, summary = debate(text, stage1.context(text), protocol, rounds)
    return Conversation(stage1, turns, summary)
