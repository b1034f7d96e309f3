import json
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.settings import Settings, load
from parley.connection import new_id
from parley.console.cli.commands.run import submit_and_follow, tell_results
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import (
    Brain,
    Config,
    ExperimentFile,
    Id,
    Inputs,
    Json,
    Labels,
    Language,
    Limits,
    Nats,
    PanelName,
    Panels,
    Preset,
    ProtocolName,
    Regime,
    Roster,
    Sets,
    Thresholds,
    Topic,
    TotalLimits,
    example,
    language_of,
    names,
    with_protocol,
    with_thresholds,
)
from parley.console.cli.output import print_line
from parley.console.images.files import debates_images, usable_photos
from parley.console.runtime.brains import OWN, parse_brain
from parley.console.runtime.budgets import limits_of
from parley.console.runtime.plan import Wishes, experiment_of, wished_panel
from parley.console.runtime.retention import refuse_long_debates
from parley.console.runtime.submit import Plan, for_those_seated, plan, submit_all
from parley.console.runtime.system import join, run_async

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley submit forensic photo.jpg --id case-17 --preset precise",
        "parley submit forensic photo.jpg --brain script:debate.yaml",
        "parley submit review change.diff --wait --topic 'Pull request 17' --label team=core",
    )
)
def submit(
    panel: PanelName,
    inputs: Inputs = None,
    brain: Brain = "auto",
    preset: Preset = None,
    protocol: ProtocolName = None,
    lang: Language = "auto",
    experiment: ExperimentFile = None,
    thresholds: Thresholds = None,
    sets: Sets = None,
    roster: Roster = None,
    regime: Regime = None,
    given_id: Id = None,
    topic: Topic = None,
    labels: Labels = None,
    budget: Limits = None,
    total_budget: TotalLimits = None,
    nats: Nats = None,
    panels_dir: Panels = None,
    config: Config = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Follow the debate and exit with its outcome, as run does."),
    ] = False,
    as_json: Json = False,
) -> None:
    """
    Submit a debate to a running system.

    Prints the id of each debate; with --wait what happens, and the result. Agents that think by model are given more time than others; say
    --brain model if they are yet to come, or if your login may not ask who is there.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    wishes = Wishes(
        preset,
        with_thresholds(with_protocol(sets, protocol), thresholds),
        names(roster),
        settings.panels,
        regime,
        language_of(lang),
        experiment=experiment_of(experiment, panel, settings.panels),
        thresholds=settings.thresholds,
        usual_language=settings.model.language,
    )
    choice = parse_brain(brain, settings.panels)
    if choice.kind == OWN:
        raise BadInput(
            f"--brain {choice.spec}: submit starts no agents: seat it where they run, with parley"
            " agent, up or run"
        )
    if choice.follows_rules and debates_images(wished_panel(panel, wishes).panel):
        inputs = [str(path) for path in usable_photos(inputs or ())]
    limits = limits_of(budget, total_budget, new_id())
    wanted = plan(
        panel, inputs or (), choice, wishes, given_id, limits, topic=topic, labels=labels or ()
    )
    warn(wanted.warnings)
    refuse_long_debates(settings, wanted.panels)
    if wait:
        raise typer.Exit(run_async(lambda: _submit_and_wait(settings, wanted, as_json=as_json)))
    run_async(lambda: _submit(settings, wanted))
    for ref in wanted.refs:
        print_line(json.dumps({"debate_id": ref.id, "panel": ref.panel}) if as_json else ref.id)


async def _submit(settings: Settings, wanted: Plan) -> None:
    async with join(settings) as client:
        await submit_all(client, await for_those_seated(client, wanted))


async def _submit_and_wait(settings: Settings, wanted: Plan, *, as_json: bool) -> int:
    async with join(settings) as client:
        suiting = await for_those_seated(client, wanted)
        states = await submit_and_follow(client, suiting, as_json=as_json)
    return tell_results(suiting, states, as_json=as_json)
