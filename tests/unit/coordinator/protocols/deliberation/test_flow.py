import pytest

from parley.bus.contracts.declaration import Sensitivity
from parley.bus.contracts.deliberation.regimes import (
    Candidate,
    Forcing,
    Iteration,
    RegimeOverrides,
    Theta,
    params_for,
)
from parley.coordinator.protocols.deliberation.decision import Need
from parley.coordinator.protocols.deliberation.observation import RegimeState
from parley.coordinator.protocols.deliberation.regime import Step, step
from parley.coordinator.protocols.deliberation.rules_io import RegimeRun, run_regime

L3 = params_for(Theta.L3)
SATURATED_BELOW = Iteration(d_current=5, orthogonality=0.1)
SETTLED = Iteration(d_current=6, orthogonality=0.1, delta_coverage=0.05, delta_sem=0.05)
ONCE_SATURATED = RegimeState(iterations=1, dimension=6, streak=1)
TRULY = Forcing(truly_saturated=True)


def run(*iterations: Iteration, theta: Theta = Theta.L3, **overrides: object) -> RegimeRun:
    return run_regime(theta, RegimeOverrides.model_validate(overrides), iterations)


def answered(iteration: Iteration, **answers: object) -> Iteration:
    return iteration.model_copy(update=answers)


def test_a_step_says_that_it_lacks_a_forcing_answer_and_goes_on_without() -> None:
    state, declaration, needs = step(RegimeState(), SATURATED_BELOW, L3)
    assert needs is Need.FORCING
    assert not declaration.terminates
    assert declaration.details.unmet == ("dimension",)
    assert (state.iterations, state.dimension, state.streak) == (1, 5, 1)


def test_a_step_says_that_it_lacks_the_sensitivity_and_counts_it_as_high() -> None:
    state, declaration, needs = step(ONCE_SATURATED, SETTLED, L3)
    assert needs is Need.SENSITIVITY
    assert not declaration.terminates
    assert declaration.termination_rationale.decision_sensitivity is Sensitivity.HIGH
    assert declaration.details.unmet == ("sensitivity",)
    assert state.streak == 0


def test_asking_again_with_the_answer_decides_the_same_iteration() -> None:
    decided = step(ONCE_SATURATED, answered(SETTLED, sensitivity=Sensitivity.LOW), L3)
    assert decided.needs is None
    assert decided.declaration.terminates
    assert decided.declaration.details.iteration == 2


@pytest.mark.parametrize(
    "iteration",
    [
        pytest.param(Iteration(d_current=3, orthogonality=0.6), id="new-axes-still-come"),
        pytest.param(Iteration(d_current=6, orthogonality=0.1), id="cooldown-not-over"),
        pytest.param(answered(SATURATED_BELOW, forcing=TRULY), id="answered"),
        pytest.param(Iteration(), id="nobody-judged"),
    ],
)
def test_nothing_is_asked_that_would_not_be_used(iteration: Iteration) -> None:
    assert step(RegimeState(), iteration, L3).needs is None


def test_an_answer_nobody_needed_is_not_used() -> None:
    unasked = answered(
        Iteration(d_current=6, orthogonality=0.6), forcing=TRULY, sensitivity=Sensitivity.LOW
    )
    declared = run(unasked).declarations[0]
    assert not declared.terminates
    assert declared.termination_rationale.decision_sensitivity is Sensitivity.HIGH
    assert declared.details.d_min_lowered is None


def test_an_iteration_nobody_judged_breaks_the_streak() -> None:
    ended = run(SETTLED, Iteration(), answered(SETTLED, sensitivity=Sensitivity.LOW))
    assert [each.details.saturation_streak for each in ended.declarations] == [1, 0, 1]
    assert ended.stopped_at is None


@pytest.mark.parametrize("answer", ["risk", "Risk", "risk_high", "risk_cost"])
def test_forcing_that_names_a_known_axis_counts_as_truly_saturated(answer: str) -> None:
    ended = run(Iteration(axes=("risk", "cost")), Iteration(axes=(), forcing=Forcing(axis=answer)))
    last = ended.declarations[-1]
    assert (ended.stopped_at, last.details.rule) == (2, "truly_saturated")
    assert last.details.d_min_lowered is not None
    assert last.details.d_min_lowered.model_dump() == {"from": 6, "to": 2}
    assert answer in last.justification
    assert last.details.forced_perspective is None


def test_a_forced_axis_may_complete_the_dimension_but_the_cooldown_starts_anew() -> None:
    forced = answered(SATURATED_BELOW, forcing=Forcing(axis="ethics"))
    ended = run(forced, SETTLED, answered(SETTLED, sensitivity=Sensitivity.LOW))
    assert [each.details.unmet for each in ended.declarations] == [("cooldown",), ("cooldown",), ()]
    assert ended.stopped_at == 3
    assert ended.declarations[-1].termination_rationale.axes_explored == ("ethics",)


def test_the_floor_is_configurable() -> None:
    ended = run(answered(SATURATED_BELOW, forcing=TRULY), d_floor=6)
    assert (ended.stopped_at, ended.declarations[0].details.rule) == (None, "d_floor")


def saturated_with(sensitivity: Sensitivity | None) -> Step:
    params = params_for(Theta.L3, RegimeOverrides(truly_saturated_checks_sensitivity=True))
    return step(
        RegimeState(), answered(SATURATED_BELOW, forcing=TRULY, sensitivity=sensitivity), params
    )


@pytest.mark.parametrize(
    ("sensitivity", "needs"),
    [(Sensitivity.HIGH, None), (Sensitivity.MEDIUM, None), (None, Need.SENSITIVITY)],
)
def test_truly_saturated_can_be_made_to_need_a_low_sensitivity(
    sensitivity: Sensitivity | None, needs: Need | None
) -> None:
    state, declaration, asked = saturated_with(sensitivity)
    assert asked is needs
    assert not declaration.terminates
    assert declaration.details.unmet == ("dimension", "sensitivity")
    assert (declaration.details.d_min, declaration.details.d_min_lowered) == (6, None)
    assert state.streak == 0


def test_truly_saturated_with_a_low_sensitivity_stops() -> None:
    declaration = saturated_with(Sensitivity.LOW).declaration
    assert declaration.terminates
    assert declaration.termination_rationale.decision_sensitivity is Sensitivity.LOW
    assert "lowered from 6 to 5" in declaration.justification


@pytest.mark.parametrize(
    ("theta", "cap", "unmet"),
    [
        (Theta.L1, 5, ("decision_stability", "confidence")),
        (Theta.L2, 5, ("min_candidates", "verification", "margin")),
        (Theta.L3, 12, ("dimension", "orthogonality")),
        (Theta.L4, 16, ("dimension", "orthogonality")),
    ],
)
def test_a_run_that_learns_nothing_ends_at_its_cap(
    theta: Theta, cap: int, unmet: tuple[str, ...]
) -> None:
    ended = run(*[Iteration()] * (cap + 3), theta=theta)
    last = ended.declarations[-1]
    assert ended.stopped_at == len(ended.declarations) == cap
    assert (last.details.rule, last.details.forced_by_cap) == ("max_iterations", True)
    assert last.details.unmet == unmet
    assert [each.details.forced_by_cap for each in ended.declarations[:-1]] == [False] * (cap - 1)


def test_a_capped_verification_still_lists_the_losers() -> None:
    tied = Iteration(
        candidates=(
            Candidate(id="a", score=0.5),
            Candidate(id="b", score=0.6, reason="too dear"),
            Candidate(id="c", score=0.6),
        )
    )
    last = run(tied, theta=Theta.L2, max_iterations=1).declarations[0]
    assert last.details.rejected_candidates is not None
    assert [(each.id, each.reason) for each in last.details.rejected_candidates] == [
        ("c", "same score 0.6 as b, which was named first"),
        ("a", "score 0.5 is 0.1 below b"),
    ]
    assert last.details.values["best"] == "b"


def test_a_reason_given_for_a_loser_is_kept() -> None:
    losers = Iteration(
        candidates=(
            Candidate(id="a", score=0.9),
            Candidate(id="b", score=0.6, reason="too dear"),
            Candidate(id="c", score=0.6),
        )
    )
    rejected = run(losers, theta=Theta.L2).declarations[0].details.rejected_candidates
    assert rejected is not None
    assert rejected[0].reason == "too dear"


def test_candidates_accumulate_and_the_latest_score_stands() -> None:
    first = Iteration(candidates=(Candidate(id="a", score=0.5), Candidate(id="b", score=0.6)))
    second = Iteration(candidates=(Candidate(id="c", score=0.3),))
    third = Iteration(candidates=(Candidate(id="a", score=0.8),))
    ended = run(first, second, third, theta=Theta.L2)
    assert [each.details.values["phase"] for each in ended.declarations] == [
        "diverge",
        "converge",
        "converge",
    ]
    assert (ended.stopped_at, ended.declarations[-1].details.values["best"]) == (3, "a")


def test_a_single_candidate_is_measured_against_nothing() -> None:
    alone = Iteration(candidates=(Candidate(id="a", score=0.8),))
    ended = run(alone, theta=Theta.L2, min_candidates=1)
    assert ended.stopped_at == 1
    assert ended.declarations[0].details.values["margin"] == pytest.approx(0.8)
    assert ended.declarations[0].details.rejected_candidates == ()


def test_converging_regimes_know_no_axes() -> None:
    ended = run(Iteration(axes=("risk",), orthogonality=0.5, d_current=3), theta=Theta.L1)
    declared = ended.declarations[0]
    assert ended.records == ()
    assert declared.termination_rationale.axes_explored == ()
    assert declared.termination_rationale.orthogonality_score == 0.5
    assert declared.termination_rationale.axes_remaining_estimate == 0
    assert (declared.details.d_current, declared.details.d_min) == (None, None)


def test_an_estimate_of_the_remaining_axes_given_by_the_author_is_reported() -> None:
    declared = run(Iteration(d_current=4, orthogonality=0.6, axes_remaining_estimate=7))
    assert declared.declarations[0].termination_rationale.axes_remaining_estimate == 7


def test_thresholds_and_values_let_a_reader_redo_the_comparison() -> None:
    details = run(SETTLED).declarations[0].details
    assert details.values["saturation_streak"] == 1
    assert details.thresholds["cooldown"] == 2
    assert (details.values["orthogonality"], details.thresholds["orthogonality_epsilon"]) == (
        0.1,
        0.15,
    )
    assert (details.values["d_current"], details.thresholds["d_min"]) == (6, 6)


def test_a_margin_that_rounding_lifts_over_the_threshold_is_still_not_above_it() -> None:
    assert 0.8 - 0.7 > 0.1
    close = Iteration(
        candidates=tuple(Candidate(id=f"{score}", score=score) for score in (0.8, 0.7, 0.1))
    )
    assert run(close, theta=Theta.L2).declarations[0].details.unmet == ("margin",)


def test_forcing_that_repeats_an_axis_of_the_same_iteration_names_nothing_new() -> None:
    repeated = Iteration(axes=("ethics",), orthogonality=0.05, forcing=Forcing(axis="ethics"))
    details = run(repeated).declarations[0].details
    assert (details.rule, details.d_current) == ("truly_saturated", 1)


def test_a_declaration_names_the_facts_it_rests_on() -> None:
    resting = step(RegimeState(), SETTLED, L3, basis=(3, 4, 7)).declaration
    assert resting.details.basis == (3, 4, 7)
    assert step(RegimeState(), SETTLED, L3).declaration.details.basis == ()


def test_no_iteration_no_declaration() -> None:
    ended = run()
    assert (ended.declarations, ended.stopped_at) == ((), None)
