from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from parley.bus.contracts.deliberation.regimes import AxesRecord, Iteration, RegimeOverrides, Theta
from parley.coordinator.protocols.deliberation.observation import judge_axes
from parley.coordinator.protocols.deliberation.rules_io import run_regime
from parley.coordinator.protocols.deliberation.similarity import lexical_similarity, words_of

EPSILON = 0.15


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("risk_evaluation", {"risk", "evaluation"}),
        ("Risk-Evaluation", {"risk", "evaluation"}),
        ("riskEvaluation", {"risk", "evaluation"}),
        ("GDPRCompliance", {"gdpr", "compliance"}),
        ("risk (high)", {"risk"}),
        ("HighRisk", {"risk"}),
        ("위험 높음", {"위험"}),
        ("위험_낮음", {"위험"}),
        ("axis1", {"axis1"}),
        ("낮음", set()),
    ],
)
def test_a_name_is_its_words_without_values(name: str, words: set[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("axis", "known", "similarity"),
    [
        pytest.param("cost_risk", ["risk_cost"], 1, id="same-words"),
        pytest.param("risk_high", ["risk"], 1, id="other-value"),
        pytest.param("위험 높음", ["위험 낮음"], 1, id="other-value-ko"),
        pytest.param("risk_cost", ["risk_evaluation", "cost_analysis"], 1, id="combination"),
        pytest.param("risk", ["risk_evaluation"], 1, id="part"),
        pytest.param("cost_analysis", ["risk_analysis"], 1 / 3, id="jaccard"),
        pytest.param("risk_law", ["risk_cost", "law"], 1, id="combination-over-jaccard"),
        pytest.param("risk_law_ethics", ["risk_cost", "law"], 1 / 3, id="closest"),
        pytest.param("ethics", ["risk"], 0, id="other"),
        pytest.param("ethics", [], 0, id="nothing-known"),
        pytest.param("high", [], 1, id="value-without-axis"),
    ],
)
def test_similarity_of_names(axis: str, known: list[str], similarity: float) -> None:
    assert lexical_similarity(axis, known) == pytest.approx(similarity)


def novelty(axes: Sequence[str], known: Sequence[str] = ()) -> tuple[float, tuple[str, ...]]:
    judged = judge_axes(axes, known, EPSILON, lexical_similarity)
    return judged.orthogonality, judged.joined


def test_the_first_axes_are_all_new() -> None:
    assert novelty(["risk", "cost"]) == (1.0, ("risk", "cost"))


def test_no_axis_adds_nothing() -> None:
    assert novelty([], ["risk"]) == (0.0, ())


def test_a_known_axis_that_returns_does_not_hide_a_new_one() -> None:
    assert novelty(["risk", "ethics"], ["risk"]) == (1.0, ("ethics",))


def test_the_score_is_that_of_the_newest_axis() -> None:
    score, joined = novelty(["risk_law", "cost_analysis"], ["risk_cost", "cost_analysis"])
    assert score == pytest.approx(2 / 3)
    assert joined == ("risk_law",)


def test_an_axis_and_its_other_value_named_together_are_one_dimension() -> None:
    assert novelty(["risk", "risk", "high_risk", "RISK"]) == (1.0, ("risk",))


def test_an_axis_too_close_to_a_known_one_does_not_join() -> None:
    seven = "a b c d e f g"
    score, joined = novelty([f"{seven} h"], [seven])
    assert score == pytest.approx(1 / 8)
    assert joined == ()


def test_epsilon_zero_still_refuses_a_known_axis() -> None:
    judged = judge_axes(["risk", "risk_high"], ["risk"], 0.0, lexical_similarity)
    assert judged.joined == ()


def records(*iterations: dict[str, JsonValue], theta: Theta = Theta.L3) -> tuple[AxesRecord, ...]:
    return run_regime(theta, RegimeOverrides(), map(Iteration.model_validate, iterations)).records


@pytest.mark.parametrize(
    ("entry", "orthogonality"),
    [
        pytest.param({"axes": ["ethics"], "orthogonality": 0.3}, 0.3, id="author-lower"),
        pytest.param({"axes": ["risk_law"], "orthogonality": 0.9}, 0.5, id="names-lower"),
        pytest.param({"axes": ["risk"], "orthogonality": 0.9}, 0.0, id="known-axis"),
        pytest.param({"axes": [], "orthogonality": 0.9}, 0.9, id="no-names-to-check"),
        pytest.param({"orthogonality": 0.9}, 0.9, id="author-alone"),
        pytest.param({"axes": []}, 0.0, id="saturated"),
        pytest.param({}, None, id="nobody-judged"),
    ],
)
def test_an_own_assessment_counts_as_far_as_the_names_bear_it_out(
    entry: dict[str, JsonValue], orthogonality: float | None
) -> None:
    assert records({"axes": ["risk"]}, entry)[1].orthogonality_score == orthogonality


def test_a_low_assessment_does_not_keep_a_new_name_out() -> None:
    record = records({"axes": ["risk"]}, {"axes": ["ethics"], "orthogonality": 0.05})[1]
    assert (record.orthogonality_score, record.cumulative_axes) == (0.05, ("risk", "ethics"))


def test_a_given_dimension_wins_over_the_names_but_never_falls() -> None:
    dimensions = [
        record.d_current
        for record in records(
            {"axes": ["risk", "cost"]},
            {"axes": ["law"], "d_current": 5},
            {"axes": ["ethics"]},
            {"d_current": 4},
        )
    ]
    assert dimensions == [2, 5, 6, 6]


def test_verification_keeps_the_record_and_is_not_held_up_by_it() -> None:
    scores: list[JsonValue] = [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.1}]
    entry: dict[str, JsonValue] = {"axes": ["risk"], "candidates": scores}
    third: list[JsonValue] = [{"id": "c", "score": 0.2}]
    run = run_regime(
        Theta.L2,
        RegimeOverrides(),
        map(Iteration.model_validate, [entry, {"axes": ["cost"], "candidates": third}]),
    )
    assert run.stopped_at == 2
    assert [record.d_current for record in run.records] == [1, 2]
    assert run.declarations[-1].details.d_min == 4


def test_another_similarity_can_be_plugged_in() -> None:
    def knows_synonyms(axis: str, known: Sequence[str]) -> float:
        return 0.95 if {axis, *known} == {"price", "cost"} else lexical_similarity(axis, known)

    iterations = [Iteration(axes=("cost",)), Iteration(axes=("price",))]
    plugged = run_regime(Theta.L3, RegimeOverrides(), iterations, knows_synonyms)
    lexical = run_regime(Theta.L3, RegimeOverrides(), iterations)
    assert [run.records[-1].d_current for run in (plugged, lexical)] == [1, 2]
    assert plugged.records[-1].orthogonality_score == pytest.approx(0.05)
