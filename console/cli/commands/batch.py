import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.contracts.panel import Panel
from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.panels import panel_path, read_panel
from parley.configs.settings import Settings, load
from parley.console.batch.compare import compare
from parley.console.batch.files import OUTPUTS
from parley.console.batch.items import read_items, refusal_by
from parley.console.batch.repeats import merge, seeded
from parley.console.batch.run import Batch, Variant, run_batch
from parley.console.batch.runner import usual_at_once
from parley.console.cli.exits import BAD_INPUT, DONE, FAILED, complain, warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import (
    Brain,
    Config,
    ExperimentFile,
    Language,
    Limits,
    NatsOrPrivate,
    PanelName,
    Panels,
    Preset,
    ProtocolName,
    Sets,
    Thresholds,
    TotalLimits,
    example,
    language_of,
    names,
    with_protocol,
    with_thresholds,
)
from parley.console.cli.output import print_line
from parley.console.reports.gold import read_gold
from parley.console.reports.publish import GoldFile
from parley.console.reports.sources import read_groups
from parley.console.runtime.brains import MODEL, BrainChoice, parse_brain, with_patience
from parley.console.runtime.budgets import limits_of
from parley.console.runtime.plan import Wishes, experiment_of, wished_panel
from parley.console.runtime.submit import check_rules
from parley.console.runtime.system import run_async

WHOLE = "default"
ABLATION = "abl_"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley batch absa reviews.jsonl -o out",
        "parley batch absa reviews.csv -o out --resume",
        "parley batch absa reviews.jsonl -o out --ablations all",
        "parley batch absa reviews.jsonl -o out --brain model --seeds 5 --gold truth.jsonl",
        "parley batch forensic photos/ -o out --ablations fast,precise",
        "parley batch review changes/ -o out --brain model --total-budget cost=2",
    )
)
def batch(
    panel: PanelName,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file (JSON Lines or CSV), or a folder.")
    ],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="For the results.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an earlier batch stopped.")
    ] = False,
    ablations: Annotated[
        str | None,
        typer.Option("--ablations", metavar="A,B", help="Compare with these presets, or all."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", min=1, max=1000, help="Repeat with so many seeds, and merge the scores."
        ),
    ] = None,
    gold: GoldFile = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            "--at-once", min=1, max=10_000, help="Debates that run at once (64; 8 on images)."
        ),
    ] = None,
    brain: Brain = "auto",
    preset: Preset = None,
    protocol: ProtocolName = None,
    lang: Language = "auto",
    experiment: ExperimentFile = None,
    thresholds: Thresholds = None,
    sets: Sets = None,
    budget: Limits = None,
    total_budget: TotalLimits = None,
    nats: NatsOrPrivate = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Run a data set through a panel, and compare variants of the panel.

    A line holds a text, a question, or a file beside the data set; an id (text_id, id or uid) is
    taken over. In a folder each file is debated. Bad lines are reported and left out, and the exit
    code is then 2. It is 1 if a debate ended without a record or for want of budget; --resume runs
    those again.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    choice = parse_brain(brain, settings.panels)
    wishes = Wishes(
        preset,
        with_thresholds(with_protocol(sets, protocol), thresholds),
        panels_dir=settings.panels,
        language=language_of(lang),
        experiment=experiment_of(experiment, panel, settings.panels),
        thresholds=settings.thresholds,
        usual_language=settings.model.language,
    )
    limits = limits_of(budget, total_budget, _name_of(out))
    variants = _variants(panel, wishes, choice, out, ablations)
    chosen = variants[0].panel
    if not settings.names_a_server:
        check_rules(choice, chosen, settings.panels)
    wanted = Batch(
        path=data,
        data=read_items(data, chosen, refusal_by(chosen, choice)),
        variants=tuple(replace(one, panel=limits.on(one.panel)) for one in variants),
        language=wishes.language,
        at_once=at_once or usual_at_once(chosen),
        sets=tuple(wishes.sets),
    )
    truths = read_gold(gold)
    repeats = seeded(wanted, tuple(range(1, seeds + 1)) if seeds else wishes.experiment.seeds)
    if len(repeats) > 1 and choice.kind != MODEL:
        warn(["only models draw by chance: every seed will give the same here"])
    for variant in (variant for _, one in repeats for variant in one.variants):
        if (variant.directory / OUTPUTS).exists() and not resume:
            raise BadInput(
                f"{variant.directory}: holds an earlier batch: go on with --resume,"
                " or name another directory"
            )
    for problem in wanted.data.problems:
        complain(problem)
    complete = [_run(settings, one, seed, choice) for seed, one in repeats]
    if len(wanted.variants) > 1:
        compare([(one.name, one.files) for one in repeats[0][1].variants], out)
    if repeats[0][0] is not None or gold is not None:
        print_line(merge(out, repeats, read_groups(settings, [str(out)]), truths))
    raise typer.Exit(BAD_INPUT if wanted.data.problems else DONE if all(complete) else FAILED)


def _run(settings: Settings, wanted: Batch, seed: int | None, choice: BrainChoice) -> bool:
    if seed is not None:
        model = settings.model.model_copy(update={"seed": seed})
        settings = settings.model_copy(update={"model": model})
    return run_async(lambda: run_batch(settings, wanted, choice))


def _name_of(out: Path) -> str:
    """A batch that is resumed goes on with the budget it began with."""
    return hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:16]


def _variants(
    name: str, wishes: Wishes, choice: BrainChoice, out: Path, ablations: str | None
) -> tuple[Variant, ...]:
    if ablations is None:
        return (Variant(wishes.preset or WHOLE, _panel(name, wishes, choice), out),)
    content, _ = read_panel(panel_path(name, wishes.panels_dir))
    switches = [one for one in content.preset_names if one.startswith(ABLATION)]
    known = switches or [one for one in content.preset_names if one != WHOLE]
    chosen = known if ablations == "all" else names(ablations)
    strangers = [one for one in chosen if one not in content.preset_names]
    if strangers:
        raise BadInput("\n".join(name_unknown("ablation", one, known) for one in strangers))
    return tuple(
        Variant(one, _panel(name, replace(wishes, preset=one), choice), out / one)
        for one in dict.fromkeys((WHOLE, *chosen))
    )


def _panel(name: str, wishes: Wishes, choice: BrainChoice) -> Panel:
    panel = wished_panel(name, wishes).panel
    return with_patience(panel, wishes.sets) if choice.kind == MODEL else panel
