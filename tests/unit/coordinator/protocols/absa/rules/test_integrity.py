"""Vectors S-01 to S-12: does the result follow from the decision?"""

import pytest

from parley.bus.contracts.absa.debate import DebateSummary, SentimentTuple
from parley.coordinator.protocols.absa.output.integrity import (
    AspectView,
    MetaView,
    RecordView,
    ResultView,
    S3Result,
    check_record,
    check_run,
)

SKIN_POSITIVE = SentimentTuple(aspect_ref="피부톤", polarity="positive")
SKIN_NEGATIVE = SentimentTuple(aspect_ref="피부톤", polarity="negative")


def check(
    debate: tuple[SentimentTuple, ...],
    final: tuple[SentimentTuple, ...],
    decision: str = "adopted",
    reason: str = "debate_action",
    aspects: tuple[str, ...] = ("피부톤",),
) -> S3Result:
    return check_record(
        RecordView(
            meta=MetaView(
                text_id="t1",
                adopt_decision=decision,
                adopt_reason=reason,
                debate_summary=DebateSummary(final_tuples=debate),
            ),
            final_result=ResultView(
                final_tuples=final,
                final_aspects=tuple(AspectView(aspect_ref=aspect) for aspect in aspects),
            ),
        )
    )


def test_s_01_equal() -> None:
    assert check((SKIN_POSITIVE,), (SKIN_POSITIVE,), "adopted", "anything").passed


@pytest.mark.parametrize(
    ("decision", "reason", "ev_reason"),
    [
        pytest.param("adopted", "debate_action", None, id="S-02"),
        pytest.param("not_adopted", "ev_below_threshold", "low_ev", id="S-03"),
        pytest.param("not_adopted", "l3-conservative", "conflict", id="S-04"),
        pytest.param("not_adopted", "no_evidence_span", "no_evidence", id="S-05"),
        pytest.param("not_adopted", "contradictory_memory", "memory_contradiction", id="S-06"),
        pytest.param("not_adopted", "something_else", None, id="S-07"),
        pytest.param("not_adopted", "max_one_override_per_sample", "low_ev", id="S-08"),
        pytest.param("not_adopted", "neutral_only", "low_ev", id="S-11"),
        pytest.param("not_adopted", "LOW_EV", "low_ev", id="already-canonical"),
        pytest.param("adopted", "low_signal", None, id="adopted-with-a-reason-against"),
    ],
)
def test_a_difference_needs_a_reason(decision: str, reason: str, ev_reason: str | None) -> None:
    result = check((SKIN_POSITIVE,), (SKIN_NEGATIVE,), decision, reason)
    assert result.passed is (ev_reason is not None)
    assert result.ev_reason == ev_reason
    if ev_reason is None:
        (violation,) = result.violations
        assert violation.reason == "ev_decision_or_reason_violation"
        assert violation.text_id == "t1"
        assert violation.ev_reason_raw == reason
        assert violation.ev_decision_reject is (decision == "not_adopted")


def test_s_09_no_debate_tuples() -> None:
    assert check((), (SKIN_NEGATIVE,)).passed


def test_s_10_ref_and_term_are_one_key() -> None:
    debate = (SentimentTuple(aspect_ref="피부톤", polarity="pos"),)
    final = (SentimentTuple(aspect_term="피부톤", polarity="positive"),)
    assert check(debate, final).passed


def test_s_12_unknown_aspect() -> None:
    result = check((SKIN_POSITIVE,), (SKIN_POSITIVE,), aspects=("가격",))
    assert not result.passed
    assert [item.reason for item in result.violations] == ["tuple_aspect_ref_not_in_final_aspects"]
    assert result.violations[0].aspects == ("피부톤",)


def test_gate_off_is_not_evaluated() -> None:
    result = check((SKIN_POSITIVE,), (SKIN_NEGATIVE,), "adopted", "gate_off")
    assert (result.passed, result.evaluated) == (True, False)


def test_spaces_and_case_do_not_matter() -> None:
    debate = (SentimentTuple(aspect_ref=" Battery Life", polarity="NEG "),)
    final = (SentimentTuple(aspect_ref="batterylife", polarity="negative"),)
    assert check(debate, final, aspects=("battery life",)).passed


def test_run_counts_are_compared() -> None:
    assert check_run([RecordView()], scorecards=1, traces=1) == ()
    assert check_run([RecordView()], scorecards=2, traces=1) == ("record counts differ: 1/2/1",)
