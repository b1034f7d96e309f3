"""
Worked examples of the stop and decide rules, as data: what is said under which rule, what follows.

A debate about a change: labels reject, request_changes, approve (gravest first) and unsure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parley.bus.contracts.panel import Persona
from parley.bus.contracts.verdicts.content import PanelLabel
from parley.bus.contracts.verdicts.panel import VerdictPanel
from parley.configs.protocols.verdict_rules import read_decide, read_stop, stop_names
from parley.coordinator.protocols.verdicts.position import Position

LABELS = (
    PanelLabel(name="reject", tone="bad"),
    PanelLabel(name="request_changes", tone="warn", measured_by="risk"),
    PanelLabel(name="approve", tone="good"),
)
R, C, A, U = "reject", "request_changes", "approve", "unsure"
TRUST = {"security": 0.9, "maintainer": 0.6, "author": 0.3}
ROSTER = tuple(TRUST)

Said = tuple[str, float]
Round = tuple[Said, ...]


def review_panel(
    stop: Sequence[object] = ({"rounds": {"at": 3}},),
    decide: Mapping[str, object] = {},
    **changes: Any,
) -> VerdictPanel:
    """Rules as people write them in a panel file."""
    stopping, wrong = read_stop(list(stop))
    assert wrong == []
    deciding, wrong = read_decide(dict(decide), stop_names())
    assert wrong == []
    return VerdictPanel.model_validate(
        {
            "name": "merge-review",
            "personas": [Persona(name=name) for name in ROSTER],
            "labels": LABELS,
            "undecided": U,
            "trust": TRUST,
            "stop": stopping,
            "decide": deciding,
            **changes,
        }
    )


def history_of(*rounds: Round) -> tuple[tuple[Position, ...], ...]:
    return tuple(
        tuple(Position(agent, *said) for agent, said in zip(ROSTER, positions, strict=False))
        for positions in rounds
    )


@dataclass(frozen=True, slots=True)
class StopVector:
    title: str
    stop: tuple[object, ...]
    rounds: tuple[Round, ...]
    # The wire's reason after the last round; None: it goes on.
    reason: str | None
    spent: tuple[int, int, float, float] | None = None


END = {"rounds": {"at": 9}}
SPLIT: Round = ((R, 0.8), (A, 0.8), (A, 0.6))
AGREED: Round = ((A, 0.8), (A, 0.8), (A, 0.6))
ALL_DIFFER: Round = ((R, 0.9), (C, 0.9), (A, 0.2))

STOP_VECTORS = (
    StopVector(
        "consensus below its bound",
        ({"consensus": {"below": 0.6}}, END),
        (SPLIT,),
        "consensus_reached",
    ),
    StopVector("consensus not below it", ({"consensus": {"below": 0.5}}, END), (SPLIT,), None),
    StopVector(
        "everybody differs",
        ({"consensus": {"below": 0.6, "majority": False}}, END),
        (((R, 0.8), (A, 0.8)),),
        None,
    ),
    StopVector(
        "a high bound",
        ({"consensus": {"below": 1.0, "majority": False}}, END),
        (SPLIT,),
        "consensus_reached",
    ),
    StopVector(
        "undecided counts as a verdict", ("consensus", END), (((A, 0.9), (A, 0.9), (U, 0.1)),), None
    ),
    StopVector("unanimity before any round", ("unanimity", END), (AGREED,), "unanimity"),
    StopVector("unanimity wants everybody", ("unanimity", END), (SPLIT, SPLIT), None),
    StopVector(
        "unanimity of the sure", ({"unanimity": {"confidence": 0.6}}, END), (AGREED,), "unanimity"
    ),
    StopVector(
        "unanimity not sure enough", ({"unanimity": {"confidence": 0.7}}, END), (AGREED,), None
    ),
    StopVector("stalemate", ({"stalemate": {"rounds": 1}}, END), (SPLIT, SPLIT), "stalemate"),
    StopVector(
        "no stalemate after a change",
        ({"stalemate": {"rounds": 1}}, END),
        (SPLIT, ALL_DIFFER),
        None,
    ),
    StopVector(
        "deadlock",
        ({"deadlock": {"above": 0.85}}, END),
        (SPLIT, ALL_DIFFER),
        "high_confidence_deadlock",
    ),
    StopVector(
        "no deadlock before a round", ({"deadlock": {"above": 0.85}}, END), (ALL_DIFFER,), None
    ),
    StopVector(
        "stable",
        ({"stable": {"below": 0.05}}, END),
        (SPLIT, ((R, 0.84), (A, 0.8), (A, 0.6))),
        "stable",
    ),
    StopVector(
        "a confidence moved",
        ({"stable": {"below": 0.05}}, END),
        (SPLIT, ((R, 0.85), (A, 0.8), (A, 0.6))),
        None,
    ),
    StopVector("a verdict moved", ("stable", END), (SPLIT, ((C, 0.8), (A, 0.8), (A, 0.6))), None),
    StopVector("somebody came", ("stable", END), (((R, 0.8), (A, 0.8)), SPLIT), None),
    StopVector(
        "no progress at the last round",
        ("no_progress", {"rounds": {"at": 1}}),
        (SPLIT, SPLIT),
        "no_progress",
    ),
    StopVector(
        "no progress at a round of its own",
        ({"no_progress": {"at": 1}}, END),
        (SPLIT, SPLIT),
        "no_progress",
    ),
    StopVector("rounds", ({"rounds": {"at": 1}},), (SPLIT, ALL_DIFFER), "max_rounds"),
    StopVector(
        "the earlier rule wins", ({"rounds": {"at": 1}}, "unanimity"), (SPLIT, AGREED), "max_rounds"
    ),
    StopVector(
        "the budget",
        ({"budget": {"calls": 6}}, END),
        (SPLIT, SPLIT),
        "budget_exhausted",
        (6, 0, 0.0, 0.0),
    ),
    StopVector(
        "within the budget", ({"budget": {"calls": 7}}, END), (SPLIT, SPLIT), None, (6, 0, 0.0, 0.0)
    ),
    StopVector(
        "all: the first member's reason",
        ({"all": [{"stable": {}}, {"stalemate": {"rounds": 1}}]}, END),
        (SPLIT, SPLIT),
        "stable",
    ),
    StopVector(
        "all: one member does not hold",
        ({"all": [{"stable": {}}, {"stalemate": {"rounds": 2}}]}, END),
        (SPLIT, SPLIT),
        None,
    ),
    StopVector(
        "all of agreement may end before a round",
        ({"all": ["unanimity", "consensus"]}, END),
        (AGREED,),
        "unanimity",
    ),
    StopVector(
        "all with another rule may not",
        ({"all": ["unanimity", {"stalemate": {"rounds": 1}}]}, END),
        (AGREED,),
        None,
    ),
)


@dataclass(frozen=True, slots=True)
class DecideVector:
    title: str
    rule: object
    rounds: tuple[Round, ...]
    verdict: str
    confidence: float
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # What the judge said.
    word: Said | None = None


TIED: Round = ((R, 0.5), (A, 0.5), (U, 0.9))
DECIDE_VECTORS = (
    # A .6·.8 + .3·.6 = .66 of trust .9.
    DecideVector("majority", "majority", (SPLIT,), A, 0.66 / 0.9),
    DecideVector("nobody has a majority", "majority", (ALL_DIFFER,), U, 0.30),
    DecideVector(
        "a confidence of its own", {"rule": "majority", "confidence": 0.7}, (SPLIT,), A, 0.7
    ),
    DecideVector("plurality", "plurality", (SPLIT,), A, 0.66 / 0.9),
    DecideVector("plurality, tied: undecided loses, trust decides", "plurality", (TIED,), R, 0.5),
    DecideVector("supermajority of two thirds", "supermajority", (SPLIT,), A, 0.66 / 0.9),
    DecideVector("no supermajority", {"rule": "supermajority", "share": 0.8}, (SPLIT,), U, 0.30),
    # R .72 against A .66.
    DecideVector("trust-weighted", "trust_weighted", (SPLIT,), R, 0.8),
    # R .8 against A 1.4.
    DecideVector("confidence-weighted", "confidence_weighted", (SPLIT,), A, 0.7),
    # A 1.02 in the last round against half of R 1.5 in the first.
    DecideVector(
        "trajectory: earlier rounds weigh half",
        "trajectory",
        (((R, 1.0), (R, 1.0), (A, 0.1)), ((A, 0.5), (A, 0.9), (A, 0.1))),
        A,
        (0.45 + 0.54 + 0.03) / 1.8,
    ),
    # R 1.5 in the first round against A 1.02 + .03: nobody holds it any more, so its share counts.
    DecideVector(
        "trajectory: every round weighs the same",
        {"rule": "trajectory", "decay": 1.0},
        (((R, 1.0), (R, 1.0), (A, 0.1)), ((A, 0.5), (A, 0.9), (A, 0.1))),
        R,
        1.5 / 2.55,
    ),
    DecideVector(
        "mixed content",
        {"rule": "mixed_content", "labels": [R, A], "means": C, "confidence": 0.6},
        (SPLIT,),
        C,
        0.6,
    ),
    DecideVector(
        "mixed content: one side is not sure enough",
        {"rule": "mixed_content", "labels": [R, A], "means": C, "min_confidence": 0.9},
        (SPLIT,),
        R,
        0.8,
    ),
    DecideVector("fixed", {"rule": "fixed", "label": C, "confidence": 0.7}, (SPLIT,), C, 0.7),
    DecideVector(
        "a judge", {"rule": "judge", "persona": "author"}, (SPLIT,), C, 0.9, word=(C, 0.9)
    ),
    DecideVector(
        "a judge without a word", {"rule": "judge", "persona": "author"}, (SPLIT,), R, 0.8
    ),
    # RoT: R .72, A .3·.48 + .3·.18 = .198.
    DecideVector("COBRA RoT", {"rule": "cobra", "algorithm": "RoT"}, (SPLIT,), R, 0.72 / 0.918),
    # DRWA: nobody measured anything, so that nobody has a bonus: as the trust-weighted vote.
    DecideVector("COBRA DRWA", {"rule": "cobra", "algorithm": "DRWA"}, (SPLIT,), R, 0.72 / 1.38),
    # DRWA: weights .9, .76 and .5, since the evidence of the last two suits their verdict.
    DecideVector(
        "COBRA DRWA with evidence",
        {"rule": "cobra", "algorithm": "DRWA"},
        (SPLIT,),
        A,
        0.908 / 1.628,
        evidence={"security": {"risk": 0.5}, "maintainer": {"risk": 0.1}, "author": {"risk": 0.0}},
    ),
)
