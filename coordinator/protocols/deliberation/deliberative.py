"""
L3 and L4: explore until nothing independent is added, then ask whether it could still matter.

Below D_min a saturated iteration leads to perspective forcing; from D_min on, saturation has to
last for the cooldown, the picture has to be stable, and the decision insensitive to what is
missing. A decision lists only the checks its path came to.
"""

from dataclasses import replace

from pydantic import JsonValue

from parley.bus.contracts.declaration import DMinLowered, Sensitivity
from parley.bus.contracts.deliberation.regimes import TRULY_SATURATED, RegimeParams
from parley.coordinator.core.checks import check
from parley.coordinator.protocols.deliberation.decision import (
    Check,
    Compared,
    Decision,
    Effects,
    Need,
    Predicate,
    comparisons,
    is_below,
    reaches,
    sentence,
    unmet,
)
from parley.coordinator.protocols.deliberation.observation import Observation


def decide_deliberation(seen: Observation, params: RegimeParams) -> Decision:
    dimension = reaches("dimension", "d_current", seen.d_current, "d_min", params.d_min)
    orthogonality = is_below(
        "orthogonality",
        "orthogonality",
        seen.orthogonality,
        "orthogonality_epsilon",
        params.orthogonality_epsilon,
    )
    checks = (dimension, orthogonality)
    if dimension.met:
        return _judge_saturation(seen, params, checks)
    if not orthogonality.met:
        return _go_on(seen, params, "dimension", checks)
    return _force_perspective(seen, params, checks)


def _judge_saturation(
    seen: Observation, params: RegimeParams, checks: tuple[Check, ...]
) -> Decision:
    cooldown = reaches("cooldown", "saturation_streak", seen.streak, "cooldown", params.cooldown)
    checks = (*checks, cooldown)
    if not cooldown.met:
        return _go_on(seen, params, unmet(checks)[0], checks)
    settled = _coverage_or_stability(seen, params)
    checks = (*checks, settled)
    if not settled.met:
        return _go_on(seen, params, settled.name, checks)
    sensitivity = _low_sensitivity(seen)
    checks = (*checks, sensitivity)
    if not sensitivity.met:
        return _set_saturation_aside(seen, params, checks)
    held = _go_on(seen, params, "decision_sufficiency", checks)
    return replace(held, stops=True, sensitivity=seen.sensitivity)


def _force_perspective(
    seen: Observation, params: RegimeParams, checks: tuple[Check, ...]
) -> Decision:
    if seen.new_perspective is not None:
        return _take_perspective(seen, params, checks, seen.new_perspective)
    if seen.forcing is not None:
        return _truly_saturated(seen, params, checks)
    remark = f"perspective forcing has no answer, neither an axis nor {TRULY_SATURATED}"
    unanswered = _go_on(seen, params, "perspective_forcing", checks, remark)
    return replace(unanswered, needs=Need.FORCING)


def _take_perspective(
    seen: Observation, params: RegimeParams, checks: tuple[Check, ...], axis: str
) -> Decision:
    raised = seen.d_current + 1
    remark = f"the new axis {axis!r} raises D to {raised}"
    return replace(
        _go_on(seen, params, "perspective_forcing", checks, remark),
        unmet=("dimension",) if raised < params.d_min else ("cooldown",),
        effects=Effects(forced_axis=axis, streak_reset=True),
    )


def _truly_saturated(
    seen: Observation, params: RegimeParams, checks: tuple[Check, ...]
) -> Decision:
    answer = _saturated_answer(seen)
    enough = seen.d_current >= params.d_floor
    floor = check("d_current", seen.d_current, ">=", params.d_floor, enough)
    if not enough:
        remark = f"{answer}, but D_min is never lowered below d_floor {params.d_floor}"
        low = _go_on(seen, params, "d_floor", checks, remark)
        return replace(low, checks=(*low.checks, floor))
    if params.truly_saturated_checks_sensitivity:
        sensitivity = _low_sensitivity(seen)
        checks = (*checks, sensitivity)
        if not sensitivity.met:
            return _set_saturation_aside(seen, params, checks)
    remark = f"{answer}; D_min is lowered from {params.d_min} to {seen.d_current}"
    saturated = _go_on(seen, params, "truly_saturated", checks, remark)
    return replace(
        saturated,
        checks=(*saturated.checks, floor),
        stops=True,
        unmet=(),
        effects=Effects(d_min_lowered=DMinLowered(from_=params.d_min, to=seen.d_current)),
        sensitivity=seen.sensitivity if params.truly_saturated_checks_sensitivity else None,
    )


def _saturated_answer(seen: Observation) -> str:
    if seen.forcing is None or seen.forcing.axis is None:
        return f"the answer is {TRULY_SATURATED}"
    return f"the answer {seen.forcing.axis!r} is no new axis, which counts as {TRULY_SATURATED}"


def _set_saturation_aside(
    seen: Observation, params: RegimeParams, checks: tuple[Check, ...]
) -> Decision:
    """What is missing could overturn the decision, so saturation has to be shown anew."""
    remark = "saturation is set aside and the cooldown starts anew"
    return replace(
        _go_on(seen, params, "sensitivity", checks, remark),
        effects=Effects(streak_reset=True),
        needs=Need.SENSITIVITY if seen.sensitivity is None else None,
        sensitivity=seen.sensitivity or Sensitivity.HIGH,
    )


def _go_on(
    seen: Observation,
    params: RegimeParams,
    rule: str,
    checks: tuple[Check, ...],
    remark: str = "",
) -> Decision:
    return Decision(
        stops=False,
        rule=rule,
        because="; ".join(filter(None, (sentence(checks), remark))),
        unmet=unmet(checks),
        checks=comparisons(checks),
        compared=_compared(seen, params),
    )


def _coverage_or_stability(seen: Observation, params: RegimeParams) -> Check:
    name: Predicate = "coverage_or_stability"
    coverage = is_below(
        name, "delta_coverage", seen.delta_coverage, "coverage_delta", params.coverage_delta
    )
    stability = is_below(
        name,
        "delta_sem",
        seen.delta_sem,
        "decision_stability_delta",
        params.decision_stability_delta,
    )
    text = f"{coverage.text} or {stability.text}"
    met = coverage.met or stability.met
    return Check(name, met, text, (*coverage.made, *stability.made))


def _low_sensitivity(seen: Observation) -> Check:
    answer = seen.sensitivity or f"{Sensitivity.HIGH} (no answer counts as such)"
    met = seen.sensitivity is Sensitivity.LOW
    relation = "is" if met else "is not low but"
    given = (seen.sensitivity or Sensitivity.HIGH).value
    made = check("decision_sensitivity", given, "==", Sensitivity.LOW.value, met)
    return Check("sensitivity", met, f"decision sensitivity {relation} {answer}", (made,))


def _compared(seen: Observation, params: RegimeParams) -> Compared:
    """Figures as they were compared, and beside them what was given to arrive at them."""
    return Compared(
        thresholds={
            "d_min": params.d_min,
            "d_floor": params.d_floor,
            "orthogonality_epsilon": params.orthogonality_epsilon,
            "cooldown": params.cooldown,
            "coverage_delta": params.coverage_delta,
            "decision_stability_delta": params.decision_stability_delta,
            "truly_saturated_checks_sensitivity": params.truly_saturated_checks_sensitivity,
            "max_iterations": params.max_iterations,
        },
        values={
            "iteration": seen.iteration,
            "d_current": seen.d_current,
            "d_current_given": seen.d_current_given,
            "orthogonality": seen.orthogonality,
            "orthogonality_given": seen.orthogonality_given,
            "orthogonality_lexical": seen.orthogonality_lexical,
            "saturation_streak": seen.streak,
            "delta_coverage": seen.delta_coverage,
            "delta_sem": seen.delta_sem,
            "sensitivity_given": seen.sensitivity,
            "forcing_given": _forcing_given(seen),
        },
    )


def _forcing_given(seen: Observation) -> JsonValue:
    return None if seen.forcing is None else seen.forcing.axis or TRULY_SATURATED
