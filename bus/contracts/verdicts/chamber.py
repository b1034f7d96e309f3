"""
The chamber of behaviour A8: who speaks when, in which role, while every verdict stays.

    synchronous   all at once; the side with the most confidence proposes, the others oppose
    asynchronous  one after another, the least confident first, each hearing those before it
    structured    all at once, a phase a round: claim, rebuttal, rejoinder, summary
"""

from typing import Literal

from parley.bus.contracts.verdicts.rules import (
    Cobra,
    DecideRule,
    Rounds,
    Stable,
    StopRule,
    Unanimity,
)

Chamber = Literal["synchronous", "asynchronous", "structured"]

# Of a structured chamber: one a phase.
STRUCTURED_ROUNDS = 4
# Agents that agree open a chamber only where their confidences lie further apart than this.
OPENING_SPREAD = 0.3
# A round in which no confidence moved by as much is the last.
SETTLED_BELOW = 0.1

CHAMBER_DECIDES: dict[str, DecideRule] = {"any": Cobra(), "budget": Cobra()}


def chamber_stops(max_rounds: int) -> tuple[StopRule, ...]:
    return (Rounds(at=max_rounds), Unanimity(spread=OPENING_SPREAD), Stable(below=SETTLED_BELOW))
