from collections.abc import Sequence

import pytest

from parley.bus.contracts.verdicts.content import TerminationReason
from parley.bus.contracts.verdicts.panel import VerdictParams, briefs_list
from parley.coordinator.core.tolerance import EPS
from parley.coordinator.protocols.verdicts.position import Position
from parley.coordinator.protocols.verdicts.termination import Evaluation, compile_stops, evaluate
from tests.debates import PRESETS
from tests.vectors_a import AI, AUTH, FOUR, MANI, UNSURE, Said

DEFAULT = PRESETS["default"]


def evaluated(history: Sequence[Sequence[Position]], params: VerdictParams) -> Evaluation:
    return evaluate(history, compile_stops(briefs_list(params)))


def stand(*said: Said) -> tuple[Position, ...]:
    return tuple(Position(agent, *each) for agent, each in zip(FOUR, said, strict=False))


def test_presets() -> None:
    figures = {
        name: (params.max_rounds, params.consensus_threshold, params.stalemate_threshold)
        for name, params in PRESETS.items()
    }
    assert figures == {"fast": (2, 0.4, 1), "default": (3, 0.3, 2), "precise": (5, 0.2, 3)}
    assert {params.high_confidence_threshold for params in PRESETS.values()} == {0.85}


def test_two_against_two_is_no_consensus_even_under_fast() -> None:
    split = stand((AI, 0.8), (AUTH, 0.8), (AI, 0.8), (AUTH, 0.8))
    evaluation = evaluated([split], PRESETS["fast"])
    assert evaluation.disagreement < PRESETS["fast"].consensus_threshold
    assert evaluation.values["majority_share"] == 0.5
    assert not evaluation.terminate


def test_two_against_two_is_consensus_where_no_majority_is_asked_for() -> None:
    split = stand((AI, 0.8), (AUTH, 0.8), (AI, 0.8), (AUTH, 0.8))
    params = VerdictParams(consensus_threshold=0.4, consensus_needs_majority=False)
    assert evaluated([split], params).reason is TerminationReason.CONSENSUS_REACHED


def test_unanimity_is_consensus_even_with_threshold_zero() -> None:
    params = VerdictParams(consensus_threshold=0.0)
    assert evaluated([stand((AI, 0.1), (AI, 0.9))], params).terminate


@pytest.mark.parametrize(
    ("threshold", "terminates"),
    [(1 / 3, False), (1 / 3 + EPS / 2, False), (1 / 3 + 2 * EPS, True)],
)
def test_disagreement_must_be_below_the_threshold_by_more_than_the_tolerance(
    threshold: float, terminates: bool
) -> None:
    three_to_one = stand((AI, 0.8), (AI, 0.8), (AI, 0.8), (AUTH, 0.8))
    params = VerdictParams(consensus_threshold=threshold)
    assert evaluated([three_to_one], params).terminate is terminates


@pytest.mark.parametrize(
    ("confidence", "deadlocked"),
    [(0.85, False), (0.85 + EPS / 2, False), (0.85 + 2 * EPS, True)],
)
def test_mean_confidence_must_exceed_the_threshold_by_more_than_the_tolerance(
    confidence: float, deadlocked: bool
) -> None:
    positions = stand((AI, confidence), (AUTH, 0.9))
    evaluation = evaluated([positions, positions], DEFAULT)
    assert evaluation.terminate is deadlocked


def test_a_mean_that_only_rounding_lifts_above_the_threshold_is_no_deadlock() -> None:
    positions = stand((AI, 0.8), (AI, 0.85), (AI, 0.9), (AUTH, 0.95))
    assert not evaluated([positions, positions], DEFAULT).terminate


def test_opening_statements_are_never_a_deadlock() -> None:
    evaluation = evaluated([stand((AI, 0.99), (AUTH, 0.99))], DEFAULT)
    assert (evaluation.terminate, evaluation.rule, evaluation.round) == (False, "continue", 0)
    assert evaluation.values["confident_groups"] == 2
    assert evaluation.changed_share == 0


def test_deadlock_can_follow_a_change() -> None:
    evaluation = evaluated(
        [stand((UNSURE, 0.5), (AUTH, 0.9)), stand((AI, 0.9), (AUTH, 0.9))], DEFAULT
    )
    assert evaluation.reason is TerminationReason.HIGH_CONFIDENCE_DEADLOCK
    assert evaluation.changed_share == 0.5


def test_all_uncertain_is_consensus() -> None:
    evaluation = evaluated([stand(*[(UNSURE, 0.4)] * 4)], DEFAULT)
    assert evaluation.reason is TerminationReason.CONSENSUS_REACHED


def test_an_empty_room_agrees_on_nothing() -> None:
    evaluation = evaluated([()], DEFAULT)
    assert (evaluation.terminate, evaluation.disagreement) == (False, 0.0)
    assert evaluation.values["majority_verdict"] is None
    assert evaluated([()] * 4, DEFAULT).reason is TerminationReason.STALEMATE


def test_an_empty_room_agrees_on_nothing_even_where_no_majority_is_asked_for() -> None:
    assert not evaluated([()], VerdictParams(consensus_needs_majority=False)).terminate


def test_speaking_for_the_first_time_is_no_change_of_verdict() -> None:
    opening = stand((AI, 0.7), (AUTH, 0.7))
    joined = stand((AI, 0.7), (AUTH, 0.7), (MANI, 0.7))
    evaluation = evaluated([opening, joined, joined], DEFAULT)
    assert (evaluation.unchanged_streak, evaluation.changed_share) == (2, 0.0)
    assert evaluation.reason is TerminationReason.STALEMATE


def test_a_newcomer_is_left_out_of_the_changed_share() -> None:
    opening = stand((AI, 0.7), (AUTH, 0.7))
    joined = stand((MANI, 0.7), (AUTH, 0.7), (UNSURE, 0.7))
    assert evaluated([opening, joined], DEFAULT).changed_share == 0.5


def test_no_progress_asks_for_a_debate_without_any_change() -> None:
    params = VerdictParams(max_rounds=2, stalemate_threshold=9)
    still, moved = stand((AI, 0.7), (AUTH, 0.7)), stand((MANI, 0.7), (AUTH, 0.7))
    assert evaluated([still] * 3, params).reason is TerminationReason.NO_PROGRESS
    changed = evaluated([still, moved, moved], params)
    assert changed.reason is TerminationReason.MAX_ROUNDS_REACHED
    back_and_forth = evaluated([still, moved, still], params)
    assert back_and_forth.reason is TerminationReason.MAX_ROUNDS_REACHED
