from typing import Annotated

import typer

from parley.agents.simulated import Skill
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.settings import load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import PanelName, Panels, Preset, Sets, example
from parley.console.lab.drill import drill, drill_blocks, plays
from parley.console.lab.kind import lab_of
from parley.console.lab.options import (
    Accuracy,
    Calibration,
    Conformity,
    Correlation,
    Debates,
    Insight,
    Seed,
)
from parley.console.reports.document import Document
from parley.console.reports.publish import TEXT, Format, Out, format_of, publish
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.terminal.progress import progress_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example("parley drill review", "parley drill review --persona security -o drill.html")
)
def attacks(
    panel: PanelName,
    persona: Annotated[
        str | None,
        typer.Option("--persona", help="Who attacks; the first who argues if not given."),
    ] = None,
    accuracy: Accuracy = 0.7,
    calibration: Calibration = 1.0,
    correlation: Correlation = 0.0,
    conformity: Conformity = 0.3,
    insight: Insight = 0.2,
    debates: Debates = 200,
    seed: Seed = 1,
    preset: Preset = None,
    sets: Sets = None,
    panels_dir: Panels = None,
    out: Out = None,
    form: Format = None,
) -> None:
    """
    Find out how far one dishonest persona moves the outcome.

    It lies, copies the majority, is always sure, floods, or obeys an order in the input, among
    simulated personas that are honest, under each decide rule. No model is asked.
    """
    keep_quiet()
    wanted = format_of(form, out, TEXT)
    panels = load(flags={"panels": panels_dir}).panels
    chosen = wished_panel(panel, Wishes(preset, sets or (), panels_dir=panels)).panel
    able = lab_of(chosen).attackers(chosen)
    attacker = persona or able[0]
    if attacker not in able:
        raise BadInput(f"--persona: {name_unknown('persona', attacker, able)}")
    skill = Skill(accuracy, calibration, correlation, conformity, insight)
    with gc_tuned(), progress_of("drill", plays(chosen)) as step:
        found = drill(chosen, attacker, skill, debates, seed, step)
    title = f"Drill: {found.panel}"
    subtitle = f"{attacker} against {len(chosen.roster) - 1} honest personas, seed {seed}"
    publish(Document(title, subtitle, tuple(drill_blocks(found))), found, wanted, out)
