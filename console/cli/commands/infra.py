from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from parley.agents.worker import queue_of
from parley.brains import load_brain
from parley.bus.contracts.panel import PanelBase
from parley.bus.errors import BadInput
from parley.bus.jetstream.accounts import NO_PERSONAS, account_of, known_keys, offer_of, save
from parley.bus.jetstream.accounts import accounts as accounts_of
from parley.bus.jetstream.differences import Difference
from parley.bus.journal import Journal
from parley.bus.port import Queue
from parley.bus.subjects import Subjects
from parley.configs.panels import panel_path, panel_paths, read_panel
from parley.configs.settings import Settings, load
from parley.connection import layout_of, open_server
from parley.console.cli.exits import DONE, FAILED, warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, Panels, example
from parley.console.cli.output import print_line
from parley.console.runtime.retention import refuse_short_log
from parley.console.runtime.system import Seats, run_async
from parley.panel import Panel
from parley.staff import worker_options

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Make what Parley needs on a NATS server."
)

Rosters = Mapping[str, tuple[str, ...]]
Named = Annotated[
    list[str] | None,
    typer.Option(
        "--panel",
        metavar="NAME",
        help="Only this one, or one made in Python (module:panel); repeatable.",
    ),
]


@app.command(epilog=example("parley infra plan", "parley infra plan --panel forensic"))
def plan(
    panel: Named = None, nats: Nats = None, panels_dir: Panels = None, config: Config = None
) -> None:
    """
    Show what `apply` would make or change: streams, bucket, and the queue of every persona.

    The exit code is 0 if there is nothing to do and 1 if there is.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    rosters = rosters_of(settings, panel)
    refuse_short_log(settings, rosters)
    differences = run_async(lambda: _plan(settings, rosters))
    _tell(differences)
    raise typer.Exit(FAILED if differences else DONE)


@app.command(epilog=example("parley infra apply", "parley infra apply --panel forensic"))
def apply(
    panel: Named = None,
    allow_loss: Annotated[
        bool,
        typer.Option("--allow-loss", help="Lower limits too, which deletes what is beyond them."),
    ] = False,
    nats: Nats = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Make streams, bucket and queues as the settings and panels want them.

    It can be repeated. What cannot be changed without losing what is stored, and a stream of
    somebody else's, is refused before anything is done.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    rosters = rosters_of(settings, panel)
    refuse_short_log(settings, rosters)
    _tell(run_async(lambda: _apply(settings, rosters, allow_loss=allow_loss)))


@app.command(epilog=example("parley infra accounts --panel forensic -o deploy/secrets"))
def accounts(
    directory: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the files go.")
    ],
    panel: Named = None,
    nats_service: Annotated[
        bool | None,
        typer.Option(
            "--nats-service", help="Let the submitter ask a page that is served with this, too."
        ),
    ] = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Write the accounts of a nats-server: one login for every persona, its seed in a file.

    Keys that are in the directory already stay what they are, and so do their logins, whatever
    panel is named. Whom the server shall forget: delete the seed first.
    """
    settings = load(config, {"panels": panels_dir, "web.nats_service": nats_service})
    keys = known_keys(directory)
    rosters = _with_known(rosters_of(settings, panel), settings, keys)
    web = settings.web
    offer = offer_of(settings.nats.prefix, requests=web.nats_service, agents=web.nats_agents)
    made = accounts_of(rosters, layout_of(settings), keys, people_of(settings, panel), offer)
    for path in save(made, directory):
        print_line(str(path))


def rosters_of(settings: Settings, names: Sequence[str] | None = None) -> Rosters:
    """Every persona of each panel that an agent speaks for."""
    in_files = [name for name in names or () if ":" not in name]
    if names:
        paths = [panel_path(name, settings.panels) for name in in_files]
    else:
        paths = list(panel_paths(settings.panels).values())
    rosters = {}
    for path in paths:
        content, warnings = read_panel(path)
        warn(warnings)
        rosters[content.name] = content.agents
    return rosters | {one.name: one.agents for one in _in_python(names or ())}


def people_of(settings: Settings, names: Sequence[str] | None = None) -> Rosters:
    """The people of each panel that has any: they have no login, the page speaks for them."""
    contents = [read_panel(path)[0] for path in panel_paths(settings.panels).values()]
    people = {content.name: tuple(content.people) for content in contents}
    people |= {one.name: tuple(one.people) for one in _in_python(names or ())}
    return {name: some for name, some in people.items() if some}


def _in_python(names: Iterable[str]) -> list[PanelBase]:
    """Of the names, `module:panel`. Raises BadInput."""
    found = []
    for name in names:
        if ":" in name:
            panel = load_brain(name, Path.cwd())
            if not isinstance(panel, Panel):
                raise BadInput(f"--panel {name}: is no parley.Panel")
            found.append(panel.resolved())
    return found


def _with_known(rosters: Rosters, settings: Settings, logins: Iterable[str]) -> Rosters:
    """
    With everybody who has a login already: the server shuts out whom its configuration leaves out.

    Raises BadInput for logins of which no panel knows.
    """
    named = {account_of(*seat) for seat in _seats(rosters)}
    others = set(logins) - NO_PERSONAS - named
    if not others:
        return rosters
    known = {account_of(*seat): seat for seat in _seats(rosters_of(settings))}
    strangers = sorted(others - set(known))
    if strangers:
        raise BadInput(
            f"no panel knows the logins {', '.join(strangers)}, whose seeds are there already:"
            " name their folder with --panels, or delete the seeds to shut them out"
        )
    added = {panel: list(roster) for panel, roster in rosters.items()}
    for panel, persona in (known[name] for name in sorted(others)):
        added.setdefault(panel, []).append(persona)
    return {panel: tuple(roster) for panel, roster in added.items()}


def _seats(rosters: Rosters) -> Seats:
    return [(panel, persona) for panel, roster in rosters.items() for persona in roster]


def queues_of(journal: Journal, settings: Settings, rosters: Rosters) -> list[Queue]:
    options = worker_options(settings)
    return [queue_of(journal, panel, persona, options) for panel, persona in _seats(rosters)]


async def _plan(settings: Settings, rosters: Rosters) -> list[Difference]:
    async with open_server(settings) as bus:
        journal = Journal(bus, Subjects(settings.nats.prefix))
        return await bus.plan(*queues_of(journal, settings, rosters))


async def _apply(settings: Settings, rosters: Rosters, *, allow_loss: bool) -> list[Difference]:
    async with open_server(settings) as bus:
        journal = Journal(bus, Subjects(settings.nats.prefix))
        return await bus.apply(*queues_of(journal, settings, rosters), allow_loss=allow_loss)


def _tell(differences: Sequence[Difference]) -> None:
    for difference in differences:
        mark = f"  ({difference.consequence})" if difference.consequence else ""
        print_line(f"{difference}{mark}")
    if not differences:
        print_line("nothing to do")
