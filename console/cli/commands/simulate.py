import re
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.contracts.panel import DebateInput
from parley.bus.subjects import DebateRef
from parley.configs.settings import load
from parley.console.cli.exits import warn
from parley.console.cli.options import Json, Panels, Preset, Regime, Roster, Sets, example, names
from parley.console.cli.output import model_line, print_line
from parley.console.runtime.plan import Wishes, read_script, scripted_panel
from parley.console.runtime.rehearsal import play
from parley.console.runtime.submit import panel_for
from parley.console.terminal.views import Lines
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley simulate debate.yaml",
        "parley simulate debate.yaml --set max_rounds=5 --json",
    )
)
def simulate(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The script to play.")],
    preset: Preset = None,
    sets: Sets = None,
    roster: Roster = None,
    regime: Regime = None,
    panels_dir: Panels = None,
    as_json: Json = False,
) -> None:
    """
    Play a scripted debate through the real rules.

    No server is needed. The flags win over what the script says, so that one script answers what
    would have happened under other thresholds.
    """
    panels = load(flags={"panels": panels_dir}).panels
    script = read_script(file, panels)
    text = script.content.about
    resolution = scripted_panel(script, Wishes(preset, sets or (), names(roster), panels, regime))
    warn(resolution.warnings)
    ref = DebateRef(resolution.panel.name, re.sub(r"[^A-Za-z0-9_-]", "-", file.stem)[:64])
    state, view = DebateState(), Lines(named=False)
    panel = panel_for(resolution.panel, text, None)
    for fact, after in play(panel, script.content, DebateInput(text=text)):
        if not as_json:
            view.show(ref, fact, state, after)
        state = after
    if as_json:
        print_line(model_line(result_of(ref, state)))
