"""What a debate is made of before it is submitted: its panel, its script, its id."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from parley.agents.script import Script, script_schema
from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.experiments import read_experiment
from parley.configs.files import read_mapping
from parley.configs.mistakes import explain
from parley.configs.names import name_unknown
from parley.configs.panel_files import NO_EXPERIMENT, Experiment
from parley.configs.panels import (
    DEFAULT_PRESET,
    Override,
    Resolution,
    panel_path,
    panel_paths,
    parse_sets,
    read_panel,
    resolve,
)
from parley.console.cli.exits import warn
from parley.console.inputs.kind import input_of


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asks of a panel; None and empty leave it to the script or the panel."""

    preset: str | None = None
    sets: Sequence[str] = ()
    roster: Sequence[str] = ()
    panels_dir: Path | None = None
    regime: str | None = None
    # The language of the texts; None finds it out, text by text.
    language: str | None = None
    # Whether language models will speak.
    models: bool = False
    experiment: Experiment = NO_EXPERIMENT
    # The installation's language, for panels whose prompts follow it.
    usual_language: str | None = None
    # The installation's folder of thresholds.
    thresholds: Path | None = None

    def overrides(self) -> list[Override]:
        regime = Override("theta", self.regime, f"--regime {self.regime}")
        return [*parse_sets(self.sets), *([regime] if self.regime is not None else [])]


@dataclass(frozen=True, slots=True)
class ScriptFile:
    path: Path
    content: Script
    data: bytes


def read_script(path: Path, panels_dir: Path | None = None) -> ScriptFile:
    """Raises BadInput with one line for each mistake."""
    raw = read_mapping(path)
    schema = script_schema(raw, _protocol_of(raw.get("panel"), panels_dir))
    try:
        content = schema.model_validate(raw)
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, schema, lambda _: str(path)))) from error
    return ScriptFile(path, content, path.read_bytes())


def _protocol_of(panel: object, panels_dir: Path | None) -> str | None:
    """Of the panel that a script names; None where it names none that there is."""
    path = panel_paths(panels_dir).get(panel) if isinstance(panel, str) else None
    try:
        return read_panel(path)[0].protocol if path is not None else None
    except BadInput:
        return None


def experiment_of(path: Path | None, panel: str, panels_dir: Path | None) -> Experiment:
    """Names its metadata at once, whatever else may be wrong with it."""
    found = NO_EXPERIMENT if path is None else read_experiment(path, panel, panels_dir)
    warn(found.warnings)
    return found


def wished_panel(name: str, wishes: Wishes) -> Resolution:
    """The panel of a debate, complete. Raises BadInput with one line for each mistake."""
    return _complete(
        resolve(
            name,
            wishes.preset or DEFAULT_PRESET,
            wishes.overrides(),
            roster=wishes.roster,
            panels_dir=wishes.panels_dir,
            models=wishes.models,
            experiment=wishes.experiment,
            thresholds=wishes.thresholds,
            language=wishes.language or wishes.usual_language,
        )
    )


def panels_of(seats: Iterable[tuple[str, str]], panels_dir: Path | None) -> Iterator[Panel]:
    """The panels that these seats belong to, as debates run them if nobody wishes otherwise."""
    for name in dict.fromkeys(panel for panel, _ in seats):
        yield wished_panel(name, Wishes(panels_dir=panels_dir, models=True)).panel


def scripted_panel(script: ScriptFile, wishes: Wishes) -> Resolution:
    """
    The panel that a script was written for; what the command line says wins over the script.

    Raises BadInput with one line for each mistake, also for agents that are not on the panel.
    """
    content = script.content
    overrides = [
        Override(key, value, f"{script.path}: params") for key, value in content.params.items()
    ]
    overrides += [Override(key, value, str(script.path)) for key, value in content.settings.items()]
    try:
        resolution = resolve(
            content.panel,
            wishes.preset or content.preset or DEFAULT_PRESET,
            [*overrides, *wishes.overrides()],
            roster=wishes.roster or content.roster or (),
            panels_dir=wishes.panels_dir,
            models=wishes.models,
            experiment=wishes.experiment,
            thresholds=wishes.thresholds,
            language=wishes.language or wishes.usual_language,
        )
    except BadInput as error:
        raise BadInput(_with_file(str(error), script.path)) from error
    # Whom the command line leaves out may still stand in the script.
    known = _everybody(content.panel, wishes) if wishes.roster else resolution.panel.roster
    strangers = sorted(content.agents() - set(known))
    mistakes = [f"{script.path}: {name_unknown('agent', one, known)}" for one in strangers]
    mistakes += [f"{script.path}: {one}" for one in content.mistakes(resolution.panel)]
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return _complete(resolution)


def _everybody(name: str, wishes: Wishes) -> tuple[str, ...]:
    content, _ = read_panel(panel_path(name, wishes.panels_dir))
    return content.roster


def _complete(resolution: Resolution) -> Resolution:
    whole = input_of(resolution.panel).complete(resolution.panel)
    return Resolution(whole.panel, (*resolution.warnings, *whole.warnings))


def _with_file(mistakes: str, path: Path) -> str:
    """Names the script in mistakes that do not name their origin themselves."""
    named = (f"{path}:", "--set ", "--regime ")
    return "\n".join(
        line if line.startswith(named) else f"{path}: {line}" for line in mistakes.splitlines()
    )
