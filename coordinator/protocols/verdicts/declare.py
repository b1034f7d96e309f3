"""What the coordinator says after every round of a debate of verdicts, going on or stopping."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.bus.contracts.declaration import (
    Check,
    DeclarationDetails,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.core.checks import in_words, shown
from parley.coordinator.protocols.verdicts.termination import Evaluation

REGIME = "verdicts"
AGREED = frozenset({TerminationReason.CONSENSUS_REACHED, TerminationReason.UNANIMITY})
CAPPED = frozenset({TerminationReason.MAX_ROUNDS_REACHED, TerminationReason.NO_PROGRESS})


def declare(
    evaluation: Evaluation, *, basis: tuple[int, ...], axes: tuple[str, ...]
) -> TerminationDeclaration:
    """`axes` names the evidence domains heard so far."""
    reason = evaluation.reason
    consensual = reason is None or reason in AGREED
    return TerminationDeclaration(
        termination_status=(
            TerminationStatus.TERMINATE if evaluation.terminate else TerminationStatus.CONTINUE
        ),
        termination_type=(
            TerminationType.ANSWER_CONVERGENCE
            if consensual
            else TerminationType.DECISION_SUFFICIENCY
        ),
        termination_rationale=TerminationRationale(
            semantic_expansion_delta=evaluation.changed_share, axes_explored=axes
        ),
        justification=_justification(evaluation),
        details=DeclarationDetails(
            rule=evaluation.rule,
            thresholds=evaluation.thresholds,
            values=evaluation.values,
            checks=evaluation.checks,
            basis=basis,
            regime=REGIME,
            iteration=evaluation.round,
            forced_by_cap=reason in CAPPED,
            unmet=() if reason in AGREED else ("consensus",),
        ),
    )


def declare_operational(  # noqa: PLR0913  one argument for each thing it states
    reason: TerminationReason,
    *,
    iteration: int,
    basis: tuple[int, ...],
    axes: tuple[str, ...],
    disagreement: float,
    thresholds: Mapping[str, JsonValue] = {},
    values: Mapping[str, JsonValue] = {},
    checks: tuple[Check, ...] = (),
) -> TerminationDeclaration:
    """For an end that no rule of the debate brought about: budget, cancellation, lost quorum."""
    return TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.DECISION_SUFFICIENCY,
        termination_rationale=TerminationRationale(axes_explored=axes),
        justification=(
            f"Stopped from outside by {reason.value} after {_moment(iteration)}; "
            f"disagreement then was {shown(disagreement)}."
        ),
        details=DeclarationDetails(
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


def _justification(evaluation: Evaluation) -> str:
    moment = _moment(evaluation.round)
    if evaluation.terminate:
        why = ", ".join(in_words(one) for one in evaluation.decisive if one.held)
        return f"Stopped by {evaluation.rule} after {moment}: {why}."
    why = ", ".join(map(in_words, evaluation.checks)) or "none is asked before the first round"
    return f"Decision after {moment}: {evaluation.rule}. No rule ends the debate: {why}."


def _moment(iteration: int) -> str:
    return f"round {iteration}" if iteration else "the opening statements"
