from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import anyio
import typer

from parley.client import host
from parley.configs.panels import panel_paths, read_panel
from parley.configs.settings import Settings, load
from parley.console.cli import logs
from parley.console.cli.commands.agent import seats_of
from parley.console.cli.exits import warn
from parley.console.cli.options import Brains, Config, NatsOrPrivate, Panels, example
from parley.console.cli.output import first_debate, own_command, print_line
from parley.console.operations.health import probed
from parley.console.runtime.brains import BrainChoice, parse_brains
from parley.console.runtime.host import at_work
from parley.console.runtime.notify import notifying
from parley.console.runtime.plan import panels_of
from parley.console.runtime.signals import serve
from parley.console.runtime.system import Seats, run_async
from parley.console.runtime.web_part import served

DEFAULT_PORT = 4222
DEFAULT_STORE = Path(".parley")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley up",
        "parley up --port 4333 --store /var/lib/parley",
        "parley up --without review/security --brain maintainer=mypkg.brains:Maintainer",
    )
)
def up(
    port: Annotated[int, typer.Option("--port", min=1, max=65535)] = DEFAULT_PORT,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Where debates are kept; .parley otherwise."),
    ] = None,
    brain: Brains = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without", metavar="PANEL/PERSONA", help="Leave a seat free for an agent elsewhere."
        ),
    ] = None,
    web: Annotated[bool, typer.Option("--web/--no-web", help="Serve the web page, too.")] = True,
    nats: NatsOrPrivate = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Run everything here: server, coordinator, agents, web page.

    Debates stay in the store and go on where they were at the next start.
    """
    settings = load(config, {"nats.url": nats, "embedded.store": store, "panels": panels_dir})
    # Its greeting is for people; what agents say of themselves is on the page.
    logs.configure(settings.log.level, settings.log.format, auto="warning")
    choice = parse_brains(brain or (), settings.panels)
    free = set(seats_of(without or (), settings.panels))
    seats = [one for one in _everybody(settings.panels) if one not in free]
    raise typer.Exit(
        run_async(lambda: serve(lambda stop: _up(settings, port, seats, choice, stop, web=web)))
    )


def _everybody(panels_dir: Path | None) -> Seats:
    seats = []
    for path in panel_paths(panels_dir).values():
        content, warnings = read_panel(path)
        warn(warnings)
        seats += [(content.name, persona) for persona in content.agents]
    return seats


async def _up(
    settings: Settings,
    port: int,
    seats: Seats,
    choice: BrainChoice,
    stop: anyio.Event,
    *,
    web: bool,
) -> None:
    store = settings.embedded.store or DEFAULT_STORE
    async with AsyncExitStack() as stack:
        own_server = not settings.names_a_server
        client = await stack.enter_async_context(host(settings, warn=warn, port=port, store=store))
        settings = client.settings
        panels = panels_of(seats, settings.panels)
        staff = await stack.enter_async_context(at_work(client, choice, panels, seats))
        await stack.enter_async_context(probed(client, staff, stop))
        await stack.enter_async_context(notifying(client.journal, settings))
        page = await stack.enter_async_context(served(client, settings)) if web else None
        _explain(settings, port, page, own_server=own_server)
        await stop.wait()


def _explain(settings: Settings, port: int, page: str | None, *, own_server: bool) -> None:
    usual = port == DEFAULT_PORT or not own_server
    where = "" if usual else f" --nats nats://127.0.0.1:{port}"
    if own_server:
        print_line(f"Parley is up at nats://127.0.0.1:{port}. In another terminal:")
    else:
        print_line("Parley is up. In another terminal:")
    command = own_command()
    print_line(f"  {command} submit {first_debate()}{where}")
    print_line(f"  {command} watch{where}")
    print_line(f"  {command} list{where}")
    if page is not None:
        print_line(f"The web page is at {page}")
    if own_server:
        print_line(f"Debates are kept in {settings.embedded.store or DEFAULT_STORE}.")
    print_line("Ctrl-C stops it.")
