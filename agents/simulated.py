"""
Personas without a brain, whose skill is known: for the lab and the drills.

What is true is drawn first, then what each persona believes of it, so that thousands of debates
show what a stop rule, a decide rule or a visibility makes of personas of that skill. How such
personas speak a protocol's language is found by the entry points of the group `parley.simulated`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import NamedTuple, Protocol, cast

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


class Belief(NamedTuple):
    verdict: str
    confidence: float


# How much the chance of being right differs from case to case.
CONCENTRATION = 6.0
# What confidence is where it says nothing.
HOLLOW = (0.55, 0.95)
CERTAIN = 0.99


class Beliefs:
    """
    What each persona believes of one question, and how it is persuaded.

    Everything is drawn at once, so that other rules for the same debate draw nothing else.
    """

    def __init__(
        self,
        verdicts: Sequence[str],
        personas: Sequence[str],
        skill: Skill,
        random: Random,
        attacker: Attacker | None,
    ) -> None:
        self._skill = skill
        self._attacker = attacker
        self.truth = random.choice(verdicts)
        wrong = [one for one in verdicts if one != self.truth]
        # What a lie says, and what an order in the input asks for.
        self._lie = random.choice(wrong)
        together = random.random() < skill.correlation
        common = random.random(), random.choice(wrong), _chance(random, skill)
        self._held: dict[str, Belief] = {}
        self._chances: dict[str, Random] = {}
        for persona in personas:
            own = random.random(), random.choice(wrong), _chance(random, skill)
            drawn, error, chance = common if together else own
            hollow, kept = random.uniform(*HOLLOW), skill.calibration
            verdict = self.truth if drawn < chance else error
            self._held[persona] = Belief(verdict, kept * chance + (1 - kept) * hollow)
            self._chances[persona] = Random(random.random())  # noqa: S311 - to be repeated

    def first(self, persona: str) -> Belief:
        """Before anybody argued."""
        return self._attack(persona, ()) or self._held[persona]

    def after(self, persona: str, others: Sequence[Belief]) -> Belief:
        """Once it has heard what the others hold; kept for the next time."""
        attack = self._attack(persona, others)
        if attack is not None:
            return attack
        self._held[persona] = self._persuaded(persona, self._held[persona], others)
        return self._held[persona]

    def floods(self, persona: str) -> bool:
        return self._attacker == Attacker(persona, Attack.FLOODS)

    def _persuaded(self, persona: str, own: Belief, others: Sequence[Belief]) -> Belief:
        """First by whoever is right, then by how many disagree."""
        chance, skill = self._chances[persona], self._skill
        sees, yields = chance.random() < skill.insight, chance.random()
        if sees and own.verdict == self.truth:
            return own
        if sees and any(one.verdict == self.truth for one in others):
            return Belief(self.truth, own.confidence)
        held = Counter(one.verdict for one in others if one.verdict != own.verdict)
        if not held:
            return own
        verdict, many = held.most_common(1)[0]
        if yields < skill.conformity * many / len(others):
            sure = [one.confidence for one in others if one.verdict == verdict]
            return Belief(verdict, sum(sure) / len(sure))
        return own

    def _attack(self, persona: str, others: Sequence[Belief]) -> Belief | None:
        """What an attacker says; None for everybody else."""
        if self._attacker is None or self._attacker.persona != persona:
            return None
        match self._attacker.attack:
            case Attack.LIES | Attack.FLOODS | Attack.OBEYS:
                return Belief(self._lie, CERTAIN)
            case Attack.ALWAYS_SURE:
                return Belief(self._held[persona].verdict, 1.0)
            case Attack.COPIES:
                held = Counter(one.verdict for one in others)
                own = self._held[persona].verdict
                return Belief(held.most_common(1)[0][0] if held else own, CERTAIN)


def _chance(random: Random, skill: Skill) -> float:
    """Of being right in this case: easy and hard ones, with the accuracy for their mean."""
    mean = skill.accuracy
    if not 0 < mean < 1:
        return mean
    return random.betavariate(CONCENTRATION * mean, CONCENTRATION * (1 - mean))


class Simulation(Protocol):
    """One debate's worth of personas. `text` is what they debate."""

    @property
    def text(self) -> str: ...

    @property
    def truth(self) -> str: ...

    def speak(self, persona: str, request: Request) -> Content: ...


# The same random numbers for the same seed, whoever attacks.
Simulate = Callable[[Panel, Skill, Random, Attacker | None], Simulation]
SIMULATIONS: Mapping[str, Simulate] = Plugins("parley.simulated", cast("type[Simulate]", Callable))
