"""
Panels as files, and how one of them becomes the panel of a debate.

The file's values are laid over by the preset's, those by the overrides (`--set k=v`); what comes
out is complete, so that the log alone explains the debate. The file's name is the panel's name; a
panel in the user's directory takes the place of a built-in one with the same name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from parley.bus.contracts.base import Share, Token
from parley.bus.contracts.panel import ManagedPanel, Panel
from parley.bus.contracts.registry import CONTRACTS
from parley.bus.contracts.verdicts.content import Label, PanelLabel
from parley.bus.contracts.verdicts.panel import VerdictPanel, VerdictParams
from parley.bus.errors import BadInput
from parley.configs.careful_yaml import parse_yaml
from parley.configs.files import read_mapping
from parley.configs.mistakes import Place, explain
from parley.configs.names import name_unknown
from parley.configs.protocols.absa import AbsaPanelFile, Setting, absa_panel
from parley.configs.protocols.deliberation import DeliberationFile, assemble_deliberation
from parley.configs.protocols.plain import PlainFile, assemble_plain, read_plain

BUILT_IN = Path(__file__).with_name("panels")
DEFAULT_PRESET = "default"
# Trust that older panels gave to an agent which is no more; harmless, so it is only reported.
_RETIRED_TRUST = "semantic"
_PLAIN_KEYS = ("deadline_s", "quorum")
_MANAGER = "manager"


class PanelFile(ManagedPanel):
    """A panel file's content: everybody who can sit on the panel, and the ready-made presets."""

    protocol: Literal["verdicts"]
    # Who sits on the panel unless a roster is given, and in which order; empty means everybody.
    order: tuple[Token, ...] = ()
    labels: Annotated[tuple[PanelLabel, ...], Field(min_length=2)]
    undecided: Label = "uncertain"
    params: VerdictParams = VerdictParams()
    presets: dict[Token, VerdictParams] = Field(default_factory=dict)
    trust: dict[Token, Share] = Field(default_factory=dict)
    quorum: int | None = Field(default=None, ge=1)
    # Where a manager sits without being asked for.
    manager_sits: Literal["with_models", "always"] = "with_models"

    @property
    def preset_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.presets, DEFAULT_PRESET)))

    def params_of(self, preset: str) -> VerdictParams:
        laid_over = self.presets.get(preset, VerdictParams()).model_dump(exclude_unset=True)
        return self.params.model_copy(update=laid_over)

    @property
    def usual_roster(self) -> tuple[str, ...]:
        return self.order or self.roster


# A panel file of any protocol.
AnyPanelFile = PanelFile | DeliberationFile | AbsaPanelFile | PlainFile
SCHEMAS: Mapping[str, type[AnyPanelFile]] = {
    "verdicts": PanelFile,
    "deliberation": DeliberationFile,
    "absa": AbsaPanelFile,
}


@dataclass(frozen=True, slots=True)
class Override:
    """One value somebody gave for this debate; `origin` is where, for error messages."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class Resolution:
    panel: Panel
    warnings: tuple[str, ...] = ()


def panel_paths(panels_dir: Path | None = None) -> dict[str, Path]:
    """Every panel there is, by name: the built-in ones, then the user's."""
    directories = [BUILT_IN]
    if panels_dir is not None:
        if not panels_dir.is_dir():
            raise BadInput(f"{panels_dir}: no such directory of panels")
        directories.append(panels_dir)
    return {path.stem: path for folder in directories for path in sorted(folder.glob("*.yaml"))}


def panel_path(name: str, panels_dir: Path | None = None) -> Path:
    paths = panel_paths(panels_dir)
    if name not in paths:
        raise BadInput(name_unknown("panel", name, paths))
    return paths[name]


def read_panel(path: Path) -> tuple[AnyPanelFile, tuple[str, ...]]:
    """The file's content and its warnings. Raises BadInput with one line for each mistake."""
    raw: dict[str, object] = {"name": path.stem, **read_mapping(path)}
    warnings: tuple[str, ...] = ()
    trust = raw.get("trust")
    if isinstance(trust, dict) and _RETIRED_TRUST in trust:
        raw["trust"] = {key: value for key, value in trust.items() if key != _RETIRED_TRUST}
        warnings = (f"{path}: trust.{_RETIRED_TRUST}: no such agent any more, ignored",)
    mistakes = [f"{path}: {mistake}" for mistake in _names_that_do_not_fit(raw, path.stem)]
    protocol = raw.get("protocol", "verdicts")
    if protocol not in CONTRACTS:
        unknown = name_unknown("protocol", str(protocol), CONTRACTS)
        raise BadInput(f"{path}: protocol: {unknown}")
    if protocol not in SCHEMAS:
        return read_plain(raw, str(protocol), path), warnings
    schema = SCHEMAS[str(protocol)]
    try:
        content = schema.model_validate(raw)
    except ValidationError as error:
        mistakes = [*explain(error, schema, lambda _: str(path)), *mistakes]
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return content, warnings


def parse_sets(sets: Iterable[str]) -> list[Override]:
    """`k=v` as given to `--set`; the value is read as YAML, so that 3, .5 and true mean what they say."""
    overrides, mistakes = [], []
    for text in sets:
        key, equals, value = text.partition("=")
        origin = f"--set {text}"
        try:
            read = parse_yaml(value, origin)
        except BadInput:
            read = None
        if not equals or not key.strip() or read is None:
            mistakes.append(f"{origin}: should be key=value, for example max_rounds=5")
        else:
            overrides.append(Override(key.strip(), read, origin))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return overrides


def resolve(  # noqa: PLR0913  one argument for each thing a person says
    name: str,
    preset: str = DEFAULT_PRESET,
    overrides: Sequence[Override] = (),
    *,
    roster: Sequence[str] = (),
    panels_dir: Path | None = None,
    models: bool = False,
) -> Resolution:
    """
    The panel as one debate runs it; an empty roster means the panel's own.

    `models` says whether language models will speak.

    Raises BadInput with one line for each mistake.
    """
    content, warnings = read_panel(panel_path(name, panels_dir))
    if isinstance(content, AbsaPanelFile):
        return _resolve_absa(content, preset, overrides, roster, warnings)
    mistakes = _roster_mistakes(content, roster)
    if preset not in content.preset_names:
        mistakes.append(name_unknown("preset", preset, content.preset_names))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    if isinstance(content, DeliberationFile):
        given = [(one.key, one.value, one.origin) for one in overrides]
        seated, remarks = assemble_deliberation(content, roster, given)
        return Resolution(seated, (*warnings, *remarks))
    if isinstance(content, PlainFile):
        given = [(one.key, one.value, one.origin) for one in overrides]
        return Resolution(assemble_plain(content, roster, given), warnings)
    seats = tuple(roster) or content.usual_roster
    retired = [o for o in overrides if o.key == f"trust.{_RETIRED_TRUST}"]
    kept = [o for o in overrides if o not in retired]
    panel = _assemble(content, preset, seats, kept, models=models)
    warnings += tuple(f"{o.origin}: no such agent any more, ignored" for o in retired)
    return Resolution(panel, warnings)


def _resolve_absa(
    content: AbsaPanelFile,
    preset: str,
    overrides: Sequence[Override],
    roster: Sequence[str],
    warnings: tuple[str, ...],
) -> Resolution:
    if roster:
        raise BadInput(
            f"{content.name}: who is asked follows from the parameters: set debate.order"
        )
    settings = [Setting(one.key, one.value, one.origin) for one in overrides]
    return Resolution(absa_panel(content, preset, settings), warnings)


def _assemble(
    content: PanelFile,
    preset: str,
    seats: Sequence[str],
    overrides: Sequence[Override],
    *,
    models: bool,
) -> VerdictPanel:
    given = {_place_of(override.key): override for override in overrides}
    known = _known_places(seats)
    places = {place: override for place, override in given.items() if place in known}
    mistakes = [
        f"{override.origin}: {name_unknown('key', override.key, _known_keys(seats))}"
        for place, override in given.items()
        if place not in known
    ]
    by_name = {persona.name: persona for persona in content.personas}
    data: dict[str, object] = {
        "name": content.name,
        "title": content.title,
        "personas": [by_name[seat] for seat in seats],
        "deadline_s": content.deadline_s,
        "budget": content.budget,
        "batch": content.batch,
        "labels": content.labels,
        "undecided": content.undecided,
        "preset": preset,
        "params": {**content.params_of(preset).model_dump(), **_below("params", places)},
        "trust": {
            **{seat: content.trust[seat] for seat in seats if seat in content.trust},
            **_below("trust", places),
        },
        "quorum": content.quorum,
        "manager": _manager(content, places.get((_MANAGER,)), mistakes, models=models),
        **{key: places[(key,)].value for key in _PLAIN_KEYS if (key,) in places},
    }

    def origin(place: Place) -> str:
        override = places.get(tuple(str(part) for part in place))
        return override.origin if override is not None else content.name

    quorum = data["quorum"]
    if isinstance(quorum, int) and quorum > len(seats):
        mistakes.append(
            f"{origin(('quorum',))}: quorum: {quorum} of {len(seats)} personas can never speak"
        )
    try:
        panel = VerdictPanel.model_validate(data)
    except ValidationError as error:
        mistakes += explain(error, VerdictPanel, origin)
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return panel


def _manager(
    content: PanelFile, told: Override | None, mistakes: list[str], *, models: bool
) -> str | None:
    if told is None:
        return content.manager if models or content.manager_sits == "always" else None
    if not isinstance(told.value, bool):
        mistakes.append(f"{told.origin}: {_MANAGER}: should be true or false")
    elif told.value and content.manager is None:
        mistakes.append(f"{told.origin}: {_MANAGER}: the panel {content.name} names none")
    return content.manager if told.value is True else None


def _place_of(key: str) -> tuple[str, ...]:
    """Parameters need no prefix: `max_rounds` is `params.max_rounds`."""
    return ("params", key) if key in VerdictParams.model_fields else tuple(key.split("."))


def _known_places(seats: Sequence[str]) -> set[tuple[str, ...]]:
    return {_place_of(key) for key in _known_keys(seats)}


def _known_keys(seats: Sequence[str]) -> list[str]:
    trust = (f"trust.{seat}" for seat in seats)
    return [*VerdictParams.model_fields, *_PLAIN_KEYS, _MANAGER, *trust]


def _below(head: str, places: Mapping[tuple[str, ...], Override]) -> dict[str, object]:
    return {place[1]: override.value for place, override in places.items() if place[0] == head}


def _roster_mistakes(content: AnyPanelFile, roster: Sequence[str]) -> list[str]:
    unknown = [
        name_unknown("persona", seat, content.roster)
        for seat in roster
        if seat not in content.roster
    ]
    twice = [f"persona {seat!r} stands twice in the roster" for seat in _repeated(roster)]
    return unknown + twice


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _names_that_do_not_fit(raw: Mapping[str, object], stem: str) -> list[str]:
    """Mistakes between keys, found as far as the content allows even when other keys are broken."""
    mistakes = []
    if isinstance(raw["name"], str) and raw["name"] != stem:
        mistakes.append(f"name: should be {stem!r}, like the file (got {raw['name']!r})")
    personas = raw.get("personas")
    if not isinstance(personas, list):
        return mistakes
    known = [p["name"] for p in personas if isinstance(p, dict) and isinstance(p.get("name"), str)]
    order, trust, quorum = raw.get("order"), raw.get("trust"), raw.get("quorum")
    order = [seat for seat in order if isinstance(seat, str)] if isinstance(order, list) else []
    named = {"order": order, "trust": list(trust) if isinstance(trust, dict) else []}
    mistakes += [
        f"{key}: {name_unknown('persona', str(name), known)}"
        for key, names in named.items()
        for name in names
        if name not in known
    ]
    mistakes += [f"order: {seat} stands twice" for seat in _repeated(order)]
    if isinstance(quorum, int) and quorum > len(order or known):
        mistakes.append(f"quorum: {quorum} of {len(order or known)} personas can never speak")
    return mistakes
