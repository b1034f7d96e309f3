import pytest
from pydantic import ValidationError

from parley.bus.contracts.deliberation.regimes import (
    RegimeOverrides,
    Theta,
    params_for,
    warnings_for,
)


@pytest.mark.parametrize(
    ("theta", "d_min", "max_iterations"),
    [
        (Theta.L0, 0, 1),
        (Theta.L1, 0, 5),
        (Theta.L2, 4, 5),
        (Theta.L3, 6, 12),
        (Theta.L4, 8, 16),
    ],
)
def test_defaults_by_regime(theta: Theta, d_min: int, max_iterations: int) -> None:
    params = params_for(theta)
    assert (params.d_min, params.max_iterations) == (d_min, max_iterations)
    assert warnings_for(params) == ()


def test_defaults_of_every_regime() -> None:
    common = params_for(Theta.L3).model_dump(exclude={"theta", "d_min", "max_iterations"})
    assert common == {
        "decision_stability_delta": 0.10,
        "confidence_threshold": 0.80,
        "k_min": 2,
        "min_candidates": 3,
        "verification_threshold": 0.70,
        "margin_delta": 0.10,
        "orthogonality_epsilon": 0.15,
        "coverage_delta": 0.10,
        "cooldown": 2,
        "d_floor": 1,
        "truly_saturated_checks_sensitivity": False,
    }


@pytest.mark.parametrize(
    ("theta", "given", "warned"),
    [
        (Theta.L1, {"d_min": 1}, ["d_min 1 is outside the range of L1 (0)"]),
        (Theta.L2, {"d_min": 3}, []),
        (Theta.L2, {"d_min": 5}, ["d_min 5 is outside the range of L2 (3 to 4)"]),
        (Theta.L3, {"d_min": 4}, ["d_min 4 is outside the range of L3 (5 to 7)"]),
        (Theta.L3, {"d_min": 0}, ["d_min 0 is outside the range of L3 (5 to 7)"]),
        (Theta.L4, {"d_min": 10}, []),
        (Theta.L4, {"d_min": 11}, ["d_min 11 is outside the range of L4 (7 to 10)"]),
        (
            Theta.L3,
            {"cooldown": 1},
            ["cooldown 1 is discouraged: a single saturated iteration may be chance"],
        ),
        (Theta.L3, {"cooldown": 3}, []),
    ],
)
def test_unusual_values_are_accepted_with_a_warning(
    theta: Theta, given: dict[str, int], warned: list[str]
) -> None:
    params = params_for(theta, RegimeOverrides.model_validate(given))
    assert {key: getattr(params, key) for key in given} == given
    assert list(warnings_for(params)) == warned


def test_a_symbol_stands_for_its_parameter() -> None:
    symbols = {
        "δ_dec": 0.2,
        "τ_conf": 0.3,
        "N_min": 4,
        "τ_ver": 0.5,
        "δ_margin": 0.6,
        "ε": 0.7,
        "δ_cov": 0.8,
        "w": 3,
        "D_min": 7,
    }
    overrides = RegimeOverrides.model_validate(symbols)
    assert overrides == RegimeOverrides(
        decision_stability_delta=0.2,
        confidence_threshold=0.3,
        min_candidates=4,
        verification_threshold=0.5,
        margin_delta=0.6,
        orthogonality_epsilon=0.7,
        coverage_delta=0.8,
        cooldown=3,
        d_min=7,
    )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"cooldown": 0}, "greater than or equal to 1"),
        ({"max_iterations": 0}, "greater than or equal to 1"),
        ({"d_min": -1}, "greater than or equal to 0"),
        ({"orthogonality_epsilon": 1.5}, "less than or equal to 1"),
        ({"orthogonality_epsilon": float("nan")}, "finite number"),
        ({"orthogonality_epsilon": "0.2"}, "valid number"),
        ({"cooldown": True}, "valid integer"),
        ({"cooldown": 2, "w": 3}, "cooldown is given twice"),
        ({"patience": 2}, "Extra inputs are not permitted"),
    ],
)
def test_impossible_values_are_refused(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        RegimeOverrides.model_validate(given)
