"""What the coordinator says after every round of a debate of verdicts, going on or stopping."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.bus.contracts.declaration import (
    DeclarationDetails,
    TerminationDeclaration,
    TerminationRationale,
    TerminationStatus,
    TerminationType,
)
from parley.bus.contracts.verdicts.content import TerminationReason
from parley.coordinator.protocols.verdicts.termination import Evaluation

REGIME = "verdicts"
CAPPED = frozenset({TerminationReason.MAX_ROUNDS_REACHED, TerminationReason.NO_PROGRESS})


def declare(
    evaluation: Evaluation, *, basis: tuple[int, ...], axes: tuple[str, ...]
) -> TerminationDeclaration:
    """`axes` names the evidence domains heard so far."""
    reason = evaluation.reason
    consensual = reason in {None, TerminationReason.CONSENSUS_REACHED}
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
            basis=basis,
            regime=REGIME,
            iteration=evaluation.round,
            forced_by_cap=reason in CAPPED,
            unmet=() if reason is TerminationReason.CONSENSUS_REACHED else ("consensus",),
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
) -> TerminationDeclaration:
    """For an end that no rule of the debate brought about: budget, cancellation, lost quorum."""
    return TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.DECISION_SUFFICIENCY,
        termination_rationale=TerminationRationale(axes_explored=axes),
        justification=(
            f"Stopped from outside by {reason.value} after {_moment(iteration)}; "
            f"disagreement then was {_shown(disagreement)}."
        ),
        details=DeclarationDetails(
            rule=reason.value,
            thresholds=dict(thresholds),
            values={"disagreement": disagreement, **values},
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
        return f"Stopped by {evaluation.rule} after {moment}: {_why(evaluation)}."
    return (
        f"Decision after {moment}: {evaluation.rule}. No rule ends the debate: {_why(evaluation)}."
    )


def _why(evaluation: Evaluation) -> str:
    def seen(name: str) -> str:
        return _shown(evaluation.values[name])

    def limit(name: str) -> str:
        return _shown(evaluation.thresholds[name])

    match evaluation.reason:
        case TerminationReason.CONSENSUS_REACHED:
            near = (
                "disagreement is 0"
                if evaluation.disagreement == 0
                else f"disagreement {seen('disagreement')} is below {limit('consensus_threshold')}"
            )
            return (
                f"{near}, and the share of agents with the verdict {seen('majority_verdict')} "
                f"is {seen('majority_share')} (more than {limit('majority_share')} is needed)"
            )
        case TerminationReason.STALEMATE:
            return (
                "the number of rounds in a row without a changed verdict is "
                f"{seen('unchanged_streak')}, and the limit is {limit('stalemate_threshold')}"
            )
        case TerminationReason.HIGH_CONFIDENCE_DEADLOCK:
            return (
                f"{seen('confident_groups')} groups with different verdicts have a mean confidence "
                f"above {limit('high_confidence_threshold')} ({seen('mean_confidence')})"
            )
        case TerminationReason.NO_PROGRESS:
            return (
                f"round {seen('round')} of at most {limit('max_rounds')} is over "
                "and no verdict changed in the whole debate"
            )
        case TerminationReason.MAX_ROUNDS_REACHED:
            return (
                f"round {seen('round')} of at most {limit('max_rounds')} is over "
                f"and disagreement is still {seen('disagreement')}"
            )
        case _:
            return (
                f"disagreement is {seen('disagreement')} (consensus needs less than "
                f"{limit('consensus_threshold')} and more than {limit('majority_share')} of the "
                f"agents behind one verdict, which has {seen('majority_share')}), "
                f"{seen('unchanged_streak')} of {limit('stalemate_threshold')} unchanged rounds, "
                f"round {seen('round')} of {limit('max_rounds')}"
            )


def _moment(iteration: int) -> str:
    return f"round {iteration}" if iteration else "the opening statements"


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)
