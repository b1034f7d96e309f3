"""
Other parameters for debates that are over: what `--set`, `--preset` and `--sweep` of backtest mean.

A value is laid over what the debate was recorded with; everything that is not named stays. A key
counts for the panels that know it and leaves the others as they are.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

from typing_extensions import override

from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.panel_files import panel_files_of
from parley.configs.panels import Override, parse_sets
from parley.configs.protocols.verdict_overrides import worth_naming
from parley.configs.protocols.verdicts import briefs_presets
from parley.console.lab.kind import AS_IT_IS, LABS, lab_of

_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Changes:
    """
    `preset` is one of the brief's; what is set counts on top of it, and on top of that `variant`:
    what the lab varies, and the name it has there.
    """

    overrides: tuple[Override, ...] = ()
    preset: str | None = None
    variant: tuple[str, str] | None = None

    def of(self, panel: Panel) -> Panel:
        """Raises BadInput with one line for each mistake."""
        recorded = panel_files_of(panel.protocol).recorded
        if recorded is None:
            raise BadInput(f"{panel.name}: its protocol {panel.protocol!r} has no parameters")
        known = set(recorded.keys(panel))
        own = [one for one in self.overrides if one.key in known]
        changed = recorded.change(panel, own, self.preset)
        if self.variant is None or panel.protocol not in LABS:
            return changed
        varied, name = self.variant
        return lab_of(changed).variants(changed)[varied][name]

    @override
    def __str__(self) -> str:
        preset = [f"preset {self.preset}"] if self.preset is not None else []
        return ", ".join([*preset, *(f"{one.key}={_spelt(one.value)}" for one in self.overrides)])


def _spelt(value: object) -> str:
    """As YAML takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Values that are no numbers have no curve: they are names of rules, for example."""

    key: str
    values: tuple[float | int | str, ...]

    def points(self, base: Changes) -> list[tuple[float | int | str, Changes]]:
        origin = f"--sweep {self.key}"
        kept = tuple(one for one in base.overrides if one.key != self.key)
        return [
            (value, replace(base, overrides=(*kept, Override(self.key, value, origin))))
            for value in self.values
        ]


def read_changes(sets: Iterable[str], preset: str | None) -> Changes:
    if preset is not None and preset not in briefs_presets():
        raise BadInput(f"--preset: {name_unknown('preset', preset, briefs_presets())}")
    return Changes(tuple(parse_sets(sets)), preset)


def read_sweep(text: str) -> Sweep:
    """`key=from..to:step`, both ends included, or `key=a,b,c` of numbers or names."""
    key, equals, given = text.partition("=")
    try:
        values = _range(given) if ".." in given else [_value(one) for one in given.split(",")]
    except (InvalidOperation, ValueError):
        values = []
    if not equals or not key.strip() or not values:
        raise BadInput(
            f"--sweep {text}: should be key=from..to:step or key=a,b,c,"
            " for example consensus_threshold=0.1..0.5:0.05"
        )
    if len(values) > _MOST_POINTS:
        raise BadInput(f"--sweep {text}: {len(values)} values, more than {_MOST_POINTS}")
    numbers = (one if isinstance(one, str) else _number(one) for one in values)
    return Sweep(key.strip(), tuple(numbers))


def variants_of(panels: Iterable[Panel]) -> dict[str, tuple[str, str]]:
    """Every stop and decide rule that the lab compares, by a name for people."""
    found: dict[str, tuple[str, str]] = {}
    for panel in panels:
        if panel.protocol in LABS:
            for varied in ("decide", "stop"):
                for name in lab_of(panel).variants(panel)[varied]:
                    if name != AS_IT_IS:
                        found.setdefault(f"{varied}: {name}", (varied, name))
    return found


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


def _known_keys(panel: Panel) -> Sequence[str]:
    recorded = panel_files_of(panel.protocol).recorded
    return recorded.keys(panel) if recorded is not None else ()


def _value(text: str) -> Decimal | str:
    """A number, or the name of a rule. Raises ValueError for neither."""
    try:
        return Decimal(text)
    except InvalidOperation:
        if not text.strip().isidentifier():
            raise ValueError(text) from None
        return text.strip()


def _range(text: str) -> Sequence[Decimal | str]:
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
