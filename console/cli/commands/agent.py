from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import anyio
import typer

from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.panels import panel_path, read_panel
from parley.configs.settings import Settings, load
from parley.console.cli import logs
from parley.console.cli.exits import warn
from parley.console.cli.options import Brains, Config, Nats, Panels, example
from parley.console.operations.health import probed
from parley.console.runtime.brains import BrainChoice, open_brains, parse_brains
from parley.console.runtime.plan import panels_of
from parley.console.runtime.signals import serve
from parley.console.runtime.system import Seats, join, run_async
from parley.staff import workers

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley agent forensic/noise --concurrency 4",
        "parley agent forensic",
        "parley agent review --brain model --brain security=mypkg.brains:Security",
    )
)
def agent(
    who: Annotated[
        list[str],
        typer.Argument(metavar="PANEL/PERSONA", help="Whom to run; PANEL alone means everybody."),
    ],
    brain: Brains = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", help="How many asks to think about at once.")
    ] = None,
    nats: Nats = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Run agents: one process for one or more personas.

    Replicas of the same persona share its work. SIGTERM lets it finish what it thinks about.
    """
    flags = {"nats.url": nats, "agent.concurrency": concurrency, "panels": panels_dir}
    settings = load(config, flags)
    logs.configure(settings.log.level, settings.log.format)
    seats = seats_of(who, settings.panels)
    choice = parse_brains(brain or (), settings.panels)
    raise typer.Exit(run_async(lambda: serve(lambda stop: _speak(settings, seats, choice, stop))))


def seats_of(who: Sequence[str], panels_dir: Path | None) -> Seats:
    """Raises BadInput with one line for each name that nobody knows."""
    seats: dict[tuple[str, str], None] = {}
    mistakes = []
    for name in who:
        panel, _, persona = name.partition("/")
        try:
            content, warnings = read_panel(panel_path(panel, panels_dir))
        except BadInput as error:
            mistakes.append(str(error))
            continue
        warn(warnings)
        if persona in content.people:
            mistakes.append(f"{name}: a person sits there: parley sit {name}")
        elif persona and persona not in content.everybody:
            mistakes.append(f"{panel}: {name_unknown('persona', persona, content.everybody)}")
        seats |= dict.fromkeys((panel, one) for one in ([persona] if persona else content.agents))
    if mistakes:
        raise BadInput("\n".join(mistakes))
    return list(seats)


async def _speak(settings: Settings, seats: Seats, choice: BrainChoice, stop: anyio.Event) -> None:
    panels = panels_of(seats, settings.panels)
    async with (
        join(settings, create=True) as client,
        open_brains(choice, settings, panels, seats, client) as seated,
    ):
        staff = workers(client.journal, settings, seated)
        async with (
            probed(client, staff, stop),
            anyio.create_task_group() as tasks,
        ):
            for worker in staff:
                tasks.start_soon(worker.run, stop)
