"""
Other parameters for debates that are over: what `--set`, `--preset` and `--sweep` of backtest mean.

A value is laid over what the debate was recorded with; everything that is not named stays. A key
counts for the panels that know it and leaves the others as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from parley.bus.contracts.absa.panel import AbsaPanel
from parley.bus.contracts.absa.params import AbsaParams, OverrideThresholds
from parley.bus.contracts.deliberation.panel import DeliberationPanel
from parley.bus.contracts.deliberation.regimes import SYMBOLS, RegimeOverrides, Theta, params_for
from parley.bus.contracts.panel import Panel
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.bus.contracts.verdicts.rules import ANY, Cobra
from parley.bus.errors import BadInput
from parley.configs.absa_thresholds import override_thresholds
from parley.configs.mistakes import explain
from parley.configs.names import name_unknown
from parley.configs.panels import Override, panel_path, parse_sets, read_panel
from parley.configs.protocols.verdict_overrides import known_keys, lay_over, worth_naming
from parley.configs.protocols.verdicts import VerdictPanelFile
from parley.coordinator.core.endings import Ending, ending_of
from parley.coordinator.core.state import DebateState
from parley.coordinator.protocols.verdicts.cobra import CobraAlgorithm

Checked = TypeVar("Checked", bound=BaseModel)

_SHORT = {
    "early_stop": "debate.early_stop",
    "rounds": "debate.rounds",
    "stalemate_threshold": "debate.stalemate_threshold",
    "high_confidence_threshold": "debate.high_confidence_threshold",
    **{name: f"debate_override.{name}" for name in OverrideThresholds.model_fields},
}
# Only what leaves the personas as they are: nobody can be asked any more.
_ABSA = (
    "enable_stage2",
    "enable_moderator",
    "enable_debate",
    "enable_debate_override",
    "adopt_gate",
    "moderator_respects_adoption",
    "polarity_repair",
    "drop_tuple_hint_mode",
    "memory_contradiction_gate",
    "override_profile",
    *_SHORT.values(),
)
_PRESET_KEYS = {
    "max_rounds",
    "consensus_threshold",
    "stalemate_threshold",
    "high_confidence_threshold",
}
_PLAIN = ("quorum", "visibility")
_MOST_POINTS = 200
# Let COBRA choose.
AUTO = "auto"
BRIEFS_PANEL = "forensic"


@dataclass(frozen=True, slots=True)
class Changes:
    """`preset` is one of the brief's; what is set counts on top of it."""

    overrides: tuple[Override, ...] = ()
    preset: str | None = None
    # Who merges the last statements of a debate of verdicts: None the manager, as the rules have it.
    cobra: str | None = None

    def ending(self, state: DebateState) -> Ending:
        return ending_of(state)

    def of(self, panel: Panel) -> Panel:
        """Raises BadInput with one line for each mistake."""
        match panel:
            case VerdictPanel():
                return _verdicts(panel, self)
            case AbsaPanel():
                return _aspects(panel, self.overrides)
            case DeliberationPanel():
                return _deliberation(panel, self.overrides)
            case _:
                raise BadInput(f"{panel.name}: its protocol {panel.protocol!r} has no parameters")

    @override
    def __str__(self) -> str:
        preset = [f"preset {self.preset}"] if self.preset is not None else []
        cobra = [f"COBRA {self.cobra}"] if self.cobra is not None else []
        return ", ".join([*preset, *(f"{one.key}={one.value}" for one in self.overrides), *cobra])


@dataclass(frozen=True, slots=True)
class Sweep:
    key: str
    values: tuple[float | int, ...]

    def points(self, base: Changes) -> list[tuple[float | int, Changes]]:
        origin = f"--sweep {self.key}"
        kept = tuple(one for one in base.overrides if one.key != self.key)
        return [
            (value, replace(base, overrides=(*kept, Override(self.key, value, origin))))
            for value in self.values
        ]


@cache
def presets() -> Mapping[str, VerdictParams]:
    """The brief's, which its own panel states."""
    content, _ = read_panel(panel_path(BRIEFS_PANEL))
    assert isinstance(content, VerdictPanelFile)
    return {name: content.params_of(name) for name in content.preset_names}


def read_changes(sets: Iterable[str], preset: str | None, cobra: str | None = None) -> Changes:
    algorithms = (AUTO, *CobraAlgorithm)
    if cobra is not None and cobra not in algorithms:
        raise BadInput(f"--cobra: {name_unknown('algorithm', cobra, algorithms)}")
    if preset is not None and preset not in presets():
        raise BadInput(f"--preset: {name_unknown('preset', preset, presets())}")
    return Changes(tuple(parse_sets(sets)), preset, cobra)


def read_sweep(text: str) -> Sweep:
    """`key=from..to:step`, both ends included, or `key=a,b,c`."""
    key, equals, given = text.partition("=")
    try:
        values = _range(given) if ".." in given else [Decimal(one) for one in given.split(",")]
    except (InvalidOperation, ValueError):
        values = []
    if not equals or not key.strip() or not values:
        raise BadInput(
            f"--sweep {text}: should be key=from..to:step or key=a,b,c,"
            " for example consensus_threshold=0.1..0.5:0.05"
        )
    if len(values) > _MOST_POINTS:
        raise BadInput(f"--sweep {text}: {len(values)} values, more than {_MOST_POINTS}")
    return Sweep(key.strip(), tuple(map(_number, values)))


def check(changes: Sequence[Changes], panels: Sequence[Panel]) -> None:
    """Raises BadInput with every mistake there is: unknown keys and unusable values."""
    keys = {key for panel in panels for key in _known_keys(panel)}
    mistakes = [
        f"{one.origin}: {name_unknown('key', one.key, worth_naming(sorted(keys)))}"
        for change in changes
        for one in change.overrides
        if one.key not in keys
    ]
    for change in changes:
        for panel in _one_of_each_kind(panels):
            try:
                change.of(panel)
            except BadInput as error:
                mistakes += str(error).splitlines()
    if mistakes:
        raise BadInput("\n".join(dict.fromkeys(mistakes)))


def _one_of_each_kind(panels: Sequence[Panel]) -> list[Panel]:
    """What can be wrong with a value depends on the protocol and on who sits on the panel."""
    return list({(panel.protocol, panel.roster): panel for panel in panels}.values())


def _known_keys(panel: Panel) -> list[str]:
    match panel:
        case VerdictPanel():
            return known_keys(dict(panel), _PLAIN)
        case AbsaPanel():
            return [*_ABSA, *_SHORT]
        case DeliberationPanel():
            return [*RegimeOverrides.model_fields, *SYMBOLS, "quorum", "theta"]
        case _:
            return []


def _own(panel: Panel, overrides: Iterable[Override]) -> list[Override]:
    known = set(_known_keys(panel))
    return [one for one in overrides if one.key in known]


def _verdicts(panel: VerdictPanel, changes: Changes) -> VerdictPanel:
    own = _own(panel, changes.overrides)
    data: dict[str, object] = {**dict(panel), "params": panel.params.model_dump()}
    if changes.preset is not None:
        said = presets()[changes.preset].model_dump(include=_PRESET_KEYS)
        own = [*(Override(key, value, "--preset") for key, value in said.items()), *own]
        data["preset"] = changes.preset
    if changes.cobra is not None:
        merged = Cobra.model_validate({"algorithm": changes.cobra})
        data["decide"] = {ANY: merged, "budget": merged}
    return lay_over(data, own, [], "the recording", _PLAIN)


def _aspects(panel: AbsaPanel, overrides: Iterable[Override]) -> AbsaPanel:
    own = [Override(_SHORT.get(one.key, one.key), one.value, one.origin) for one in overrides]
    own = _own(panel, own)
    params = panel.params.model_dump()
    thresholds = panel.override.model_dump(include=set(OverrideThresholds.model_fields))
    profile, custom = False, False
    for one in own:
        head, _, leaf = one.key.rpartition(".")
        if head == "debate_override":
            thresholds[leaf], custom = one.value, True
        elif head:
            params[head] = {**params[head], leaf: one.value}
        else:
            params[one.key] = one.value
        profile = profile or one.key == "override_profile"
    mistakes: list[str] = []
    limits = _try(OverrideThresholds, thresholds, own, mistakes)
    changed = _checked(AbsaParams, params, own, mistakes)
    override = panel.override
    if profile:
        override = override_thresholds(changed.model_copy(update={"debate_override": None}))
    if custom and limits is not None:
        named = {one.key.rpartition(".")[2] for one in own}
        laid_over = OverrideThresholds.model_validate(
            {
                **override.model_dump(include=set(OverrideThresholds.model_fields)),
                **limits.model_dump(include=named),
            }
        )
        override = override_thresholds(changed.model_copy(update={"debate_override": laid_over}))
    return panel.model_copy(update={"params": changed, "override": override})


def _deliberation(panel: DeliberationPanel, overrides: Iterable[Override]) -> DeliberationPanel:
    own = [
        Override(SYMBOLS.get(one.key, one.key), one.value, one.origin)
        for one in _own(panel, overrides)
    ]
    given = {one.key: one.value for one in own}
    theta = given.pop("theta", panel.params.theta)
    quorum = given.pop("quorum", panel.quorum)
    mistakes = _quorum_mistakes(own, len(panel.debaters))
    mistakes += [
        f"{one.origin}: {name_unknown('regime', str(theta), Theta)}"
        for one in own
        if one.key == "theta" and theta not in list(Theta)
    ]
    known = Theta(str(theta)) if theta in list(Theta) else panel.params.theta
    kept = panel.params.model_dump(exclude={"theta"})
    if known is not panel.params.theta:
        # Another regime has another dimension and another cap, unless they are named.
        del kept["d_min"], kept["max_iterations"]
    thresholds = _checked(RegimeOverrides, {**kept, **given}, own, mistakes)
    data = {**dict(panel), "params": params_for(known, thresholds), "quorum": quorum}
    return _checked(DeliberationPanel, data, own, [])


def _quorum_mistakes(own: Sequence[Override], seats: int) -> list[str]:
    return [
        f"{one.origin}: {one.value} of {seats} personas can never speak"
        for one in own
        if one.key == "quorum" and isinstance(one.value, int) and one.value > seats
    ]


def _checked(
    schema: type[Checked], data: Mapping[str, object], own: Sequence[Override], mistakes: list[str]
) -> Checked:
    """Raises BadInput with the mistakes so far and those in the data."""
    found = _try(schema, data, own, mistakes)
    if mistakes or found is None:
        raise BadInput("\n".join(mistakes))
    return found


def _try(
    schema: type[Checked], data: Mapping[str, object], own: Sequence[Override], mistakes: list[str]
) -> Checked | None:
    origins = {one.key.rpartition(".")[2]: one.origin for one in own}
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        mistakes += explain(
            error,
            schema,
            lambda place: origins.get(str(place[-1]) if place else "", "the recording"),
        )
        return None


def _range(text: str) -> list[Decimal]:
    ends, _, step = text.partition(":")
    first, last = (Decimal(one) for one in ends.split(".."))
    by = Decimal(step) if step else Decimal(1)
    if by <= 0 or last < first or not (first.is_finite() and last.is_finite()):
        return []
    count = int((last - first) / by) + 1
    return [first + by * number for number in range(min(count, _MOST_POINTS + 1))]


def _number(value: Decimal) -> float | int:
    return (
        int(value)
        if value == value.to_integral_value() and value.as_tuple().exponent == 0
        else float(value)
    )
