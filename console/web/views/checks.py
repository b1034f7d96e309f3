"""
A declaration taken apart: which value was compared with which threshold, and how it went.

The values and thresholds are those that the declaration carries. A line of the tables says which
belong together and how they compare; the rules that decide are not here.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.bus.contracts.declaration import Sensitivity, TerminationDeclaration
from parley.console.transcript.text import one_line
from parley.console.transcript.words import WHY
from parley.console.web.views.parts import Check, Declared
from parley.coordinator.core.tolerance import above, at_least, below

_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": below,
    ">": above,
    "≥": at_least,
}


class _Line(NamedTuple):
    """`rules` are those of which this comparison is a part."""

    name: str
    value: str
    sign: str
    threshold: str
    rules: tuple[str, ...]


_VERDICTS = (
    _Line("disagreement", "disagreement", "<", "consensus_threshold", ("consensus_reached",)),
    _Line("majority", "majority_share", ">", "majority_share", ("consensus_reached",)),
    _Line("unchanged rounds", "unchanged_streak", "≥", "stalemate_threshold", ("stalemate",)),
    _Line(
        "confident groups",
        "confident_groups",
        "≥",
        "confident_groups",
        ("high_confidence_deadlock",),
    ),
    _Line("rounds played", "round", "≥", "max_rounds", ("no_progress", "max_rounds")),
)
_ABSA = (
    _Line("unchanged rounds", "unchanged_streak", "≥", "stalemate_threshold", ("stalemate",)),
    _Line("rounds played", "round", "≥", "rounds", ("no_progress", "max_rounds")),
)
_CONVERGENT = (
    _Line(
        "decision_stability",
        "delta_sem",
        "<",
        "decision_stability_delta",
        ("answer_convergence", "decision_stability"),
    ),
    _Line("min_iterations", "iteration", "≥", "k_min", ("answer_convergence", "min_iterations")),
    _Line(
        "confidence",
        "confidence",
        ">",
        "confidence_threshold",
        ("answer_convergence", "confidence"),
    ),
    _Line("cap", "iteration", "≥", "max_iterations", ("max_iterations",)),
)
_VERIFICATORY = (
    _Line(
        "min_candidates",
        "candidates",
        "≥",
        "min_candidates",
        ("verification_pass", "min_candidates"),
    ),
    _Line(
        "verification",
        "best_score",
        ">",
        "verification_threshold",
        ("verification_pass", "verification"),
    ),
    _Line("margin", "margin", ">", "margin_delta", ("verification_pass", "margin")),
    _Line("cap", "iteration", "≥", "max_iterations", ("max_iterations",)),
)
_SATURATION = ("decision_sufficiency", "truly_saturated", "perspective_forcing", "sensitivity")
_DELIBERATIVE = (
    _Line("dimension", "d_current", "≥", "d_min", ("decision_sufficiency", "dimension")),
    _Line(
        "orthogonality",
        "orthogonality",
        "<",
        "orthogonality_epsilon",
        (*_SATURATION, "orthogonality"),
    ),
    _Line(
        "cooldown",
        "saturation_streak",
        "≥",
        "cooldown",
        ("decision_sufficiency", "sensitivity", "cooldown"),
    ),
    _Line(
        "coverage",
        "delta_coverage",
        "<",
        "coverage_delta",
        ("decision_sufficiency", "coverage_or_stability"),
    ),
    _Line(
        "stability",
        "delta_sem",
        "<",
        "decision_stability_delta",
        ("decision_sufficiency", "coverage_or_stability"),
    ),
    _Line("cap", "iteration", "≥", "max_iterations", ("max_iterations",)),
)
_LINES: Mapping[str, tuple[_Line, ...]] = {
    "verdicts": _VERDICTS,
    "absa": _ABSA,
    "convergent": _CONVERGENT,
    "verificatory": _VERIFICATORY,
    "deliberative": _DELIBERATIVE,
}
_WORDS: Mapping[str, str] = {str(reason): words for reason, words in WHY.items()} | {
    "continue": "no rule ends the debate",
    "single_verdict": "one verdict is all that is asked for",
    "truly_saturated": "nothing new is left to be found",
    "perspective_forcing": "a perspective was forced",
    "d_floor": "the dimension is never lowered below its floor",
}


def declared(ordinal: int, declaration: TerminationDeclaration) -> Declared:
    details = declaration.details
    return Declared(
        ordinal=ordinal,
        iteration=details.iteration,
        status=declaration.termination_status,
        type=declaration.termination_type,
        rule=details.rule,
        rule_words=_WORDS.get(details.rule, f"{_spoken(details.rule)} is not met yet"),
        justification=one_line(declaration.justification),
        checks=checks_of(declaration),
        unmet=details.unmet,
        forced_by_cap=details.forced_by_cap,
        basis=details.basis,
    )


def checks_of(declaration: TerminationDeclaration) -> tuple[Check, ...]:
    """Only comparisons of which the declaration names both sides."""
    details = declaration.details
    found = [
        _compared(
            line, details.values[line.value], details.thresholds[line.threshold], details.rule
        )
        for line in _LINES.get(details.regime, ())
        if line.value in details.values and line.threshold in details.thresholds
    ]
    if details.regime == "absa" and "disputed_aspects" in details.values:
        found.insert(0, _nobody_disputes(details.values["disputed_aspects"], details.rule))
    sensitivity = declaration.termination_rationale.decision_sensitivity
    if sensitivity is not None:
        found.append(_insensitive(sensitivity, details.rule))
    return tuple(found)


def shown(value: JsonValue) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case list():
            return ", ".join(map(shown, value)) or "none"
        case dict():
            return ", ".join(f"{name} {shown(item)}" for name, item in value.items()) or "none"
        case _:
            return one_line(str(value))


def _compared(line: _Line, value: JsonValue, threshold: JsonValue, rule: str) -> Check:
    met: bool | None = None
    if isinstance(value, int | float) and isinstance(threshold, int | float):
        met = _SIGNS[line.sign](value, threshold)
    return Check(
        name=_spoken(line.name),
        value=shown(value),
        sign=line.sign,
        threshold=shown(threshold),
        met=met,
        decisive=rule in line.rules,
    )


def _nobody_disputes(disputed: JsonValue, rule: str) -> Check:
    return Check(
        name="disputed aspects",
        value=shown(disputed),
        sign="=",
        threshold="none",
        met=not disputed,
        decisive=rule == "consensus_reached",
    )


def _insensitive(sensitivity: Sensitivity, rule: str) -> Check:
    return Check(
        name="sensitivity",
        value=sensitivity.value,
        sign="=",
        threshold=Sensitivity.LOW.value,
        met=sensitivity is Sensitivity.LOW,
        decisive=rule in {"decision_sufficiency", "sensitivity"},
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ")
