from collections.abc import Mapping
from itertools import cycle, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.regimes import (
    Candidate,
    Forcing,
    Iteration,
    RegimeOverrides,
    Theta,
    params_for,
)
from parley.coordinator.core.tolerance import below
from parley.coordinator.protocols.deliberation.rules_io import RegimeRun, run_regime

modest = settings(deadline=None, max_examples=80)

# Few distinct values, so that equality with a threshold and repetition are common.
shares = st.sampled_from([0.0, 0.05, 0.1, 0.15, 0.3, 0.7, 0.8, 0.81, 1.0])
names = st.sampled_from(
    ["risk", "cost", "risk_cost", "risk_high", "law", "ethics", "timeHorizon", "high"]
)
maybe_shares = st.none() | shares
conclusions = st.sampled_from(["buy", "sell now", "STABLE", {"buy": True}, {"buy": False, "x": 1}])
candidate_lists = st.lists(
    st.builds(Candidate, id=st.sampled_from("abcd"), score=shares),
    max_size=4,
    unique_by=lambda candidate: candidate.id,
).map(tuple)
iterations = st.builds(
    Iteration,
    axes=st.none() | st.lists(names, max_size=4).map(tuple),
    orthogonality=maybe_shares,
    d_current=st.none() | st.integers(0, 12),
    delta_coverage=maybe_shares,
    delta_sem=maybe_shares,
    confidence=maybe_shares,
    candidates=st.none() | candidate_lists,
    sensitivity=st.none() | st.sampled_from(Sensitivity),
    forcing=st.none() | st.just(Forcing(truly_saturated=True)) | st.builds(Forcing, axis=names),
    conclusion=st.none() | conclusions,
    text=st.none() | st.sampled_from(["", "cost of law", "risk and cost", "새로운 관점"]),
)
overrides = st.builds(
    RegimeOverrides,
    cooldown=st.integers(1, 3),
    d_min=st.none() | st.integers(0, 10),
    orthogonality_epsilon=shares,
    truly_saturated_checks_sensitivity=st.booleans(),
    max_iterations=st.none() | st.integers(1, 6),
)
thetas = st.sampled_from(Theta)


@modest
@given(thetas, overrides, st.lists(iterations, max_size=8))
def test_every_iteration_is_declared_with_its_deciding_predicate(
    theta: Theta, given_params: RegimeOverrides, reported: list[Iteration]
) -> None:
    run = run_regime(theta, given_params, reported)
    assert len(run.declarations) == (run.stopped_at or len(reported))
    for place, declared in enumerate(run.declarations, start=1):
        details = declared.details
        assert details.iteration == place
        assert details.rule in declared.justification
        assert declared.terminates == (place == run.stopped_at)
        assert bool(details.unmet) == (not declared.terminates or details.forced_by_cap)
        assert all(
            name in declared.justification for name in details.unmet if details.forced_by_cap
        )
        assert (details.d_min_lowered is not None) == ("is lowered from" in declared.justification)


@modest
@given(thetas, overrides, st.lists(iterations, min_size=1, max_size=5))
def test_no_run_exceeds_its_cap(
    theta: Theta, given_params: RegimeOverrides, reported: list[Iteration]
) -> None:
    run = run_regime(theta, given_params, cycle(reported))
    assert run.stopped_at is not None
    assert run.stopped_at <= params_for(theta, given_params).max_iterations


@modest
@given(st.sampled_from([Theta.L2, Theta.L3, Theta.L4]), overrides, st.lists(iterations, max_size=8))
def test_the_dimension_never_falls_and_axes_are_never_forgotten(
    theta: Theta, given_params: RegimeOverrides, reported: list[Iteration]
) -> None:
    records = run_regime(theta, given_params, reported).records
    for before, after in pairwise(records):
        assert after.d_current >= before.d_current
        assert after.cumulative_axes == (*before.cumulative_axes, *after.new_axes)
    for record in records:
        assert len(set(record.cumulative_axes)) == len(record.cumulative_axes)


@modest
@given(overrides, st.lists(st.lists(names, max_size=4).map(tuple), max_size=10))
def test_the_dimension_is_the_number_of_axes_where_none_is_given(
    given_params: RegimeOverrides, axes: list[tuple[str, ...]]
) -> None:
    for record in run_regime(
        Theta.L4, given_params, (Iteration(axes=each) for each in axes)
    ).records:
        assert record.d_current == len(record.cumulative_axes)


# Dimension and orthogonality given, sensitivity always low: only w and epsilon are in question.
measured = st.builds(
    Iteration,
    d_current=st.integers(3, 9),
    orthogonality=shares,
    delta_coverage=shares,
    delta_sem=shares,
    sensitivity=st.just(Sensitivity.LOW),
)
deliberative = st.sampled_from([Theta.L3, Theta.L4])


def end(run: RegimeRun) -> int:
    return run.stopped_at or len(run.declarations) + 1


@modest
@given(deliberative, st.integers(1, 4), st.integers(1, 4), st.lists(measured, max_size=17))
def test_a_longer_cooldown_never_stops_earlier(
    theta: Theta, one: int, other: int, reported: list[Iteration]
) -> None:
    short, long = sorted((one, other))
    impatient = run_regime(theta, RegimeOverrides(cooldown=short), reported)
    patient = run_regime(theta, RegimeOverrides(cooldown=long), reported)
    assert end(patient) >= end(impatient)


@modest
@given(deliberative, shares, shares, st.lists(measured, max_size=17))
def test_a_lower_epsilon_never_stops_earlier(
    theta: Theta, one: float, other: float, reported: list[Iteration]
) -> None:
    low, high = sorted((one, other))
    strict = run_regime(theta, RegimeOverrides(orthogonality_epsilon=low), reported)
    lax = run_regime(theta, RegimeOverrides(orthogonality_epsilon=high), reported)
    assert end(strict) >= end(lax)


@modest
@given(deliberative, overrides, st.lists(measured, max_size=12))
def test_a_reader_can_redo_the_decision_from_the_declaration_alone(
    theta: Theta, given_params: RegimeOverrides, reported: list[Iteration]
) -> None:
    for declared in run_regime(theta, given_params, reported).declarations:
        values = numbers(declared.details.values)
        thresholds = numbers(declared.details.thresholds)
        redone = (
            values["d_current"] >= thresholds["d_min"]
            and values["saturation_streak"] >= thresholds["cooldown"]
            and (
                below(values["delta_coverage"], thresholds["coverage_delta"])
                or below(values["delta_sem"], thresholds["decision_stability_delta"])
            )
        )
        assert redone == (declared.terminates and not declared.details.forced_by_cap)


def numbers(figures: Mapping[str, JsonValue]) -> dict[str, float]:
    return {key: value for key, value in figures.items() if isinstance(value, int | float)}
