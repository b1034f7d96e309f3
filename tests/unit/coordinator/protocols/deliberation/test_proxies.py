import pytest
from pydantic import JsonValue

from parley.bus.contracts.deliberation.regimes import Iteration, RegimeOverrides, Theta
from parley.coordinator.core.novelty import coverage_change, keywords
from parley.coordinator.protocols.deliberation.observation import conclusion_change
from parley.coordinator.protocols.deliberation.rules_io import run_regime


def test_coverage_is_the_share_of_new_keywords() -> None:
    assert coverage_change({"a1", "c1"}, {"a1", "b1"}) == pytest.approx(0.5)


def test_an_iteration_without_keywords_adds_nothing() -> None:
    assert coverage_change(set(), {"a1"}) == 0.0


def test_keywords_have_two_letters_and_no_case() -> None:
    assert keywords("A cost, a COST; 비용과 법 x2!") == {"cost", "비용과", "x2"}


def test_composed_and_decomposed_hangul_are_the_same_word() -> None:
    assert keywords("비용") == keywords("\u1107\u1175\u110b\u116d\u11bc")


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        pytest.param({"x": 1, "y": 2}, {"x": 1, "y": 3, "z": 4}, 2 / 3, id="changed-and-added"),
        pytest.param({"x": 1, "y": 2}, {"x": 1}, 1 / 2, id="removed"),
        pytest.param({"x": {"a": [1]}}, {"x": {"a": [1]}}, 0, id="equal-fields"),
        pytest.param({}, {}, 0, id="no-fields"),
        pytest.param("buy the farm", "buy the farm", 0, id="equal-text"),
        pytest.param("Buy, now", "now buy", 0, id="same-words"),
        pytest.param("take option A", "take option B", 1 / 2, id="one-letter-counts"),
        pytest.param("…", "!", 0, id="no-words"),
        pytest.param("buy", "STABLE", 0, id="stable"),
        pytest.param({"x": 1}, "STABLE", 0, id="stable-fields"),
        pytest.param({"x": 1}, "x 1", 1, id="other-form"),
    ],
)
def test_conclusions_change_by_structure(
    before: dict[str, JsonValue] | str, now: dict[str, JsonValue] | str, change: float
) -> None:
    assert conclusion_change(before, now) == pytest.approx(change)


def deltas(*iterations: dict[str, JsonValue]) -> list[tuple[float | None, float | None]]:
    run = run_regime(Theta.L3, RegimeOverrides(), map(Iteration.model_validate, iterations))
    return [(each.details.delta_coverage, each.details.delta_sem) for each in run.declarations]


def test_the_run_measures_against_everything_said_before() -> None:
    measured = deltas(
        {"text": "aa bb", "conclusion": {"buy": True}},
        {"text": "cc", "conclusion": {"buy": True, "when": "now"}},
        {"text": "aa cc dd ee", "conclusion": "STABLE"},
        {"text": "aa ff", "conclusion": {"buy": False, "when": "now"}},
    )
    assert measured == [(1.0, 1.0), (1.0, 0.5), (0.5, 0.0), (0.5, 0.5)]


def test_what_was_not_said_is_unknown_not_zero() -> None:
    assert deltas({}, {}) == [(1.0, 1.0), (None, None)]


def test_a_first_conclusion_is_all_new_whenever_it_comes() -> None:
    assert deltas({}, {"conclusion": "buy", "text": "aa"})[1] == (1.0, 1.0)


def test_an_iteration_that_says_nothing_leaves_the_conclusion_standing() -> None:
    assert deltas({"conclusion": "buy"}, {}, {"conclusion": "buy"})[2] == (None, 0.0)


def test_a_value_given_wins_over_the_text() -> None:
    said: dict[str, JsonValue] = {"text": "aa", "conclusion": "buy"}
    assert deltas(said, {**said, "delta_coverage": 0.4, "delta_sem": 0.3})[1] == (0.4, 0.3)
    assert deltas({**said, "delta_sem": "STABLE"})[0] == (1.0, 0.0)
