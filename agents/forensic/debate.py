"""A forensic debate in one process, without a bus: for measuring and for tests."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from parley.agents.forensic.argue import open_debate, reply
from parley.agents.forensic.calibration import Calibration
from parley.agents.forensic.evidence import Evidence
from parley.bus.contracts.verdicts.content import Challenge, RoundRequest, Standing


class Position(NamedTuple):
    agent: str
    verdict: str
    confidence: float


def debate_positions(
    panel: Sequence[Evidence], calibration: Calibration
) -> Iterator[tuple[Position, ...]]:
    """Positions after the opening and after each round, without end: the caller says when."""
    standing = tuple(_opened(evidence) for evidence in panel)
    number = 0
    while True:
        yield tuple(Position(s.agent, s.verdict, s.confidence) for s in standing)
        number += 1
        request = RoundRequest(round=number, standing=standing, challenges=_challenges(standing))
        standing = tuple(
            _after(evidence, own, request, calibration)
            for evidence, own in zip(panel, standing, strict=True)
        )


def _opened(evidence: Evidence) -> Standing:
    said = open_debate(evidence)
    return Standing(
        agent=evidence.findings.skill.value,
        verdict=said.verdict,
        confidence=said.confidence,
        reasoning=said.reasoning,
        evidence=said.evidence,
        arguments=said.arguments,
    )


def _after(
    evidence: Evidence, own: Standing, request: RoundRequest, calibration: Calibration
) -> Standing:
    said = reply(evidence, own, request, calibration)
    return own.model_copy(
        update={
            "verdict": said.new_verdict or own.verdict,
            "confidence": own.confidence if said.new_confidence is None else said.new_confidence,
            "reasoning": said.reasoning,
        }
    )


def _challenges(standing: Sequence[Standing]) -> tuple[Challenge, ...]:
    return tuple(
        Challenge(challenger=high.agent, challenged=low.agent)
        for a, b in combinations(standing, 2)
        if a.verdict != b.verdict
        for high, low in [(a, b) if a.confidence >= b.confidence else (b, a)]
    )
