"""Figures of a run and the warnings of E5."""

import pytest

from parley.bus.contracts.absa.record import OverrideStats
from parley.bus.contracts.absa.review import MappingFailReasons, MappingStats
from parley.configs.absa_thresholds import warning_thresholds
from parley.coordinator.protocols.absa.output.metrics import (
    DebateMetrics,
    DebateScorecard,
    debate_metrics,
    warnings,
)

LIMITS = warning_thresholds()


@pytest.mark.parametrize(
    ("metric", "value", "level"),
    [
        pytest.param("debate_mapping_coverage", 0.39, "[WARN/LOW]", id="coverage-.39"),
        pytest.param("debate_mapping_coverage", 0.24, "[WARN/HIGH]", id="coverage-.24"),
        pytest.param("debate_mapping_coverage", 0.4, None, id="coverage-.4"),
        pytest.param("debate_fail_no_match_rate", 0.41, "[WARN/LOW]", id="no_match-.41"),
        pytest.param("debate_fail_no_match_rate", 0.61, "[WARN/HIGH]", id="no_match-.61"),
        pytest.param("debate_fail_no_match_rate", 0.4, None, id="no_match-.4"),
        pytest.param("debate_fail_neutral_stance_rate", 0.6, "[WARN/LOW]", id="neutral-.6"),
        pytest.param(
            "debate_override_skipped_already_confident_rate", 0.51, "[NOTE]", id="confident-.51"
        ),
        pytest.param(
            "debate_override_skipped_already_confident_rate", 0.5, None, id="confident-.5"
        ),
    ],
)
def test_warnings(metric: str, value: float, level: str | None) -> None:
    found = warnings(DebateMetrics.model_validate({metric: value}), LIMITS)
    assert [(item.level, item.metric, item.value) for item in found] == (
        [(level, metric, value)] if level else []
    )
    assert all(item.tip for item in found)


def test_rates_are_means_of_samples_and_fail_rates_shares_of_turns() -> None:
    cards = [
        DebateScorecard(
            mapping_stats=MappingStats(direct=1, none=1),
            mapping_fail_reasons=MappingFailReasons(no_match=1),
            override_stats=OverrideStats(applied=1, skipped_already_confident=2),
        ),
        DebateScorecard(
            mapping_stats=MappingStats(direct=6),
            override_stats=OverrideStats(skipped_conflict=1),
        ),
        DebateScorecard(),
    ]
    figures = debate_metrics(cards)
    assert figures.debate_mapping_coverage == pytest.approx(0.75)
    assert figures.debate_fail_no_match_rate == pytest.approx(1 / 8)
    assert figures.debate_override_applied == 1
    assert figures.debate_override_skipped_already_confident_rate == pytest.approx(0.5)


def test_empty_denominators_are_null() -> None:
    assert debate_metrics([DebateScorecard()]) == DebateMetrics()
