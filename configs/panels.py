"""
Panels as files, and how one of them becomes the panel of a debate.

The file's values are laid over by the preset's, those by the overrides (`--set k=v`); what comes
out is complete, so that the log alone explains the debate. The file's name is the panel's name; a
panel in the user's directory takes the place of a built-in one only where its file says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from parley.bus.errors import BadInput
from parley.configs.careful_yaml import parse_yaml
from parley.configs.files import read_mapping
from parley.configs.mistakes import explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import (
    BRAINS,
    DEFAULT_PRESET,
    NO_EXPERIMENT,
    Experiment,
    Override,
    PanelFile,
    Resolution,
    Wanted,
    panel_files_of,
)
from parley.configs.tools import ToolServer

BUILT_IN = Path(__file__).with_name("panels")

__all__ = [
    "BUILT_IN",
    "DEFAULT_PRESET",
    "Override",
    "PanelFile",
    "Resolution",
    "panel_of",
    "panel_path",
    "panel_paths",
    "parse_sets",
    "read_panel",
    "resolve",
]


def panel_paths(panels_dir: Path | None = None) -> dict[str, Path]:
    """Every panel there is, by name: the built-in ones, then the user's; scripts may stand beside."""
    directories = [BUILT_IN]
    if panels_dir is not None:
        if not panels_dir.is_dir():
            raise BadInput(f"{panels_dir}: no such directory of panels")
        directories.append(panels_dir)
    files = (path for folder in directories for path in sorted(folder.glob("*.yaml")))
    return {path.stem: path for path in files if not path.stem.endswith(".script")}


def panel_path(name: str, panels_dir: Path | None = None) -> Path:
    paths = panel_paths(panels_dir)
    if name not in paths:
        raise BadInput(name_unknown("panel", name, paths))
    return paths[name]


def read_panel(path: Path) -> tuple[PanelFile, tuple[str, ...]]:
    """The file's content and its warnings. Raises BadInput with one line for each mistake."""
    return _read({"name": path.stem, **read_mapping(path)}, path, str(path))


def panel_of(name: str, content: Mapping[str, object]) -> Resolution:
    """
    The panel of a mapping that holds what a panel file would.

    Raises BadInput with one line for each mistake.
    """
    read, warnings = _read({"name": name, **content}, Path(f"{name}.yaml"), f"panel {name}")
    found = panel_files_of(read.protocol).assemble(read, Wanted())
    return Resolution(found.panel, (*warnings, *found.warnings))


def _read(raw: dict[str, object], path: Path, origin: str) -> tuple[PanelFile, tuple[str, ...]]:
    mistakes = [f"{origin}: {mistake}" for mistake in _names_that_do_not_fit(raw, path)]
    try:
        files = panel_files_of(str(raw.get("protocol", "verdicts")))
    except BadInput as error:
        raise BadInput("\n".join([f"{origin}: {error}", *mistakes])) from error
    prepared = files.prepare(raw)
    mistakes += [f"{origin}: {mistake}" for mistake in prepared.mistakes]
    try:
        content = files.schema.model_validate(prepared.raw)
    except ValidationError as error:
        mistakes = [*explain(error, files.schema, lambda _: origin), *mistakes]
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return content, tuple(f"{origin}: {warning}" for warning in prepared.warnings)


def brains_of(panels: Iterable[str], panels_dir: Path | None = None) -> dict[str, str]:
    """Whose rules think for those of the panels whose files say so."""
    paths = panel_paths(panels_dir)
    found = {name: read_panel(paths[name])[0].brains for name in panels if name in paths}
    return {name: brains for name, brains in found.items() if brains is not None}


def tools_of(
    seats: Iterable[tuple[str, str]], panels_dir: Path | None = None
) -> dict[tuple[str, str], tuple[ToolServer, ...]]:
    """What the panels' files give to the personas on these seats."""
    paths = panel_paths(panels_dir)
    found = {
        (panel, persona): read_panel(paths[panel])[0].tools_for(persona)
        for panel, persona in seats
        if panel in paths
    }
    return {seat: servers for seat, servers in found.items() if servers}


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
    experiment: Experiment = NO_EXPERIMENT,
    thresholds: Path | None = None,
    language: str | None = None,
) -> Resolution:
    """
    The panel as one debate runs it; an empty roster means the panel's own.

    `models` says whether language models will speak.

    Raises BadInput with one line for each mistake.
    """
    path = panel_path(name, panels_dir)
    content, warnings = read_panel(path)
    mistakes = _roster_mistakes(content, roster)
    if preset not in content.preset_names:
        mistakes.append(name_unknown("preset", preset, content.preset_names))
    if mistakes:
        raise BadInput("\n".join([*experiment.mistakes, *mistakes]))
    wanted = Wanted(
        preset, overrides, roster, models, experiment, path.parent, language, thresholds
    )
    try:
        found = panel_files_of(content.protocol).assemble(content, wanted)
    except BadInput as error:
        raise BadInput("\n".join([*experiment.mistakes, str(error)])) from error
    if experiment.mistakes:
        raise BadInput("\n".join(experiment.mistakes))
    return Resolution(found.panel, (*warnings, *found.warnings))


def _roster_mistakes(content: PanelFile, roster: Sequence[str]) -> list[str]:
    unknown = [
        name_unknown("persona", seat, content.roster)
        for seat in roster
        if seat not in content.roster
    ]
    twice = [f"persona {seat!r} stands twice in the roster" for seat in _repeated(roster)]
    return unknown + twice


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _names_that_do_not_fit(raw: Mapping[str, object], path: Path) -> list[str]:
    """Mistakes between keys, found as far as the content allows even when other keys are broken."""
    mistakes, stem = [], path.stem
    if isinstance(raw["name"], str) and raw["name"] != stem:
        mistakes.append(f"name: should be {stem!r}, like the file (got {raw['name']!r})")
    shadowed = BUILT_IN / path.name
    if raw.get("replaces") is not True and shadowed.exists() and not _is_built_in(path):
        mistakes.append(
            f"name: {stem!r} is a built-in panel: name the file otherwise, or say `replaces: true`"
        )
    brains = raw.get("brains")
    if isinstance(brains, str) and brains not in BRAINS:
        mistakes.append(f"brains: {name_unknown('brain', brains, BRAINS)}")
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


def _is_built_in(path: Path) -> bool:
    return path.resolve().parent == BUILT_IN.resolve()
