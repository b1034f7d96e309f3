from dataclasses import replace
from typing import Annotated

import typer

from parley.configs.protocols.verdicts import briefs_presets
from parley.configs.settings import load
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, Sets, example
from parley.console.reports.backtest_document import backtest_document
from parley.console.reports.backtests import Backtest, Point, backtest, cases_of, summarise
from parley.console.reports.changes import (
    Changes,
    check,
    read_changes,
    read_sweep,
    variants_of,
)
from parley.console.reports.gold import read_gold
from parley.console.reports.publish import TEXT, Format, GoldFile, Out, Sources, format_of, publish
from parley.console.reports.sources import all_logs, read_groups
from parley.console.runtime.system import tune

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    "backtest",
    epilog=example(
        "parley backtest out --set consensus_threshold=0.2",
        "parley backtest out --set decide.any=plurality",
        "parley backtest debates.jsonl --presets --gold truth.csv -o backtest.html",
        "parley backtest stream --sweep consensus_threshold=0.1..0.5:0.05",
        "parley backtest out --rules --gold truth.csv",
    ),
)
def backtest_(
    sources: Sources,
    sets: Sets = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="Of debates of verdicts: fast, default, precise.")
    ] = None,
    presets: Annotated[
        bool, typer.Option("--presets", help="Compare all three presets with each other.")
    ] = False,
    rules: Annotated[
        bool,
        typer.Option("--rules", help="Compare every decide and stop rule that `lab` compares."),
    ] = False,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep", metavar="K=A..B:STEP", help="The curve over one parameter; or K=A,B,C."
        ),
    ] = None,
    gold: GoldFile = None,
    out: Out = None,
    form: Format = None,
    as_json: Json = False,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Decide recorded debates anew under other parameters.

    No model is asked: the recorded turns go once more through the rules of the coordinator. A
    debate that would have gone on beyond its recording is unknowable, and so is an answer that
    nobody gave. Parameters that are not set stay as each debate had them.
    """
    keep_quiet()
    tune()
    settings = load(config, {"nats.url": nats})
    wanted = format_of(form, out, "json" if as_json else TEXT)
    base = read_changes(sets or (), preset)
    swept = read_sweep(sweep) if sweep is not None else None
    points = swept.points(base) if swept is not None else []
    truths = read_gold(gold)
    logs = all_logs(read_groups(settings, sources))
    panels = [log.state.running_panel for log in logs]
    check([base, *(changes for _, changes in points)], panels)
    cases = cases_of(logs)
    debates = backtest(cases, base, truths)
    truths.check(warn)

    def point(name: str, changes: Changes, value: float | str | None = None) -> Point:
        summary = summarise(backtest(cases, changes, truths))
        return Point(name=name, value=None if isinstance(value, str) else value, summary=summary)

    found = Backtest(
        changes=str(base),
        summary=summarise(debates),
        debates=tuple(debates),
        swept=swept.key if swept is not None else None,
        curve=tuple(
            point(value if isinstance(value, str) else f"{value:g}", changes, value)
            for value, changes in points
        ),
        presets=tuple(point(name, replace(base, preset=name)) for name in briefs_presets())
        if presets
        else (),
        rules=tuple(
            point(name, replace(base, variant=variant))
            for name, variant in variants_of(panels).items()
        )
        if rules
        else (),
    )
    publish(backtest_document(found, all_debates=out is not None), found, wanted, out)
