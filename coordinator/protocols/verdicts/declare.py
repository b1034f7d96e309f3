"""What the coordinator says after every round of a debate of verdicts, going on or stopping."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.declaration import (
    Check,
    DeclarationDetails,
    Sensitivity,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.checks import in_words, shown
from parley.coordinator.core.novelty import NOTHING_NEW, Novelty
from parley.coordinator.protocols.verdicts.termination import Evaluation

REGIME = "verdicts"
AGREED = frozenset({TerminationReason.CONSENSUS_REACHED, TerminationReason.UNANIMITY})
CAPPED = frozenset({TerminationReason.MAX_ROUNDS_REACHED, TerminationReason.NO_PROGRESS})


class Heard(NamedTuple):
    """What the round's words add, the evidence domains heard so far, and how many are missing."""

    axes: tuple[str, ...]
    missing: int = 0
    novelty: Novelty = NOTHING_NEW


def declare(
    evaluation: Evaluation, heard: Heard, sensitivity: Sensitivity, *, basis: tuple[int, ...] = ()
) -> TerminationDeclaration:
    reason = evaluation.reason
    consensual = reason is None or reason in AGREED
    return TerminationDeclaration.of_ours(
        termination_status=(
            TerminationStatus.TERMINATE if evaluation.terminate else TerminationStatus.CONTINUE
        ),
        termination_type=(
            TerminationType.ANSWER_CONVERGENCE
            if consensual
            else TerminationType.DECISION_SUFFICIENCY
        ),
        termination_rationale=_rationale(heard, sensitivity),
        justification=_justification(evaluation),
        details=DeclarationDetails.of_ours(
            rule=evaluation.rule,
            thresholds=evaluation.thresholds,
            values=evaluation.values,
            checks=evaluation.checks,
            basis=basis,
            regime=REGIME,
            iteration=evaluation.round,
            delta_sem=evaluation.changed_share,
            forced_by_cap=reason in CAPPED,
            unmet=() if reason in AGREED else ("consensus",),
        ),
    )


def declare_operational(  # noqa: PLR0913  one argument for each thing it states
    reason: TerminationReason,
    heard: Heard,
    *,
    iteration: int,
    basis: tuple[int, ...],
    disagreement: float,
    thresholds: Mapping[str, JsonValue] = {},
    values: Mapping[str, JsonValue] = {},
    checks: tuple[Check, ...] = (),
) -> TerminationDeclaration:
    """For an end that no rule of the debate brought about: budget, cancellation, lost quorum."""
    return TerminationDeclaration.of_ours(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.OPERATIONAL,
        # Who stops a debate from outside does not say what would have come of it.
        termination_rationale=_rationale(heard, Sensitivity.HIGH),
        justification=(
            f"Stopped from outside by {reason.value} after {_moment(iteration)}; "
            f"disagreement then was {shown(disagreement)}."
        ),
        details=DeclarationDetails.of_ours(
            rule=reason.value,
            thresholds=dict(thresholds),
            values={"disagreement": disagreement, **values},
            checks=checks,
            basis=basis,
            regime=REGIME,
            iteration=iteration,
            forced_by_cap=True,
            unmet=("consensus",),
        ),
    )


def _rationale(heard: Heard, sensitivity: Sensitivity) -> TerminationRationale:
    return TerminationRationale.of_ours(
        orthogonality_score=heard.novelty.orthogonality,
        semantic_expansion_delta=heard.novelty.expansion,
        decision_sensitivity=sensitivity,
        axes_explored=heard.axes,
        axes_remaining_estimate=heard.missing,
    )


def _justification(evaluation: Evaluation) -> str:
    moment = _moment(evaluation.round)
    if evaluation.terminate:
        why = ", ".join(in_words(one) for one in evaluation.decisive if one.held)
        return f"Stopped by {evaluation.rule} after {moment}: {why}."
    why = ", ".join(map(in_words, evaluation.checks)) or "none is asked before the first round"
    return f"Decision after {moment}: {evaluation.rule}. No rule ends the debate: {why}."


def _moment(iteration: int) -> str:
    return f"round {iteration}" if iteration else "the opening statements"
