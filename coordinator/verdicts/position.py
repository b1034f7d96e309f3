from dataclasses import dataclass

from parley.bus.contracts.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Position:
    """Where an agent stands: all that the rules of termination look at."""

    agent: str
    verdict: Verdict
    confidence: float
