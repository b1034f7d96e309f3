"""
The worked examples of the termination regimes, as data: what is reported, and what must follow.

`iterations` are entries of the filter `terminate-regime`. A run over them must declare `statuses`,
one for each iteration, and end in a declaration that holds `rationale` and `details`. Reused by
every layer that can run one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

Entry = Mapping[str, JsonValue]

GO = "continue"
STOP = "terminate"


@dataclass(frozen=True, slots=True)
class Vector:
    id: str
    title: str
    theta: str
    iterations: tuple[Entry, ...]
    statuses: tuple[str, ...]
    params: Entry = field(default_factory=dict)
    # What the last declaration must hold, and what its justification must say.
    rationale: Entry = field(default_factory=dict)
    details: Entry = field(default_factory=dict)
    says: tuple[str, ...] = ()
    # What the record of the axes after the last iteration must hold.
    record: Entry = field(default_factory=dict)
    warnings: int = 0

    @property
    def stopped_at(self) -> int | None:
        return len(self.statuses) if self.statuses[-1] == STOP else None

    @property
    def line(self) -> dict[str, JsonValue]:
        entries: list[JsonValue] = [dict(entry) for entry in self.iterations]
        return {"theta": self.theta, "params": dict(self.params), "iterations": entries}


def converging(delta_sem: float, confidence: float) -> Entry:
    return {"delta_sem": delta_sem, "confidence": confidence}


def candidates(*scores: float) -> Entry:
    return {
        "candidates": [{"id": f"c{place}", "score": each} for place, each in enumerate(scores, 1)]
    }


def deliberating(
    d_current: int,
    orthogonality: float,
    delta_coverage: float | None = None,
    delta_sem: float | None = None,
    **answers: JsonValue,
) -> Entry:
    measured: dict[str, JsonValue] = {"d_current": d_current, "orthogonality": orthogonality}
    if delta_coverage is not None:
        measured["delta_coverage"] = delta_coverage
    if delta_sem is not None:
        measured["delta_sem"] = delta_sem
    return {**measured, **answers}


BRIEF_AXES: Entry = {"axes": ["risk_evaluation", "cost_analysis"]}


def overridden(sensitivity: str) -> tuple[Entry, ...]:
    return (
        *(deliberating(6, 0.1, 0.05, 0.05, sensitivity=sensitivity) for _ in range(2)),
        *(deliberating(6, 0.1, 0.05, 0.05, sensitivity="low") for _ in range(2)),
    )


VECTORS = (
    Vector(
        "T-01",
        "one verdict, however unsure",
        "L0",
        ({"confidence": 0.2},),
        (STOP,),
        details={"rule": "single_verdict", "confidence": 0.2, "forced_by_cap": False},
    ),
    Vector(
        "T-02",
        "stability at once needs a confirmation",
        "L1",
        (converging(0, 0.95),),
        (GO,),
        details={"unmet": ["min_iterations"]},
    ),
    Vector(
        "T-03",
        "stable, confirmed and sure",
        "L1",
        (converging(1, 0.85), converging(0.05, 0.85)),
        (GO, STOP),
        details={"rule": "answer_convergence", "unmet": [], "forced_by_cap": False},
    ),
    Vector(
        "T-04",
        "stability is strict",
        "L1",
        (converging(1, 0.85), converging(0.10, 0.85)),
        (GO, GO),
        details={"unmet": ["decision_stability"]},
    ),
    Vector(
        "T-05",
        "confidence is strict",
        "L1",
        (converging(1, 0.80), converging(0.05, 0.80), converging(0.05, 0.80)),
        (GO, GO, GO),
        details={"unmet": ["confidence"]},
    ),
    Vector(
        "T-06",
        "the cap of L1",
        "L1",
        (converging(0.05, 0.5),) * 5,
        (GO, GO, GO, GO, STOP),
        details={"rule": "max_iterations", "forced_by_cap": True, "unmet": ["confidence"]},
    ),
    Vector(
        "T-07",
        "the best candidate passes",
        "L2",
        (candidates(0.9, 0.7, 0.6),),
        (STOP,),
        details={
            "rule": "verification_pass",
            "rejected_candidates": [
                {"id": "c2", "score": 0.7, "reason": "score 0.7 is 0.2 below c1"},
                {"id": "c3", "score": 0.6, "reason": "score 0.6 is 0.3 below c1"},
            ],
        },
    ),
    Vector(
        "T-08",
        "too few candidates",
        "L2",
        (candidates(0.9, 0.6),),
        (GO,),
        details={"unmet": ["min_candidates"], "rejected_candidates": None},
    ),
    Vector(
        "T-09",
        "verification is strict",
        "L2",
        (candidates(0.70, 0.5, 0.4),),
        (GO,),
        details={"unmet": ["verification"]},
    ),
    Vector(
        "T-10",
        "the margin is strict",
        "L2",
        (candidates(0.90, 0.80, 0.3),),
        (GO,),
        details={"unmet": ["margin"]},
    ),
    Vector(
        "T-11",
        "the normal course",
        "L3",
        (
            deliberating(2, 1, 0.9, 1),
            deliberating(4, 0.8, 0.5, 0.6),
            deliberating(6, 0.5, 0.3, 0.3),
            deliberating(6, 0.1, 0.05, 0.05),
            deliberating(6, 0, 0.05, 0.05, sensitivity="low"),
        ),
        (GO, GO, GO, GO, STOP),
        rationale={
            "orthogonality_score": 0,
            "semantic_expansion_delta": 0.05,
            "decision_sensitivity": "low",
            "axes_remaining_estimate": 0,
        },
        details={"rule": "decision_sufficiency", "saturation_streak": 2, "forced_by_cap": False},
    ),
    Vector(
        "T-12",
        "a new axis restarts the cooldown",
        "L3",
        (
            deliberating(6, 0.1, 0.05, 0.05),
            deliberating(7, 0.4, 0.2, 0.2),
            deliberating(7, 0.1, 0.05, 0.05),
            deliberating(7, 0.05, 0.02, 0.5, sensitivity="low"),
        ),
        (GO, GO, GO, STOP),
        details={"saturation_streak": 2, "delta_coverage": 0.02, "d_current": 7},
    ),
    Vector(
        "T-13",
        "saturated but not stable",
        "L3",
        (
            deliberating(6, 0.1, 0.5, 0.5),
            deliberating(6, 0.1, 0.3, 0.2),
            deliberating(6, 0.1, 0.3, 0.05, sensitivity="low"),
        ),
        (GO, GO, STOP),
        details={"saturation_streak": 3},
    ),
    Vector(
        "T-14",
        "high sensitivity overrides saturation",
        "L3",
        overridden("high"),
        (GO, GO, GO, STOP),
        rationale={"decision_sensitivity": "low"},
        details={"saturation_streak": 2},
    ),
    Vector(
        "T-15",
        "medium sensitivity as high",
        "L3",
        overridden("medium"),
        (GO, GO, GO, STOP),
        rationale={"decision_sensitivity": "low"},
        details={"saturation_streak": 2},
    ),
    Vector(
        "T-16",
        "forcing finds an axis",
        "L3",
        (deliberating(4, 0, forcing={"axis": "ethics"}),),
        (GO,),
        details={
            "rule": "perspective_forcing",
            "d_current": 5,
            "saturation_streak": 0,
            "forced_perspective": "ethics",
            "unmet": ["dimension"],
        },
        says=("ethics",),
        record={"new_axes": ["ethics"], "D_current": 5, "D_min": 6},
    ),
    Vector(
        "T-17",
        "truly saturated",
        "L3",
        (deliberating(5, 0.1, forcing="TRULY_SATURATED"),),
        (STOP,),
        rationale={"decision_sensitivity": "high", "axes_remaining_estimate": 0},
        details={
            "rule": "truly_saturated",
            "d_min": 5,
            "d_min_lowered": {"from": 6, "to": 5},
            "forced_by_cap": False,
            "unmet": [],
        },
        says=("D_min is lowered from 6 to 5", "TRULY_SATURATED"),
        record={"D_current": 5, "D_min": 5},
    ),
    Vector(
        "T-18",
        "few axes, still new ones",
        "L3",
        (deliberating(3, 0.6, forcing="TRULY_SATURATED"),),
        (GO,),
        rationale={"axes_remaining_estimate": 3},
        details={
            "rule": "dimension",
            "forced_perspective": None,
            "d_min_lowered": None,
            "unmet": ["dimension", "orthogonality"],
        },
    ),
    Vector(
        "T-19",
        "epsilon itself is not saturated",
        "L3",
        (deliberating(6, 0.15, 0.05, 0.05, sensitivity="low"),) * 3,
        (GO, GO, GO),
        details={"saturation_streak": 0, "unmet": ["orthogonality", "cooldown"]},
    ),
    Vector(
        "T-20",
        "no cooldown to speak of",
        "L3",
        (deliberating(6, 0.1, 0.05, 0.05, sensitivity="low"),),
        (STOP,),
        params={"cooldown": 1},
        details={"saturation_streak": 1},
        warnings=1,
    ),
    Vector(
        "T-21",
        "L4 wants eight dimensions",
        "L4",
        (deliberating(7, 0),),
        (GO,),
        rationale={"axes_remaining_estimate": 1},
        details={"rule": "perspective_forcing", "d_min": 8, "unmet": ["dimension"]},
    ),
    Vector(
        "T-22",
        "nothing was explored at all",
        "L3",
        (deliberating(0, 0, forcing="TRULY_SATURATED"),),
        (GO,),
        details={"rule": "d_floor", "d_min": 6, "d_min_lowered": None, "unmet": ["dimension"]},
    ),
    Vector(
        "T-23",
        "the record of the brief",
        "L3",
        (BRIEF_AXES, {"axes": ["regulatory_compliance"], "orthogonality": 0.85}),
        (GO, GO),
        params={"d_min": 5},
        rationale={
            "orthogonality_score": 0.85,
            "axes_explored": ["risk_evaluation", "cost_analysis", "regulatory_compliance"],
        },
        record={
            "iteration": 2,
            "new_axes": ["regulatory_compliance"],
            "cumulative_axes": ["risk_evaluation", "cost_analysis", "regulatory_compliance"],
            "orthogonality_score": 0.85,
            "D_current": 3,
            "D_min": 5,
        },
    ),
    Vector(
        "T-24",
        "another value of a known axis",
        "L3",
        ({"axes": ["risk"]}, {"axes": ["risk_high"]}),
        (GO, GO),
        rationale={"orthogonality_score": 0},
        record={"new_axes": [], "cumulative_axes": ["risk"], "orthogonality_score": 0},
    ),
    Vector(
        "T-25",
        "a combination of known axes",
        "L3",
        (BRIEF_AXES, {"axes": ["risk_cost"]}),
        (GO, GO),
        rationale={"orthogonality_score": 0},
        record={"new_axes": [], "orthogonality_score": 0, "D_current": 2},
    ),
    Vector(
        "T-26",
        "a declaration that goes on is whole, too",
        "L3",
        ({},),
        (GO,),
        details={"rule": "dimension", "iteration": 1, "theta": "L3", "regime": "deliberative"},
        says=("dimension",),
    ),
)

TERMINATION_TYPES = {
    "L0": "answer_convergence",
    "L1": "answer_convergence",
    "L2": "verification_pass",
    "L3": "decision_sufficiency",
    "L4": "decision_sufficiency",
}
