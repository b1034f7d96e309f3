"""
What a reader of either language makes of a sentence, in characters of the whole text.

Two looks at polarity exist on purpose. The first is what Stage 1 answers with; the second comes from
other means and always names its evidence, which is what gives the debate something to argue from.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from parley.bus.contracts.absa.sentiment import Polarity

# Chances of positive, negative, neutral.
Chances = tuple[float, float, float]
POLARITIES = (Polarity.POSITIVE, Polarity.NEGATIVE, Polarity.NEUTRAL)

CueKind = Literal["NEGATION", "CONTRAST", "IRONY"]


class Place(NamedTuple):
    """Characters `start` … `end`-1 of the text."""

    start: int
    end: int

    def overlaps(self, other: "Place") -> bool:
        return self.start < other.end and other.start < self.end

    def within(self, other: "Place") -> bool:
        return other.start <= self.start and self.end <= other.end

    def moved(self, by: int) -> "Place":
        return Place(self.start + by, self.end + by) if by else self


class Candidate(NamedTuple):
    """A possible aspect term; `likelihood` is the chance that an annotator marks exactly it."""

    place: Place
    head: str
    likelihood: float


class Evidence(NamedTuple):
    """The words a reading rests on, negation included. `score` is signed, from -3 to 3."""

    place: Place
    score: float
    negated: bool = False
    doubly_negated: bool = False


class Look(NamedTuple):
    """
    `implicit`: a polarity without any opinion word that speaks of the aspect. `knows_mentions`: it
    was taught by sentences in which what is merely mentioned is annotated, too.
    """

    chances: Chances
    evidence: Evidence | None = None
    implicit: bool = False
    knows_mentions: bool = False

    @property
    def polarity(self) -> Polarity:
        return POLARITIES[self.chances.index(max(self.chances))]

    @property
    def certainty(self) -> float:
        return max(self.chances)


class Cue(NamedTuple):
    """A stretch where readers go wrong: negation, contrast, possible irony."""

    kind: CueKind
    place: Place
    words: str


class Target(NamedTuple):
    """What an event tells of, found without looking for terms; `event` may name other things."""

    event: Place
    place: Place


class SentenceReader(Protocol):
    """One sentence, read. Every argument and answer is in characters of that sentence."""

    @property
    def candidates(self) -> tuple[Candidate, ...]: ...
    @property
    def rechecked(self) -> tuple[Candidate, ...]:
        """The terms by another method, where there is one."""
        ...

    @property
    def cues(self) -> tuple[Cue, ...]: ...
    @property
    def targets(self) -> tuple[Target, ...]: ...
    def likelihood(self, place: Place) -> float:
        """The chance that exactly this stretch is a term."""
        ...

    def first_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]: ...
    def second_look(self, aspects: Sequence[Place]) -> tuple[Look, ...]: ...
    def confidence(self, likelihood: float, certainty: float) -> float:
        """The chance that a tuple is right whose term and polarity have these chances."""
        ...


def pooled(first: Chances, second: Chances, weight: float = 1.0) -> Chances:
    """Two opinions held to be independent: their chances multiply, the second `weight` times."""
    products = [a * b**weight for a, b in zip(first, second, strict=True)]
    total = sum(products)
    if total <= 0.0:
        return first
    return products[0] / total, products[1] / total, products[2] / total


def chance_of(chances: Chances, polarity: Polarity) -> float:
    return chances[POLARITIES.index(polarity)]
