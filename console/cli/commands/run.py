import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from functools import partial

import typer

from parley.bus.contracts.facts import Status
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.client import Client
from parley.configs.settings import Settings, load
from parley.connection import new_id
from parley.console.cli.exits import DONE, FAILED, warn
from parley.console.cli.logs import configure, keep_quiet
from parley.console.cli.options import (
    Brains,
    Config,
    ExperimentFile,
    Id,
    Inputs,
    Json,
    Labels,
    Language,
    Limits,
    NatsOrPrivate,
    Out,
    PanelName,
    Panels,
    Preset,
    ProtocolName,
    References,
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
from parley.console.cli.output import model_line, print_line
from parley.console.images.files import debates_images, photo_job, photo_runner
from parley.console.runtime.brains import BrainChoice, parse_brains
from parley.console.runtime.budgets import limits_of
from parley.console.runtime.follow import follow_to_the_end
from parley.console.runtime.host import host_with_agents
from parley.console.runtime.plan import Wishes, experiment_of, wished_panel
from parley.console.runtime.submit import (
    Plan,
    check_answerable,
    check_rules,
    for_those_seated,
    plan,
    submit_all,
)
from parley.console.runtime.system import run_async
from parley.console.terminal.asking import people_here
from parley.console.terminal.views import Lines, Silence, View, view_for
from parley.console.transcript.costs import tell_total
from parley.coordinator.core.results import result_of
from parley.coordinator.core.state import DebateState

QUESTION_FILE = """

\b
Question file:
  question: Should the library open at night?
  language: en              # or ko
  options:                  # two or more
    - {id: staffed, text: Open until midnight with staff}
    - {id: keep, text: Keep the present hours}
  criteria:                 # weight: up to 1; people: it is about those affected
    - {name: yearly cost, weight: 0.8}
    - {name: study places, weight: 0.9, people: true}
  evidence:                 # for or against an option on a criterion, up to 1
    - {option: staffed, criterion: yearly cost, against: 0.7, text: Two salaries.}
    - {option: staffed, criterion: study places, for: 0.8, text: 900 signatures.}
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley run forensic photo.jpg --out report",
        "parley run forensic photos/ more/*.png --preset precise --json",
        "parley run forensic photo.jpg --brain script:debate.yaml",
        "parley run forensic *.jpg --brain script:debate.yaml --preset fast --json",
        'parley run absa "The food was great but the service was slow." --protocol v1',
        "PARLEY_MODEL__NAME=gpt-5-mini parley run forensic photo.jpg --brain model",
        "parley run deliberation question.yaml --regime L3 --set cooldown=3",
        'parley run deliberation "Should the library open at night?" --brain model',
    )
    + QUESTION_FILE
)
def run(
    panel: PanelName,
    inputs: Inputs = None,
    brain: Brains = None,
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
    nats: NatsOrPrivate = None,
    panels_dir: Panels = None,
    config: Config = None,
    out: Out = None,
    references: References = None,
    as_json: Json = False,
) -> None:
    """
    Run debates and print their results.

    Without --nats everything runs here, on a private server that is gone afterwards. On a server
    where a coordinator is at work the debates are left to it and its agents.

    A deliberation takes a question file; a question in free text needs a model or a script.

    An image that cannot be looked at is named on stderr, and the others go on. The exit code is 2
    if there was one, 1 if any debate failed or was cancelled.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    choice = parse_brains(brain or (), settings.panels)
    if choice.has_own:
        # Its author is told what is wrong with it.
        configure("warning")
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
    if choice.follows_rules:
        chosen = wished_panel(panel, wishes)
        if debates_images(chosen.panel):
            warn(chosen.warnings)
            job = photo_job(chosen.panel, inputs or (), references or (), given_id, out, as_json)
            job = replace(job, wishes=wishes)
            raise typer.Exit(run_async(partial(photo_runner(), settings, job, choice)))
    if out is not None or references:
        raise BadInput("--out and --reference go with images, and with --brain auto or rule")
    limits = limits_of(budget, total_budget, new_id())
    wanted = plan(
        panel, inputs or (), choice, wishes, given_id, limits, topic=topic, labels=labels or ()
    )
    if not settings.names_a_server:
        check_answerable(wanted)
        check_rules(choice, wanted.panel, settings.panels)
    warn(wanted.warnings)
    states = run_async(lambda: run_here(settings, wanted, choice, as_json=as_json))
    raise typer.Exit(tell_results(wanted, states, as_json=as_json))


async def run_here(
    settings: Settings, wanted: Plan, choice: BrainChoice, *, as_json: bool
) -> dict[DebateRef, DebateState]:
    several = len(wanted.refs) > 1
    if not as_json and not several:
        settings = heard_while_speaking(settings)
    async with host_with_agents(settings, choice, wanted.panels) as host:
        if host.is_ours:
            check_answerable(wanted)
            check_rules(choice, wanted.panel, settings.panels)
        else:
            wanted = await for_those_seated(host.client, wanted)
        return await submit_and_follow(host.client, wanted, as_json=as_json, here=host.is_ours)


async def submit_and_follow(
    client: Client, wanted: Plan, *, as_json: bool, here: bool = False
) -> dict[DebateRef, DebateState]:
    """
    The final states; what happens on the way is shown unless JSON is wanted. Where the agents are
    `here`, so are the people: they are asked at this terminal.
    """
    after = await client.reading.position()
    await submit_all(client, wanted)
    asks_people = here and any(one.people for one in wanted.panels)
    several = len(wanted.refs) > 1
    async with AsyncExitStack() as stack:
        view = stack.enter_context(_view(several=several, as_json=as_json, lines=asks_people))
        if asks_people:
            view = await stack.enter_async_context(people_here(client, wanted.refs, view))
        return await follow_to_the_end(client, wanted.refs, view, after=after)


def _view(*, several: bool, as_json: bool, lines: bool) -> AbstractContextManager[View]:
    """A board that is drawn again and again leaves no room for questions."""
    if as_json:
        return nullcontext(Silence())
    return nullcontext(Lines(named=several)) if lines else view_for(several=several)


def tell_results(wanted: Plan, states: Mapping[DebateRef, DebateState], *, as_json: bool) -> int:
    """The exit code; with JSON a line a debate is printed, else what models cost."""
    for ref in wanted.refs:
        told = [model_line(result_of(ref, states[ref]))] if as_json else tell_total(states[ref])
        for line in told:
            print_line(line)
    return DONE if all(map(_completed, states.values())) else FAILED


def heard_while_speaking(settings: Settings) -> Settings:
    """On a terminal somebody watches: a model streams, unless the settings say otherwise."""
    if settings.model.stream is not None or not sys.stdout.isatty():
        return settings
    model = settings.model.model_copy(update={"stream": True})
    return settings.model_copy(update={"model": model})


def _completed(state: DebateState) -> bool:
    return state.closed is not None and state.closed.status is Status.COMPLETED
