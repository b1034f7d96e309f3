"""
The worked examples of the image-forensics debate, as data: what is said, and what must follow.

A debate played from `opening` and `changes` (an agent not named keeps its statement) under
`params` must end after `rounds` rounds exactly as stated. Reused by every layer that can play one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from parley.agents.forensic.labels import Verdict
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.coordinator.protocols.verdicts.position import Position
from tests.debates import PRESETS, panel

AI = Verdict.AI_GENERATED
AUTH = Verdict.AUTHENTIC
MANI = Verdict.MANIPULATED
UNSURE = Verdict.UNCERTAIN

FOUR = ("frequency", "noise", "watermark", "spatial")
TWO = FOUR[:2]

Said = tuple[Verdict, float]


@dataclass(frozen=True, slots=True)
class Vector:
    id: str
    title: str
    # In roster order.
    opening: tuple[Said, ...]
    # One entry for each round played.
    changes: tuple[Mapping[str, Said], ...]
    reason: TerminationReason
    verdict: Verdict
    confidence: float
    disagreement_history: tuple[float, ...]
    roster: tuple[str, ...] = FOUR
    preset: str = "default"
    overrides: Mapping[str, int] = field(default_factory=dict)
    insufficient_evidence: bool = False
    # Status of the follow-up by agent; no entry, no follow-up.
    follow_ups: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def params(self) -> VerdictParams:
        return VerdictParams.model_validate({**PRESETS[self.preset].model_dump(), **self.overrides})

    @property
    def panel(self) -> VerdictPanel:
        return panel(self.roster, **self.params.model_dump())

    @property
    def rounds(self) -> int:
        return len(self.changes)

    @property
    def nominal_calls(self) -> int:
        """What the round-by-round cost claims count: every agent once in every round."""
        return len(self.roster) * self.rounds

    @property
    def history(self) -> tuple[tuple[Position, ...], ...]:
        """Where everybody stands after the opening and after each round."""
        standing = dict(zip(self.roster, self.opening, strict=True))
        snapshots = [dict(standing)]
        for change in self.changes:
            standing.update(change)
            snapshots.append(dict(standing))
        return tuple(
            tuple(Position(agent, *said) for agent, said in snapshot.items())
            for snapshot in snapshots
        )


THIRD = 1 / 3
QUIET: Mapping[str, Said] = {}

A_04_CHANGES: tuple[Mapping[str, Said], ...] = (
    {"noise": (MANI, 0.70)},
    {"watermark": (MANI, 0.60)},
    {"frequency": (MANI, 0.70)},
)

VECTORS = (
    Vector(
        "A-01",
        "scenario 1, consensus in the first round",
        ((AI, 0.85), (AI, 0.80), (UNSURE, 0.50), (AI, 0.75)),
        ({"watermark": (AI, 0.70)},),
        TerminationReason.CONSENSUS_REACHED,
        AI,
        0.7746,
        (THIRD, 0),
    ),
    Vector(
        "A-02",
        "scenario 2, stalemate",
        ((AI, 0.85), (AUTH, 0.80), (AI, 0.75), (AI, 0.70)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (THIRD, THIRD, THIRD),
    ),
    Vector(
        "A-03",
        "scenario 3, high-confidence deadlock",
        ((AI, 0.92), (AUTH, 0.88)),
        (QUIET,),
        TerminationReason.HIGH_CONFIDENCE_DEADLOCK,
        MANI,
        0.70,
        (1, 1),
        roster=TWO,
        follow_ups={"spatial": "unassigned"},
    ),
    Vector(
        "A-04",
        "scenario 4, consensus in the last round",
        ((AI, 0.70), (AUTH, 0.65), (UNSURE, 0.50), (MANI, 0.80)),
        A_04_CHANGES,
        TerminationReason.CONSENSUS_REACHED,
        MANI,
        0.70,
        (1, 2 * THIRD, THIRD, 0),
    ),
    Vector(
        "A-05",
        "example 1, everybody moves",
        ((AI, 0.75), (AUTH, 0.70), (AUTH, 0.60), (UNSURE, 0.50)),
        (
            {"watermark": (AI, 0.60)},
            {"noise": (MANI, 0.80), "spatial": (MANI, 0.70)},
            {"frequency": (MANI, 0.70), "watermark": (MANI, 0.70)},
        ),
        TerminationReason.CONSENSUS_REACHED,
        MANI,
        0.7239,
        (2 * THIRD, 2 * THIRD, THIRD, 0),
    ),
    Vector(
        "A-06",
        "example 4, rounds used up",
        ((AI, 0.80), (AUTH, 0.70), (AUTH, 0.60), (UNSURE, 0.50)),
        (
            {"watermark": (AI, 0.60)},
            {"noise": (MANI, 0.70)},
            {"watermark": (MANI, 0.65)},
        ),
        TerminationReason.MAX_ROUNDS_REACHED,
        MANI,
        0.55,
        (2 * THIRD,) * 4,
    ),
    Vector(
        "A-07",
        "example 2, two agents at a standstill",
        ((AI, 0.85), (AUTH, 0.70)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (1, 1, 1),
        roster=TWO,
    ),
    Vector(
        "A-08",
        "unanimous from the start",
        ((AI, 0.90), (AI, 0.80), (AI, 0.70), (AI, 0.80)),
        (),
        TerminationReason.CONSENSUS_REACHED,
        AI,
        0.80,
        (0,),
    ),
    Vector(
        "A-09",
        "all uncertain",
        ((UNSURE, 0.5), (UNSURE, 0.4), (UNSURE, 0.5), (UNSURE, 0.5)),
        (),
        TerminationReason.CONSENSUS_REACHED,
        UNSURE,
        0.30,
        (0,),
        insufficient_evidence=True,
    ),
    Vector(
        "A-10",
        "fast preset takes three to one for consensus",
        ((AI, 0.85), (AUTH, 0.80), (AI, 0.75), (AI, 0.70)),
        (),
        TerminationReason.CONSENSUS_REACHED,
        AI,
        0.7667,
        (THIRD,),
        preset="fast",
    ),
    Vector(
        "A-11",
        "fast preset, stalemate comes before the deadlock",
        ((AI, 0.90), (AUTH, 0.88), (AI, 0.90), (UNSURE, 0.50)),
        (QUIET,),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (2 * THIRD, 2 * THIRD),
        preset="fast",
    ),
    Vector(
        "A-12",
        "precise preset waits three rounds",
        ((AI, 0.80), (AUTH, 0.80), (AI, 0.75), (AI, 0.70)),
        (QUIET, QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (THIRD,) * 4,
        preset="precise",
    ),
    Vector(
        "A-13",
        "one round only",
        ((AI, 0.80), (AUTH, 0.80), (AI, 0.75), (AI, 0.70)),
        (QUIET,),
        TerminationReason.NO_PROGRESS,
        MANI,
        0.60,
        (THIRD, THIRD),
        overrides={"max_rounds": 1},
    ),
    Vector(
        "A-14",
        "stalemate out of reach, trust decides",
        ((AI, 0.80), (MANI, 0.80)),
        (QUIET, QUIET, QUIET),
        TerminationReason.NO_PROGRESS,
        AI,
        0.60,
        (1,) * 4,
        roster=TWO,
        overrides={"stalemate_threshold": 9},
    ),
    Vector(
        "A-15",
        "a mean of exactly 0.85 is not high",
        ((AI, 0.85), (AUTH, 0.90)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (1, 1, 1),
        roster=TWO,
    ),
    Vector(
        "A-16",
        "a third, unsure group does not mask the deadlock",
        ((AI, 0.92), (AUTH, 0.90), (UNSURE, 0.30), (AI, 0.88)),
        (QUIET,),
        TerminationReason.HIGH_CONFIDENCE_DEADLOCK,
        MANI,
        0.70,
        (2 * THIRD, 2 * THIRD),
        follow_ups={"spatial": None},
    ),
    Vector(
        "A-17",
        "a diluted group is no deadlock",
        ((AI, 0.95), (AUTH, 0.90), (AI, 0.70), (AI, 0.70)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (THIRD, THIRD, THIRD),
    ),
    Vector(
        "A-18",
        "stalemate before deadlock when both hold",
        ((AI, 0.80), (AUTH, 0.88)),
        (QUIET, {"frequency": (AI, 0.92)}),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (1, 1, 1),
        roster=TWO,
    ),
    Vector(
        "A-19",
        "a change resets the streak",
        ((AI, 0.80), (AUTH, 0.70), (AI, 0.75), (UNSURE, 0.50)),
        (QUIET, {"spatial": (AI, 0.60)}, QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (2 * THIRD, 2 * THIRD, THIRD, THIRD, THIRD),
        overrides={"max_rounds": 5},
    ),
    Vector(
        "A-20",
        "a tied vote goes to the more confident side",
        ((AI, 0.90), (AUTH, 0.80), (AI, 0.50), (UNSURE, 0.60)),
        (
            {"spatial": (AUTH, 0.60)},
            {"watermark": (MANI, 0.60)},
            {"watermark": (AI, 0.60)},
        ),
        TerminationReason.MAX_ROUNDS_REACHED,
        AI,
        0.55,
        (2 * THIRD, THIRD, 2 * THIRD, THIRD),
    ),
    Vector(
        "A-21",
        "no mixed content, the weighted vote decides",
        ((MANI, 0.80), (AUTH, 0.70)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        MANI,
        0.60,
        (1, 1, 1),
        roster=TWO,
    ),
    Vector(
        "A-22",
        "a weak authentic voice is no mixed content",
        ((AI, 0.80), (AUTH, 0.50)),
        (QUIET, QUIET),
        TerminationReason.STALEMATE,
        AI,
        0.60,
        (1, 1, 1),
        roster=TWO,
    ),
    Vector(
        "A-23",
        "consensus in the last allowed round beats the cap",
        ((AI, 0.70), (AUTH, 0.65), (UNSURE, 0.50), (MANI, 0.80)),
        A_04_CHANGES,
        TerminationReason.CONSENSUS_REACHED,
        MANI,
        0.70,
        (1, 2 * THIRD, THIRD, 0),
        overrides={"max_rounds": 3},
    ),
)
