import pytest

from parley.bus.contracts.declaration import (
    Sensitivity,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.novelty import Novelty
from parley.coordinator.protocols.verdicts.declare import Heard, declare, declare_operational
from parley.coordinator.protocols.verdicts.termination import evaluate, stops_of
from tests.vectors_a import VECTORS, Vector

TYPES = {
    TerminationReason.CONSENSUS_REACHED: TerminationType.ANSWER_CONVERGENCE,
    TerminationReason.STALEMATE: TerminationType.DECISION_SUFFICIENCY,
    TerminationReason.HIGH_CONFIDENCE_DEADLOCK: TerminationType.DECISION_SUFFICIENCY,
    TerminationReason.NO_PROGRESS: TerminationType.DECISION_SUFFICIENCY,
    TerminationReason.MAX_ROUNDS_REACHED: TerminationType.DECISION_SUFFICIENCY,
}


def redo(declaration: TerminationDeclaration) -> str:
    """The rule by name, from nothing but the numbers that the declaration shows."""
    # Dumped to plain JSON, as a reader of the log sees it.
    details = declaration.model_dump(mode="json")["details"]
    limit, seen = details["thresholds"], details["values"]
    agreed = (
        seen["disagreement"] == 0
        or seen["disagreement"] < limit["consensus_threshold"] - limit["tolerance"]
    )
    firm = [
        mean
        for mean in seen["mean_confidence"].values()
        if mean > limit["high_confidence_threshold"] + limit["tolerance"]
    ]
    if agreed and seen["majority_share"] > limit["majority_share"]:
        return "consensus_reached"
    if seen["round"] == 0:
        return "continue"
    if seen["unchanged_streak"] >= limit["stalemate_threshold"]:
        return "stalemate"
    if len(firm) >= limit["confident_groups"]:
        return "high_confidence_deadlock"
    if seen["round"] < limit["max_rounds"]:
        return "continue"
    return "max_rounds" if seen["changed_in_debate"] else "no_progress"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_every_declaration_of_a_debate_can_be_redone_from_its_numbers(vector: Vector) -> None:
    for played in range(vector.rounds + 1):
        evaluation = evaluate(vector.history[: played + 1], stops_of(vector.panel))
        declaration = declare(evaluation, Heard(("pixels",)), Sensitivity.LOW, basis=(1, 2))
        assert declaration.details.rule == redo(declaration)
        assert declaration.details.rule in declaration.justification
        assert declaration.details.iteration == played
        assert TerminationDeclaration.model_validate_json(declaration.model_dump_json()) == (
            declaration
        )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.id)
def test_the_last_declaration_terminates(vector: Vector) -> None:
    declaration = declare(
        evaluate(vector.history, stops_of(vector.panel)),
        Heard(("grid",)),
        Sensitivity.LOW,
        basis=(4, 7),
    )
    assert declaration.terminates
    assert declaration.termination_type is TYPES[vector.reason]
    assert declaration.details.rule == vector.reason.value
    assert declaration.details.basis == (4, 7)
    assert declaration.termination_rationale.axes_explored == ("grid",)
    assert declaration.details.forced_by_cap is (
        vector.reason in {TerminationReason.NO_PROGRESS, TerminationReason.MAX_ROUNDS_REACHED}
    )
    unmet = () if vector.reason is TerminationReason.CONSENSUS_REACHED else ("consensus",)
    assert declaration.details.unmet == unmet


def test_going_on_is_declared_too() -> None:
    scenario = VECTORS[3]
    declaration = declare(
        evaluate(scenario.history[:2], stops_of(scenario.panel)),
        Heard((), 1, Novelty(0.5, 0.4)),
        Sensitivity.MEDIUM,
    )
    assert declaration.termination_status is TerminationStatus.CONTINUE
    assert declaration.termination_type is TerminationType.ANSWER_CONVERGENCE
    assert declaration.details.unmet == ("consensus",)
    assert declaration.details.rule == "continue"
    assert (declaration.details.regime, declaration.details.theta) == ("verdicts", None)
    assert declaration.details.delta_sem == 0.25
    assert declaration.termination_rationale == TerminationRationale(
        orthogonality_score=0.5,
        semantic_expansion_delta=0.4,
        decision_sensitivity=Sensitivity.MEDIUM,
        axes_explored=(),
        axes_remaining_estimate=1,
    )
    assert declaration.justification == (
        "Decision after round 1: continue. No rule ends the debate: "
        "disagreement 0.667 is not below 0.3, majority share 0.5 is not above 0.5, "
        "unchanged streak 0 is not at least 2, mean confidence of ai generated 0.7 is not above 0.85, "
        "mean confidence of manipulated 0.75 is not above 0.85, "
        "mean confidence of uncertain 0.5 is not above 0.85, confident groups 0 is not at least 2, "
        "round 1 is not at least 3, changed in debate yes is not no, round 1 is not at least 3."
    )


def test_a_deadlock_names_the_groups() -> None:
    scenario = VECTORS[2]
    declaration = declare(
        evaluate(scenario.history, stops_of(scenario.panel)), Heard(()), Sensitivity.LOW
    )
    assert declaration.justification == (
        "Stopped by high_confidence_deadlock after round 1: "
        "mean confidence of ai generated 0.92 is above 0.85, "
        "mean confidence of authentic 0.88 is above 0.85, confident groups 2 is at least 2."
    )


@pytest.mark.parametrize(
    "reason",
    [
        TerminationReason.BUDGET_EXHAUSTED,
        TerminationReason.CANCELLED,
        TerminationReason.QUORUM_LOST,
    ],
)
def test_an_end_from_outside(reason: TerminationReason) -> None:
    declaration = declare_operational(
        reason, Heard(("grid",)), iteration=2, basis=(9,), disagreement=2 / 3
    )
    assert declaration.terminates
    assert declaration.termination_type is TerminationType.OPERATIONAL
    assert declaration.details.forced_by_cap
    assert declaration.details.unmet == ("consensus",)
    assert declaration.details.rule == reason.value
    assert declaration.details.iteration == 2
    assert declaration.details.values == {"disagreement": 2 / 3}
    assert declaration.justification == (
        f"Stopped from outside by {reason.value} after round 2; disagreement then was 0.667."
    )
