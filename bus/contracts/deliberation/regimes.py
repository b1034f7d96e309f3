"""
What one iteration of a node reports, and the parameters that decide whether it goes on.

The regimes: L0 and L1 converge on an answer, L2 verifies candidates, L3 and L4 deliberate until
the grounds suffice. How an odd axis is handled:

- blanks around a name are dropped; an empty name, one without a letter or digit, one longer than
  200 characters and the answers `SATURATED` and `TRULY_SATURATED` in place of a name are errors;
- a name given twice, another value of a known axis and a combination of known axes are legal and
  counted once (the rules of similarity decide, not this contract).
"""

from typing import Annotated, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from parley.bus.contracts.base import Contract, Real, Share, Text, Whole, Word, only_finite
from parley.bus.contracts.declaration import Sensitivity, TerminationType

TRULY_SATURATED = "TRULY_SATURATED"
SATURATED = "SATURATED"
# Said of a conclusion by its author: it stands as it was, so it moved by nothing.
STABLE = "STABLE"


class Regime(Word):
    CONVERGENT = "convergent"
    VERIFICATORY = "verificatory"
    DELIBERATIVE = "deliberative"


class Theta(Word):
    """How open the question is, from a yes or no (L0) to one whose frame is itself in doubt (L4)."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"

    @property
    def regime(self) -> Regime:
        return _PROFILES[self].regime

    @property
    def termination_type(self) -> TerminationType:
        return _TERMINATION_TYPES[self.regime]

    @property
    def tracks_axes(self) -> bool:
        return self.regime is not Regime.CONVERGENT


class _Profile(NamedTuple):
    regime: Regime
    d_min: int
    d_min_range: tuple[int, int]
    max_iterations: int


_PROFILES = {
    Theta.L0: _Profile(Regime.CONVERGENT, 0, (0, 0), 1),
    Theta.L1: _Profile(Regime.CONVERGENT, 0, (0, 0), 5),
    Theta.L2: _Profile(Regime.VERIFICATORY, 4, (3, 4), 5),
    Theta.L3: _Profile(Regime.DELIBERATIVE, 6, (5, 7), 12),
    Theta.L4: _Profile(Regime.DELIBERATIVE, 8, (7, 10), 16),
}
_TERMINATION_TYPES = {
    Regime.CONVERGENT: TerminationType.ANSWER_CONVERGENCE,
    Regime.VERIFICATORY: TerminationType.VERIFICATION_PASS,
    Regime.DELIBERATIVE: TerminationType.DECISION_SUFFICIENCY,
}

# A number is a number here: neither true nor "0.3" passes for one.
StrictShare = Annotated[Share, Field(strict=True)]
Dimension = Annotated[int, Field(ge=0, le=10_000, strict=True)]
Count = Annotated[int, Field(ge=1, le=10_000, strict=True)]


class RegimeThresholds(Contract):
    """The parameters whose default is the same in every regime."""

    decision_stability_delta: StrictShare = 0.10
    confidence_threshold: StrictShare = 0.80
    k_min: Count = 2
    min_candidates: Count = 3
    verification_threshold: StrictShare = 0.70
    margin_delta: StrictShare = 0.10
    orthogonality_epsilon: StrictShare = 0.15
    coverage_delta: StrictShare = 0.10
    cooldown: Count = 2
    # TRULY_SATURATED never lowers D_min below this.
    d_floor: Count = 1
    # Whether TRULY_SATURATED still needs a low sensitivity before it may end the run.
    truly_saturated_checks_sensitivity: bool = False


# The specification's symbols, accepted in place of the names.
SYMBOLS = {
    "δ_dec": "decision_stability_delta",
    "τ_conf": "confidence_threshold",
    "N_min": "min_candidates",
    "τ_ver": "verification_threshold",
    "δ_margin": "margin_delta",
    "delta_margin": "margin_delta",
    "ε": "orthogonality_epsilon",
    "δ_cov": "coverage_delta",
    "w": "cooldown",
    "D_min": "d_min",
}


class RegimeOverrides(RegimeThresholds):
    """What a panel, a flag or a line of the filter sets; the rest depends on the regime."""

    d_min: Dimension | None = None
    max_iterations: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _symbols_become_names(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        named: dict[object, object] = {}
        for key, value in given.items():
            name = SYMBOLS.get(key, key) if isinstance(key, str) else key
            if name in named:
                raise ValueError(f"{name} is given twice, once as a symbol")
            named[name] = value
        return named


class RegimeParams(RegimeThresholds):
    """Every parameter of one run, resolved for its regime."""

    theta: Theta
    d_min: Dimension
    max_iterations: Count


DEFAULTS = RegimeOverrides()


def params_for(theta: Theta, overrides: RegimeOverrides = DEFAULTS) -> RegimeParams:
    profile = _PROFILES[theta]
    return RegimeParams(
        theta=theta,
        d_min=profile.d_min if overrides.d_min is None else overrides.d_min,
        max_iterations=overrides.max_iterations or profile.max_iterations,
        **overrides.model_dump(exclude={"d_min", "max_iterations"}),
    )


def warnings_for(params: RegimeParams) -> tuple[str, ...]:
    """Values that are accepted though they are not advised, one sentence each."""
    low, high = _PROFILES[params.theta].d_min_range
    warnings = []
    if not low <= params.d_min <= high:
        advised = f"{low} to {high}" if low != high else f"{low}"
        warnings.append(f"d_min {params.d_min} is outside the range of {params.theta} ({advised})")
    if params.cooldown == 1:
        warnings.append("cooldown 1 is discouraged: a single saturated iteration may be chance")
    return tuple(warnings)


def _names_an_axis(name: str) -> str:
    if name in (SATURATED, TRULY_SATURATED):
        raise ValueError(f"{name} is an answer, not the name of an axis")
    if not any(character.isalnum() for character in name):
        raise ValueError("an axis needs a name with at least one letter or digit")
    return name


AxisName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_names_an_axis),
]


class Candidate(Contract):
    """`reason` says why it falls behind, should it not be selected."""

    id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    score: StrictShare
    reason: Text = ""


class Forcing(Contract):
    """The answer to perspective forcing: one new axis, or the text TRULY_SATURATED."""

    axis: AxisName | None = None
    truly_saturated: bool = False

    @model_validator(mode="before")
    @classmethod
    def _text_is_truly_saturated(cls, given: object) -> object:
        match given:
            case "TRULY_SATURATED":
                return {"truly_saturated": True}
            case str() | list():
                raise ValueError(f'a forcing answer is {{"axis": …}} or "{TRULY_SATURATED}"')
            case _:
                return given

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.axis is not None and self.truly_saturated:
            raise ValueError(f"contradictory forcing answer: an axis and {TRULY_SATURATED}")
        if self.axis is None and not self.truly_saturated:
            raise ValueError(f"a forcing answer names an axis or says {TRULY_SATURATED}")
        return self


def _stable_is_zero(given: object) -> object:
    return 0.0 if given == STABLE else given


LongText = Annotated[str, StringConstraints(max_length=200_000)]
Conclusion = Annotated[dict[str, JsonValue], AfterValidator(only_finite)] | LongText


class Iteration(Contract):
    """
    What is known of one iteration; every field is optional.

    A value given wins over one computed from `axes`, `text` or `conclusion`, with two bounds:
    `orthogonality` given together with axes is its author's own assessment and never exceeds what
    the axes themselves show, and `d_current` never falls below the dimension already reached.
    `axes` absent means nobody judged them; `axes` empty means that there were none.
    """

    axes: Annotated[tuple[AxisName, ...], Field(max_length=200)] | None = None
    orthogonality: StrictShare | None = None
    d_current: Dimension | None = None
    delta_coverage: StrictShare | None = None
    delta_sem: Annotated[StrictShare | None, BeforeValidator(_stable_is_zero)] = None
    confidence: StrictShare | None = None
    candidates: Annotated[tuple[Candidate, ...], Field(max_length=1000)] | None = None
    sensitivity: Sensitivity | None = None
    forcing: Forcing | None = None
    conclusion: Conclusion | None = None
    text: LongText | None = None
    axes_remaining_estimate: Dimension | None = None

    @model_validator(mode="after")
    def _candidates_differ(self) -> Self:
        ids = [candidate.id for candidate in self.candidates or ()]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"candidates given twice in one iteration: {', '.join(twice)}")
        return self


class AxesRecord(Contract):
    """
    The logical axes after one iteration.

    `d_current` is the length of `cumulative_axes` unless a dimension was given without the names.
    """

    iteration: Whole
    new_axes: tuple[str, ...]
    cumulative_axes: tuple[str, ...]
    orthogonality_score: Real | None
    d_current: Whole = Field(alias="D_current")
    d_min: Whole = Field(alias="D_min")
