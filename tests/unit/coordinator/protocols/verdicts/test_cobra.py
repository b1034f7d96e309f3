from collections.abc import Mapping, Sequence

import pytest
from pydantic import JsonValue

from parley.agents.forensic.labels import Verdict
from parley.coordinator.protocols.verdicts.cobra import (
    CobraAlgorithm,
    CobraResponse,
    CobraResult,
    cobra,
    select_algorithm,
)
from parley.coordinator.protocols.verdicts.decide import spread_of
from tests.debates import TRUST, panel
from tests.vectors_a import AI, AUTH, FOUR, MANI, UNSURE

PANEL = panel(FOUR)


def said(
    agent: str, verdict: Verdict, confidence: float, score: float | None = None
) -> CobraResponse:
    """`score` is how strongly the agent's evidence points to generation."""
    evidence: dict[str, JsonValue] = {} if score is None else {"ai_generation_score": score}
    return CobraResponse(agent, verdict, confidence, spread_of(PANEL, verdict, evidence))


def merged(
    responses: Sequence[CobraResponse],
    trust: Mapping[str, float],
    algorithm: CobraAlgorithm | None = None,
) -> CobraResult:
    return cobra(responses, trust, PANEL.verdicts, algorithm)


EVEN = {"a": 0.8, "b": 0.8}


def close(expected: float) -> object:
    return pytest.approx(expected, abs=1e-4)


def test_rot_discounts_the_untrusted() -> None:
    result = merged(
        [said("a", AI, 0.9), said("b", AUTH, 0.7)],
        {"a": 0.8, "b": 0.6},
        CobraAlgorithm.ROT,
    )
    assert result.final_verdict == AI
    assert result.confidence == close(0.8511)
    assert result.disagreement_level == close(0.6072)
    assert result.agent_weights == pytest.approx({"a": 0.72, "b": 0.126})
    assert result.verdict_scores == pytest.approx({AI: 0.72, AUTH: 0.126})
    assert result.cohort_info == {"trusted": ["a"], "untrusted": ["b"]}


def test_rot_with_three_agents() -> None:
    result = merged(
        [
            said("a", AI, 0.9),
            said("b", AI, 0.85),
            said("c", AUTH, 0.95),
        ],
        {"a": 0.9, "b": 0.85, "c": 0.5},
        CobraAlgorithm.ROT,
    )
    assert (result.final_verdict, result.confidence) == (AI, close(0.9149))


def test_rot_trusts_from_the_threshold_on_and_sees_no_disagreement_in_one_verdict() -> None:
    result = merged([said("a", AI, 1.0)], {"a": 0.7}, CobraAlgorithm.ROT)
    assert result.agent_weights == pytest.approx({"a": 0.7})
    assert (result.confidence, result.disagreement_level) == (1.0, 0.0)


def test_drwa_favours_consistent_evidence() -> None:
    result = merged(
        [said("a", AI, 0.9, 0.9), said("b", AUTH, 0.7, 0.3)],
        EVEN,
        CobraAlgorithm.DRWA,
    )
    assert result.agent_weights == {"a": close(0.9333), "b": close(0.8)}
    assert (result.final_verdict, result.confidence) == (AI, close(0.60))
    assert result.disagreement_level == 0.5


def test_drwa_without_spread_gives_the_whole_bonus_and_bounds_the_weight() -> None:
    result = merged(
        [said("a", AI, 0.9, 1.0), said("b", AUTH, 0.7, 0.0)],
        {"a": 0.9, "b": 0.0},
        CobraAlgorithm.DRWA,
    )
    assert result.agent_weights == pytest.approx({"a": 1.0, "b": 0.2})


def test_drwa_keeps_a_least_weight_and_takes_an_unmeasured_agent_for_half_consistent() -> None:
    result = merged(
        [said("a", AI, 0.9), said("b", AUTH, 0.7, 1.0)],
        {"a": 0.5, "b": 0.0},
        CobraAlgorithm.DRWA,
    )
    assert result.agent_weights == pytest.approx({"a": 0.6, "b": 0.1})


def test_avga_levels_the_weights() -> None:
    result = merged([said("a", AI, 0.9), said("b", AUTH, 0.7)], EVEN, CobraAlgorithm.AVGA)
    assert (result.final_verdict, result.confidence) == (AI, close(0.5395))
    assert result.cohort_info == {"confidence_variance": pytest.approx(0.01), "damped": False}
    assert sum(result.agent_weights.values()) == pytest.approx(1.0)


def test_avga_dampens_the_confidence_when_confidences_scatter() -> None:
    result = merged([said("a", AI, 0.95), said("b", AUTH, 0.1)], EVEN, CobraAlgorithm.AVGA)
    assert (result.final_verdict, result.confidence) == (AI, close(0.617))
    assert result.disagreement_level == close(0.5419)


def test_result_has_exactly_the_named_fields() -> None:
    assert set(merged([], {}).model_dump()) == {
        "final_verdict",
        "confidence",
        "algorithm",
        "verdict_scores",
        "agent_weights",
        "cohort_info",
        "disagreement_level",
    }


@pytest.mark.parametrize("algorithm", [None, *CobraAlgorithm])
def test_no_response_no_verdict(algorithm: CobraAlgorithm | None) -> None:
    result = merged([], {}, algorithm)
    assert (result.final_verdict, result.confidence) == (UNSURE, 0.0)


@pytest.mark.parametrize("algorithm", [CobraAlgorithm.ROT, CobraAlgorithm.DRWA])
def test_responses_without_any_confidence_give_no_verdict(algorithm: CobraAlgorithm | None) -> None:
    result = merged([said("a", AI, 0.0), said("b", AUTH, 0.0)], EVEN, algorithm)
    assert (result.final_verdict, result.confidence) == (UNSURE, 0.0)


def test_equal_scores_go_to_the_verdict_seen_first() -> None:
    responses = [said("a", AUTH, 0.7), said("b", AI, 0.7)]
    for algorithm in CobraAlgorithm:
        assert merged(responses, EVEN, algorithm).final_verdict == AUTH


@pytest.mark.parametrize(
    ("verdicts", "trust", "expected"),
    [
        ((AI, AUTH), {"frequency": 0.95, "noise": 0.3}, CobraAlgorithm.ROT),
        ((AI, AUTH, MANI), TRUST, CobraAlgorithm.AVGA),
        ((AI, AUTH, AI), TRUST, CobraAlgorithm.DRWA),
        ((AI, AUTH, MANI), {}, CobraAlgorithm.AVGA),
        ((), {}, CobraAlgorithm.DRWA),
    ],
)
def test_algorithm_is_chosen_by_trust_and_verdicts(
    verdicts: tuple[Verdict, ...], trust: Mapping[str, float], expected: CobraAlgorithm
) -> None:
    responses = [said(agent, verdict, 0.8) for agent, verdict in zip(FOUR, verdicts, strict=False)]
    assert select_algorithm(responses, trust) is expected
    assert merged(responses, trust).algorithm is expected
