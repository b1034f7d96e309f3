"""
Personas without a brain, whose skill is known: for the lab and the drills.

What is true is drawn first, then what each persona believes of it, so that thousands of debates
show what a stop rule, a decide rule or a visibility makes of personas of that skill. How such
personas speak a protocol's language is found by the entry points of the group `parley.simulated`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Protocol, cast

from parley.bus.contracts.facts import Content, Request
from parley.bus.contracts.panel import Panel
from parley.bus.plugins import Plugins


@dataclass(frozen=True, slots=True)
class Skill:
    """
    Shares of one, all of them.

    accuracy     how often the opening statement is right
    calibration  1: confidence is the chance of being right; 0: it says nothing
    correlation  how often all of a panel err, or are right, together
    conformity   how readily a persona takes over what most of the others say
    insight      how often whoever is wrong sees that somebody else is right
    """

    accuracy: float = 0.7
    calibration: float = 1.0
    correlation: float = 0.0
    conformity: float = 0.0
    insight: float = 0.0


class Attack(StrEnum):
    """What one persona does to the others: the drills."""

    # Says what is wrong, sure of it, whatever it hears.
    LIES = "lies"
    # Waits, then says what most of the others say.
    COPIES = "copies"
    # Believes what it believes, and is always certain.
    ALWAYS_SURE = "always_sure"
    # Lies at the greatest length that a turn may have.
    FLOODS = "floods"
    # Obeys an order in the input, which names a label.
    OBEYS = "obeys"


@dataclass(frozen=True, slots=True)
class Attacker:
    persona: str
    attack: Attack


class Simulation(Protocol):
    """One debate's worth of personas."""

    @property
    def truth(self) -> str: ...

    def speak(self, persona: str, request: Request) -> Content: ...


# The same random numbers for the same seed, whoever attacks.
Simulate = Callable[[Panel, Skill, Random, Attacker | None], Simulation]
SIMULATIONS: Mapping[str, Simulate] = Plugins("parley.simulated", cast("type[Simulate]", Callable))
