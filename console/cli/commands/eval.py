from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from parley.configs.settings import load
from parley.console.batch.evaluation import Evaluation, labelled, source_of_gold, variant_of
from parley.console.batch.items import read_items, refusal_by
from parley.console.batch.run import Batch
from parley.console.batch.runner import usual_at_once
from parley.console.cli.exits import BAD_INPUT, DONE, FAILED, complain, warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import (
    Brain,
    Config,
    Json,
    Language,
    NatsOrPrivate,
    PanelName,
    Panels,
    Preset,
    ProtocolName,
    Sets,
    TotalLimits,
    example,
    language_of,
    with_protocol,
)
from parley.console.cli.output import model_line, print_line
from parley.console.reports.gold import read_gold
from parley.console.reports.publish import GoldFile
from parley.console.reports.worth import table_of
from parley.console.runtime.brains import MODEL, parse_brain, with_patience
from parley.console.runtime.budgets import limits_of
from parley.console.runtime.plan import Wishes, wished_panel
from parley.console.runtime.submit import check_rules

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley eval absa reviews.jsonl",
        "parley eval forensic photos/ -o out",
        "parley eval review changes.jsonl --brain model --equal-calls",
    )
)
def evaluate(
    panel: PanelName,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="JSON Lines or CSV with labels, or a folder with manifest.csv."
        ),
    ],
    gold: GoldFile = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Keep the debates, for report."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="So many inputs.")] = None,
    equal_calls: Annotated[
        bool,
        typer.Option(
            "--equal-calls", help="Also a vote among as many opening statements as debates cost."
        ),
    ] = False,
    brain: Brain = "auto",
    preset: Preset = None,
    protocol: ProtocolName = None,
    lang: Language = "auto",
    sets: Sets = None,
    total_budget: TotalLimits = None,
    nats: NatsOrPrivate = None,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Measure on labelled data whether a panel's debates earn their cost.

    The debate beside a vote on the opening statements, the same weighted by confidence, and each
    persona alone, with paired intervals. The data is your own: what is true stands in it (gold,
    label or tuples beside the id), in manifest.csv of a folder (path,label), or in the file of
    --gold. A line of it: {"id": "a1", "text": "…", "label": "approve"}
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    choice = parse_brain(brain, settings.panels)
    truths = read_gold(source_of_gold(data, gold))
    wishes = Wishes(
        preset,
        with_protocol(sets, protocol),
        panels_dir=settings.panels,
        language=language_of(lang),
        thresholds=settings.thresholds,
    )
    chosen = wished_panel(panel, wishes).panel
    if choice.kind == MODEL:
        chosen = with_patience(chosen, wishes.sets)
    if not settings.names_a_server:
        check_rules(choice, chosen, settings.panels)
    found = read_items(data, chosen, refusal_by(chosen, choice))
    wanted = labelled(found, truths, limit)
    for problem in found.problems:
        complain(problem)
    with ExitStack() as stack:
        directory = out or Path(stack.enter_context(TemporaryDirectory(prefix="parley-eval-")))
        limits = limits_of(None, total_budget, directory.name)
        batch = Batch(
            path=data,
            data=wanted,
            variants=(variant_of(limits.on(chosen), directory),),
            language=wishes.language,
            at_once=usual_at_once(chosen),
            sets=tuple(wishes.sets),
            quiet=True,
        )
        evaluation = Evaluation(settings, choice, batch, truths)
        worth, complete = evaluation.run(equal_calls=equal_calls)
    if worth is None:
        complain("no debate was decided")
        raise typer.Exit(FAILED)
    if equal_calls and choice.kind != MODEL:
        warn(["these brains say the same each time: a vote at equal calls is the vote"])
    for line in [model_line(worth)] if as_json else table_of(worth):
        print_line(line)
    raise typer.Exit(BAD_INPUT if found.problems else DONE if complete else FAILED)
