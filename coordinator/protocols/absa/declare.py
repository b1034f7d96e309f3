"""What the coordinator declares after each round of the debate about aspects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

from pydantic import JsonValue

from parley.bus.contracts.absa.debate import DebateSummary
from parley.bus.contracts.absa.params import AbsaParams
from parley.bus.contracts.absa.sentiment import Polarity
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
from parley.coordinator.core.checks import check
from parley.coordinator.core.novelty import NOTHING_NEW, Novelty
from parley.coordinator.core.tolerance import above
from parley.coordinator.protocols.absa.history import HeardTurn
from parley.coordinator.protocols.absa.rules.implied import Implied, implied_tuples, pairs
from parley.coordinator.protocols.absa.rules.mapping import AspectIndex

REGIME = "absa"
# Pairs of moves that are looked at to find out how sensitive the outcome is.
MOST_OUTCOMES = 200
Standing = Mapping[str, Implied]
CAPPED = frozenset({TerminationReason.MAX_ROUNDS_REACHED, TerminationReason.NO_PROGRESS})


@dataclass(frozen=True, slots=True)
class Declared:
    """`reason` is set exactly when the declaration terminates the debate."""

    reason: TerminationReason | None
    declaration: TerminationDeclaration


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """The figures after a round; `reason` is the rule that holds, whether it may stop or not."""

    round: int
    reason: TerminationReason | None
    disputed: tuple[str, ...]
    deadlocked: tuple[str, ...]
    unchanged_streak: int
    changed_share: float
    checks: tuple[Check, ...]


def declare_round(  # noqa: PLR0913  one argument for each thing it rests on
    heard: Sequence[HeardTurn],
    index: AspectIndex,
    params: AbsaParams,
    *,
    round_number: int,
    basis: tuple[int, ...],
    novelty: Novelty = NOTHING_NEW,
) -> Declared:
    """
    After `round_number`, on all turns heard up to it. `basis`: ordinals of the facts it rests on;
    `novelty`: what the round's words add.
    """
    standings = _standings(heard, index, params, round_number)
    evaluation = _evaluate(standings, params, round_number)
    stops = evaluation.reason is not None and (params.early_stop or round_number >= params.rounds)
    reason = evaluation.reason if stops else None
    converged = reason in {None, TerminationReason.CONSENSUS_REACHED}
    declaration = TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE if stops else TerminationStatus.CONTINUE,
        termination_type=(
            TerminationType.ANSWER_CONVERGENCE
            if converged
            else TerminationType.DECISION_SUFFICIENCY
        ),
        termination_rationale=TerminationRationale(
            orthogonality_score=novelty.orthogonality,
            semantic_expansion_delta=novelty.expansion,
            decision_sensitivity=_sensitivity(standings, params, round_number),
            axes_explored=tuple(standings[-1]),
            axes_remaining_estimate=len(set(params.order) - set(standings[-1])),
        ),
        justification=_justification(evaluation, params, stops=stops),
        details=DeclarationDetails(
            rule=reason.value if reason is not None else "continue",
            thresholds=_thresholds(params),
            values=_values(evaluation),
            checks=evaluation.checks,
            basis=basis,
            regime=REGIME,
            iteration=round_number,
            delta_sem=evaluation.changed_share,
            forced_by_cap=reason in CAPPED,
            unmet=()
            if evaluation.reason is TerminationReason.CONSENSUS_REACHED
            else ("consensus",),
        ),
    )
    return Declared(reason, declaration)


def declare_stopped(
    reason: TerminationReason,
    params: AbsaParams,
    heard: Sequence[HeardTurn],
    *,
    round_number: int,
    basis: tuple[int, ...],
) -> TerminationDeclaration:
    """For an end that no rule of the debate brought about: budget, cancellation."""
    speakers = tuple(dict.fromkeys(turn.key for turn in heard))
    return TerminationDeclaration(
        termination_status=TerminationStatus.TERMINATE,
        termination_type=TerminationType.OPERATIONAL,
        termination_rationale=TerminationRationale(
            orthogonality_score=0.0,
            semantic_expansion_delta=0.0,
            # Who stops a debate from outside does not say what would have come of it.
            decision_sensitivity=Sensitivity.HIGH,
            axes_explored=speakers,
            axes_remaining_estimate=len(set(params.order) - set(speakers)),
        ),
        justification=f"Stopped from outside by {reason.value} after round {round_number}.",
        details=DeclarationDetails(
            rule=reason.value,
            basis=basis,
            regime=REGIME,
            iteration=round_number,
            forced_by_cap=True,
            unmet=("consensus",),
        ),
    )


def judge_outcome(summary: DebateSummary) -> TerminationType:
    """What the judge's own fact says of its summary: everything settled, or only enough."""
    if summary.unresolved_conflicts:
        return TerminationType.DECISION_SUFFICIENCY
    return TerminationType.VERIFICATION_PASS


def disputed_aspects(held: Mapping[str, Implied]) -> tuple[str, ...]:
    """Aspects of which two personas imply different polarities."""
    said: dict[str, set[frozenset[Polarity]]] = {}
    for implied in held.values():
        by_aspect: dict[str, set[Polarity]] = {}
        for item in implied:
            by_aspect.setdefault(item.aspect, set()).add(item.polarity)
        for aspect, polarities in by_aspect.items():
            said.setdefault(aspect, set()).add(frozenset(polarities))
    return tuple(aspect for aspect, views in said.items() if len(views) > 1)


def deadlocked_aspects(held: Mapping[str, Implied], threshold: float) -> tuple[str, ...]:
    """Aspects on which two personas are sure of opposite polarities."""
    sure: dict[str, dict[Polarity, set[str]]] = {}
    for persona, implied in held.items():
        for item in implied:
            if above(item.confidence, threshold):
                holders = sure.setdefault(item.aspect, {}).setdefault(item.polarity, set())
                holders.add(persona)
    return tuple(
        aspect
        for aspect, views in sure.items()
        if len(views.get(Polarity.POSITIVE, set()) | views.get(Polarity.NEGATIVE, set())) > 1
        and {Polarity.POSITIVE, Polarity.NEGATIVE} <= views.keys()
    )


def _standings(
    heard: Sequence[HeardTurn], index: AspectIndex, params: AbsaParams, round_number: int
) -> list[Standing]:
    """What each persona implies before the first round, and after each."""
    personas = tuple(dict.fromkeys(turn.key for turn in heard))
    return [
        {key: _standing(heard, key, upto, index, params) for key in personas}
        for upto in range(round_number + 1)
    ]


def _sensitivity(
    standings: Sequence[Standing], params: AbsaParams, round_number: int
) -> Sensitivity:
    """
    Each persona is moved to each other polarity at its own confidence: high where that changes
    whether the debate goes on or what most of them imply, medium where two such moves do.
    """

    def outcome(latest: Standing) -> object:
        found = _evaluate([*standings[:-1], latest], params, round_number)
        stops = found.reason is not None and (params.early_stop or round_number >= params.rounds)
        return stops, leading_polarities(latest)

    stands, latest = outcome(standings[-1]), standings[-1]
    moves = [
        (key, moved)
        for key, implied in latest.items()
        for polarity in Polarity
        if (moved := _moved(implied, polarity)) != implied
    ]
    if not latest or any(outcome({**latest, key: moved}) != stands for key, moved in moves):
        return Sensitivity.HIGH
    pairs_of_moves = islice(combinations(moves, 2), MOST_OUTCOMES)
    changed = any(
        outcome({**latest, one[0]: one[1], other[0]: other[1]}) != stands
        for one, other in pairs_of_moves
        if one[0] != other[0]
    )
    return Sensitivity.MEDIUM if changed else Sensitivity.LOW


def _moved(implied: Implied, polarity: Polarity) -> Implied:
    return tuple(item._replace(polarity=polarity) for item in implied)


def leading_polarities(held: Mapping[str, Implied]) -> dict[str, Polarity]:
    """What most personas imply of each aspect; of equals the first by name."""
    votes: dict[str, dict[Polarity, int]] = {}
    for implied in held.values():
        for aspect, polarity in pairs(implied):
            counted = votes.setdefault(aspect, {})
            counted[polarity] = counted.get(polarity, 0) + 1
    return {
        aspect: max(sorted(counted), key=lambda polarity: counted[polarity])
        for aspect, counted in votes.items()
    }


def _evaluate(standings: Sequence[Standing], params: AbsaParams, round_number: int) -> _Evaluation:
    personas = tuple(standings[-1])
    changes = [
        sum(pairs(after[key]) != pairs(before[key]) for key in personas)
        for before, after in pairwise(standings)
    ]
    streak = next(
        (length for length, changed in enumerate(reversed(changes)) if changed), len(changes)
    )
    latest = standings[-1]
    disputed = disputed_aspects(latest)
    deadlocked = deadlocked_aspects(latest, params.debate.high_confidence_threshold)
    stale = streak >= params.debate.stalemate_threshold
    capped = round_number >= params.rounds
    reason = _reason(
        agreed=bool(personas) and not disputed,
        stale=stale,
        deadlocked=bool(deadlocked),
        moved=any(changes),
        capped=capped,
    )
    return _Evaluation(
        round=round_number,
        reason=reason,
        disputed=disputed,
        deadlocked=deadlocked,
        unchanged_streak=streak,
        changed_share=changes[-1] / len(personas) if personas else 0.0,
        checks=(
            check("disputed_aspects", len(disputed), "==", 0, not disputed),
            check("unchanged_streak", streak, ">=", params.debate.stalemate_threshold, stale),
            check("deadlocked_aspects", len(deadlocked), ">=", 1, bool(deadlocked)),
            check("round", round_number, ">=", params.rounds, capped),
        ),
    )


def _standing(
    heard: Sequence[HeardTurn], key: str, upto: int, index: AspectIndex, params: AbsaParams
) -> Implied:
    own = [turn.turn for turn in heard if turn.key == key and turn.round <= upto]
    return implied_tuples(own, index, params.debate.protocol)


def _reason(
    *, agreed: bool, stale: bool, deadlocked: bool, moved: bool, capped: bool
) -> TerminationReason | None:
    ordered = (
        (agreed, TerminationReason.CONSENSUS_REACHED),
        (stale, TerminationReason.STALEMATE),
        (deadlocked, TerminationReason.HIGH_CONFIDENCE_DEADLOCK),
        (capped and not moved, TerminationReason.NO_PROGRESS),
        (capped, TerminationReason.MAX_ROUNDS_REACHED),
    )
    return next((reason for holds, reason in ordered if holds), None)


def _thresholds(params: AbsaParams) -> dict[str, JsonValue]:
    return {
        "rounds": params.rounds,
        "stalemate_threshold": params.debate.stalemate_threshold,
        "high_confidence_threshold": params.debate.high_confidence_threshold,
        "early_stop": params.early_stop,
    }


def _values(evaluation: _Evaluation) -> dict[str, JsonValue]:
    return {
        "round": evaluation.round,
        "disputed_aspects": list(evaluation.disputed),
        "deadlocked_aspects": list(evaluation.deadlocked),
        "unchanged_streak": evaluation.unchanged_streak,
        "rule_that_holds": evaluation.reason.value if evaluation.reason is not None else None,
    }


def _justification(evaluation: _Evaluation, params: AbsaParams, *, stops: bool) -> str:
    disputed = ", ".join(evaluation.disputed) or "none"
    figures = (
        f"round {evaluation.round} of {params.rounds}, disputed aspects: {disputed}, "
        f"{evaluation.unchanged_streak} of {params.debate.stalemate_threshold} unchanged rounds"
    )
    if stops and evaluation.reason is not None:
        return f"Stopped by {evaluation.reason.value}: {figures}."
    if evaluation.reason is not None:
        return f"Decision: continue. {evaluation.reason.value} holds, but early_stop is off: {figures}."
    return f"Decision: continue. No rule ends the debate: {figures}."
