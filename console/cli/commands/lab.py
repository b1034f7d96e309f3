import typer

from parley.agents.simulated import Skill
from parley.configs.settings import load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import PanelName, Panels, Preset, Sets, example
from parley.console.lab.options import (
    Accuracy,
    Calibration,
    Conformity,
    Correlation,
    Debates,
    Insight,
    Seed,
)
from parley.console.lab.report import lab_document
from parley.console.lab.run import plays, study
from parley.console.reports.publish import TEXT, Format, Out, format_of, publish
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.terminal.progress import progress_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley lab review",
        "parley lab review --accuracy 0.6 --conformity 0.5 -o lab.html",
        "parley lab forensic --insight 0.3 --debates 1000 --json",
    )
)
def lab(
    panel: PanelName,
    accuracy: Accuracy = 0.7,
    calibration: Calibration = 1.0,
    correlation: Correlation = 0.2,
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
    Find out what a panel's rules are worth before paying for models.

    Simulated personas of known skill debate through the real rules: which decide rule, which stop
    rule and which visibility win, as they are and as personas get better, conform or understand.
    No model is asked and no server is needed.
    """
    keep_quiet()
    wanted = format_of(form, out, TEXT)
    panels = load(flags={"panels": panels_dir}).panels
    chosen = wished_panel(panel, Wishes(preset, sets or (), panels_dir=panels)).panel
    skill = Skill(accuracy, calibration, correlation, conformity, insight)
    with gc_tuned(), progress_of("lab", plays(chosen)) as step:
        found = study(chosen, skill, debates, seed, step)
    publish(lab_document(found), found, wanted, out)
