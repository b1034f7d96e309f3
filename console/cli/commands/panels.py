import json
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.described import described
from parley.configs.panel_files import Wanted
from parley.configs.panels import PanelFile, panel_path, panel_paths, parse_sets, read_panel
from parley.configs.settings import load
from parley.console.cli.exits import warn
from parley.console.cli.options import Config, Json, Panels, Thresholds, example, with_thresholds
from parley.console.terminal.writing import say

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley panels", "parley panels forensic"))
def panels(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The panel to show.")] = None,
    thresholds: Thresholds = None,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the panels, or show one."""
    settings = load(config, {"panels": panels_dir})
    folder = settings.panels
    wanted = [panel_path(name, folder)] if name else list(panel_paths(folder).values())
    contents, mistakes = [], []
    for path in wanted:
        try:
            content, warnings = read_panel(path)
        except BadInput as error:
            mistakes.append(str(error))
        else:
            warn(warnings)
            contents.append(content)
    if as_json:
        print(json.dumps([content.model_dump(mode="json") for content in contents]))
    else:
        own = parse_sets(with_thresholds([], thresholds))
        wish = Wanted(overrides=own, folder=wanted[0].parent, thresholds=settings.thresholds)
        lines = described(contents[0], wish) if name and contents else _listed(contents)
        for line in lines:
            say(line)
    if mistakes:
        raise BadInput("\n".join(mistakes))


def _listed(contents: list[PanelFile]) -> list[str]:
    width = max((len(content.name) for content in contents), default=0)
    return [f"{content.name:<{width}}  {content.title}" for content in contents]
