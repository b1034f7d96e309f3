from typing import NamedTuple


class Position(NamedTuple):
    """Where an agent stands: all that the rules of termination look at."""

    agent: str
    verdict: str
    confidence: float
