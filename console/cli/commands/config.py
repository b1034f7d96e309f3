import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, SecretStr

from parley.agents.script import is_script
from parley.bus.errors import BadInput
from parley.configs.files import read_mapping
from parley.configs.panels import BUILT_IN, panel_paths, read_panel
from parley.configs.settings import Settings, load, read_sources
from parley.console.cli.exits import warn, without_logins
from parley.console.cli.options import Config, Json, Panels, example
from parley.console.cli.output import print_line
from parley.console.cli.settings_page import all_settings
from parley.console.cli.settings_page import sample as sample_file
from parley.console.inputs.deliberation import read_question_file
from parley.console.runtime.panel_notes import notes_on
from parley.console.runtime.plan import Wishes, read_script, scripted_panel
from parley.console.runtime.prompt_files import prompt_mistakes
from parley.console.runtime.retention import too_short
from parley.console.runtime.seat_settings import unknown_seats
from parley.prompts import FALLBACK

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Show and check settings, panels and scripts."
)


@app.callback()
def config() -> None:
    """Show and check settings, panels and scripts."""


@app.command(epilog=example("parley config check", "parley config check parley.yaml mypanel.yaml"))
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Settings, panels, scripts or questions; told apart by content.",
        ),
    ] = None,
    panels_dir: Panels = None,
) -> None:
    """
    Report every mistake in settings, panels and scripts.

    Without files: the settings as they would be loaded here, and every panel there is.
    """
    paths = list(files or ())
    if panels_dir is not None or not files:
        paths += panel_paths(panels_dir).values()
    mistakes = [mistake for path in paths for mistake in _mistakes_in(path, panels_dir)]
    if not files:
        mistakes += _mistakes_in_settings(None, panels_dir) or _mistakes_of_both(
            panels_dir, mistakes
        )
    if mistakes:
        raise BadInput("\n".join(mistakes))
    language = load(flags={"panels": panels_dir}).model.language if not files else FALLBACK
    for path in paths:
        print(f"{path}: good")
        for note in _notes(path, panels_dir, language):
            print(f"  note: {note}")
    if not files:
        print("settings: good")


@app.command(epilog=example("parley config show", "parley config show --config prod.yaml --json"))
def show(config: Config = None, as_json: Json = False) -> None:
    """
    Show every setting, its value and where it comes from.

    Secrets are never shown, only that there is one.
    """
    settings, sources = load(config), read_sources(config)
    rows = [
        (one.key, _shown(settings, one.key), sources.origin(tuple(one.key.split("."))) or "default")
        for one in all_settings()
    ]
    if as_json:
        print_line(
            json.dumps([dict(zip(("key", "value", "from"), row, strict=True)) for row in rows])
        )
        return
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        print_line(f"{key:<{width}}  {value}" + ("" if origin == "default" else f"  ({origin})"))


@app.command(epilog=example("parley config sample > parley.yaml"))
def sample() -> None:
    """Print a settings file with every setting, its default and its meaning, as comments."""
    print_line(sample_file())


def _shown(settings: Settings, key: str) -> str:
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    match value:
        case None:
            return "none"
        case SecretStr():
            return "(set)" if value.get_secret_value() else "(empty)"
        case bool():
            return str(value).lower()
        case str() if "://" in value:
            return without_logins(value)
        case BaseModel():
            return value.model_dump_json()
        case _:
            return str(value)


def _mistakes_in(path: Path, panels_dir: Path | None) -> list[str]:
    try:
        content = read_mapping(path)
        if "personas" in content:
            return _mistakes_in_panel(path, str(content.get("protocol", "verdicts")), panels_dir)
        if "criteria" in content:
            read_question_file(path)
        elif is_script(content):
            script = read_script(path, panels_dir)
            warn(scripted_panel(script, Wishes(panels_dir=panels_dir)).warnings)
        else:
            return _mistakes_in_settings(path, panels_dir)
    except BadInput as error:
        return [str(error)]
    return []


def _mistakes_in_panel(path: Path, protocol: str, panels_dir: Path | None) -> list[str]:
    """Those of its prompts, too, whatever is wrong with the file."""
    mistakes = prompt_mistakes(path.stem, protocol, _folder(path, panels_dir))
    try:
        warn(read_panel(path)[1])
    except BadInput as error:
        return [str(error), *mistakes]
    return mistakes


def _notes(path: Path, panels_dir: Path | None, language: str) -> list[str]:
    """What a good panel will not do."""
    if "personas" not in read_mapping(path):
        return []
    return list(notes_on(read_panel(path)[0], _folder(path, panels_dir), language))


def _folder(panel: Path, panels_dir: Path | None) -> Path | None:
    """Where the user's prompts for a panel stand: beside it, or beside the user's other panels."""
    return panels_dir if panel.parent == BUILT_IN else panel.parent


def _mistakes_of_both(panels_dir: Path | None, known: list[str]) -> list[str]:
    """What the settings and the panels are only together; panels with mistakes tell nothing."""
    if known:
        return []
    settings = load(flags={"panels": panels_dir})
    return list(too_short(settings, panel_paths(settings.panels)))


def _mistakes_in_settings(path: Path | None, panels_dir: Path | None) -> list[str]:
    try:
        settings = load(path, {"panels": panels_dir})
        unknown = unknown_seats(settings.model, settings.panels)
    except BadInput as error:
        return [str(error)]
    if settings.model.no_address is not None:
        warn([settings.model.no_address])
    return [f"{path or 'settings'}: {line}" for line in unknown]
