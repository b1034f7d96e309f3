from pathlib import Path
from typing import Annotated

import typer

from parley.agents.simulated import Attack, Skill
from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.settings import Settings, load
from parley.console.batch.evaluation import labelled, source_of_gold
from parley.console.batch.items import read_items, refusal_by
from parley.console.cli.exits import BAD_INPUT, FAILED, complain
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, PanelName, Panels, Preset, Sets, example
from parley.console.lab.drill import drill, drill_blocks, plays
from parley.console.lab.kind import lab_of
from parley.console.lab.model_drill import (
    Case,
    ModelDrill,
    cases_of,
    drill_with,
    drillable,
    model_drill_blocks,
    most_questions,
)
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
from parley.console.reports.gold import read_gold
from parley.console.reports.publish import TEXT, Format, GoldFile, Out, format_of, publish
from parley.console.runtime.brains import MODEL, BrainChoice, open_model, with_patience
from parley.console.runtime.gc import gc_tuned
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.system import run_async
from parley.console.terminal.progress import progress_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)

# Of simulated personas only.
_SIMULATED = ("accuracy", "calibration", "correlation", "conformity", "insight", "debates", "seed")


@app.command(
    epilog=example(
        "parley drill review",
        "parley drill review --persona security -o drill.html",
        "parley drill review changes.jsonl --brain model --limit 5",
    )
)
def attacks(
    context: typer.Context,
    panel: PanelName,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="With --brain model: labelled inputs, as `eval` reads them."
        ),
    ] = None,
    persona: Annotated[
        str | None,
        typer.Option("--persona", help="Who attacks; the first who argues if not given."),
    ] = None,
    brain: Annotated[
        str | None, typer.Option("--brain", help="model: the personas by model, on DATA.")
    ] = None,
    gold: GoldFile = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="So many inputs.")] = None,
    calls: Annotated[
        int,
        typer.Option("--calls", min=1, help="Begin only if no more questions can be needed."),
    ] = 500,
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
    config: Config = None,
    out: Out = None,
    form: Format = None,
) -> None:
    """
    Find out how far one dishonest persona moves the outcome.

    It lies, copies the majority, is always sure, floods, or obeys an order in the input, under each
    decide rule. The others are simulated and honest, and no model is asked; or, with DATA and
    --brain model, they are the panel's own personas by model.
    """
    keep_quiet()
    wanted = format_of(form, out, TEXT)
    settings = load(config, {"panels": panels_dir})
    wishes = Wishes(preset, sets or (), panels_dir=settings.panels)
    chosen = wished_panel(panel, wishes).panel
    able = lab_of(chosen).attackers(chosen)
    attacker = persona or able[0]
    if attacker not in able:
        raise BadInput(f"--persona: {name_unknown('persona', attacker, able)}")
    title, against = f"Drill: {chosen.name}", f"{attacker} against {len(chosen.roster) - 1}"
    if data is not None or brain is not None:
        _check_model(context, data, brain)
        assert data is not None
        patient = with_patience(chosen, wishes.sets)
        cases, problems = _read(patient, data, gold, limit, calls)
        by_model = _by_model(settings, patient, cases, attacker)
        subtitle = f"{against} personas by model, on {by_model.inputs} inputs"
        publish(
            Document(title, subtitle, tuple(model_drill_blocks(by_model))), by_model, wanted, out
        )
        if problems or by_model.abstained:
            raise typer.Exit(BAD_INPUT if problems else FAILED)
        return
    skill = Skill(accuracy, calibration, correlation, conformity, insight)
    with gc_tuned(), progress_of("drill", plays(chosen)) as step:
        found = drill(chosen, attacker, skill, debates, seed, step)
    subtitle = f"{against} honest personas, seed {seed}"
    publish(Document(title, subtitle, tuple(drill_blocks(found))), found, wanted, out)


def _check_model(context: typer.Context, data: Path | None, brain: str | None) -> None:
    """Raises BadInput unless both are given, and nothing that is of simulated personas."""
    if brain != MODEL:
        given = "is missing" if brain is None else f"{brain!r} is none for a drill"
        raise BadInput(f"--brain: {given}: a drill on data is with --brain model")
    if data is None:
        raise BadInput("DATA is missing: a drill with a model needs labelled inputs")
    for name in _SIMULATED:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise BadInput(f"--{name}: is of simulated personas, and a model is asked here")


def _read(
    panel: Panel, data: Path, gold: Path | None, limit: int | None, calls: int
) -> tuple[list[Case], bool]:
    """And whether some of the data could not be read. Says how many questions may be needed."""
    drilled = drillable(panel)
    truths = read_gold(source_of_gold(data, gold))
    found = read_items(data, panel, refusal_by(panel, BrainChoice(MODEL)))
    items = labelled(found, truths, limit).items
    for problem in found.problems:
        complain(problem)
    cases = cases_of(drilled, items, truths)
    most = most_questions(drilled, len(cases))
    fit = calls // most_questions(drilled, 1)
    if most > calls:
        hint = f"--limit {fit}, or " if fit else ""
        raise BadInput(
            f"--calls {calls}: {len(cases)} inputs may need {most} questions: {hint}--calls {most}"
        )
    complain(f"{len(cases)} inputs, at most {most} questions to the model")
    return cases, bool(found.problems)


def _by_model(settings: Settings, panel: Panel, cases: list[Case], attacker: str) -> ModelDrill:
    seats = [(panel.name, one) for one in panel.roster]

    async def run() -> ModelDrill:
        async with open_model(settings, [panel], seats, None) as brain:
            with progress_of("drill", len(cases) * (1 + len(Attack))) as step:
                return await drill_with(brain, cases, attacker, settings.model.concurrency, step)

    return run_async(run)
