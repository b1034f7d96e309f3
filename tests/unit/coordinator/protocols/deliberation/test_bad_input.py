import json

import pytest
from pydantic import ValidationError

from parley.coordinator.protocols.deliberation.rules_io import (
    TerminateRegimeIn,
    answer_terminate_regime,
)


def line(text: str) -> TerminateRegimeIn:
    return TerminateRegimeIn.model_validate_json(text)


def entry(text: str) -> str:
    return f'{{"theta": "L3", "iterations": [{text}]}}'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            '{"theta": "L5", "iterations": []}', "'L0', 'L1', 'L2', 'L3' or 'L4'", id="regime"
        ),
        pytest.param(
            '{"theta": "l3", "iterations": []}', "'L0', 'L1', 'L2', 'L3' or 'L4'", id="case"
        ),
        pytest.param('{"iterations": []}', "Field required", id="no-regime"),
        pytest.param('{"theta": "L3"}', "Field required", id="no-iterations"),
        pytest.param(entry('{"axis": "x"}'), "Extra inputs", id="unknown-field"),
        pytest.param(entry('{"orthogonality": NaN}'), "finite number", id="nan"),
        pytest.param(entry('{"delta_sem": Infinity}'), "finite number", id="infinity"),
        pytest.param(entry('{"confidence": 1.01}'), "less than or equal to 1", id="above-one"),
        pytest.param(
            entry('{"delta_coverage": -0.1}'), "greater than or equal to 0", id="below-zero"
        ),
        pytest.param(entry('{"delta_sem": "stable"}'), "valid number", id="stable-misspelt"),
        pytest.param(entry('{"d_current": -1}'), "greater than or equal to 0", id="dimension"),
        pytest.param(entry('{"d_current": 2.5}'), "valid integer", id="half-a-dimension"),
        pytest.param(
            entry('{"sensitivity": "none"}'), "'low', 'medium' or 'high'", id="sensitivity"
        ),
        pytest.param(
            entry('{"conclusion": {"a": [{"b": NaN}]}}'), "finite numbers", id="nan-inside"
        ),
        pytest.param(entry('{"candidates": [{"id": "a"}]}'), "Field required", id="no-score"),
        pytest.param(
            entry('{"candidates": [{"id": "a", "score": null}]}'), "valid number", id="null-score"
        ),
        pytest.param(
            entry('{"candidates": [{"id": "a", "score": NaN}]}'), "finite number", id="nan-score"
        ),
        pytest.param(
            entry('{"candidates": [{"id": " ", "score": 1}]}'), "at least 1 character", id="no-id"
        ),
        pytest.param(
            entry('{"candidates": [{"id": "a", "score": 1}, {"id": "a", "score": 0}]}'),
            "given twice in one iteration: a",
            id="candidate-twice",
        ),
        pytest.param(entry('{"axes": [""]}'), "at least 1 character", id="empty-axis"),
        pytest.param(entry('{"axes": ["  "]}'), "at least 1 character", id="blank-axis"),
        pytest.param(entry('{"axes": ["--"]}'), "at least one letter or digit", id="axis-of-signs"),
        pytest.param(
            entry('{"axes": ["SATURATED"]}'), "an answer, not the name", id="answer-as-axis"
        ),
        pytest.param(
            entry('{"forcing": {"axis": "ethics", "truly_saturated": true}}'),
            "contradictory forcing answer",
            id="forcing-both",
        ),
        pytest.param(
            entry('{"forcing": ["TRULY_SATURATED", {"axis": "ethics"}]}'),
            "a forcing answer is",
            id="forcing-list",
        ),
        pytest.param(
            entry('{"forcing": {"axis": "TRULY_SATURATED"}}'), "an answer, not", id="forcing-mixed"
        ),
        pytest.param(
            entry('{"forcing": "TRULY SATURATED"}'), "a forcing answer is", id="forcing-text"
        ),
        pytest.param(entry('{"forcing": {}}'), "names an axis or says", id="forcing-nothing"),
        pytest.param(
            entry('{"forcing": {"axis": ""}}'), "at least 1 character", id="forcing-empty"
        ),
    ],
)
def test_is_refused_with_a_clear_message(text: str, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        line(text)


def test_an_axis_of_ten_thousand_characters_is_refused() -> None:
    with pytest.raises(ValidationError, match="at most 200 characters") as refused:
        line(entry(json.dumps({"axes": ["x" * 10_000]})))
    assert refused.value.errors()[0]["loc"] == ("iterations", 0, "axes", 0)


def test_duplicated_axes_are_counted_once_and_blanks_around_a_name_are_dropped() -> None:
    answer = answer_terminate_regime(line(entry('{"axes": [" risk ", "risk", "Risk", "cost"]}')))
    assert answer.logical_axes[0].cumulative_axes == ("risk", "cost")


def test_params_may_be_null_or_absent() -> None:
    given = ('{"theta": "L3", "params": null, "iterations": [{}]}', entry("{}"))
    absent, null = (answer_terminate_regime(line(text)) for text in given)
    assert absent == null
    assert absent.declarations[0].details.d_min == 6
