from typing import NamedTuple

from parley.bus.contracts.verdicts.content import Verdict


class Position(NamedTuple):
    """Where an agent stands: all that the rules of termination look at."""

    agent: str
    verdict: Verdict
    confidence: float
