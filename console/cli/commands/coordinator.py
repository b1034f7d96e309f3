from typing import Annotated

import anyio
import typer

from parley.configs.settings import Settings, load
from parley.console.cli import logs
from parley.console.cli.options import Config, Nats, example
from parley.console.operations.health import probed
from parley.console.runtime.signals import serve
from parley.console.runtime.system import join, run_async
from parley.staff import coordinator_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley coordinator --nats nats://127.0.0.1:4222"))
def coordinator(
    nats: Nats = None,
    name: Annotated[
        str | None, typer.Option("--name", help="A name that no other replica has.")
    ] = None,
    config: Config = None,
) -> None:
    """
    Run a coordinator.

    Any number can run at once: they share the debates, and take over those of one that dies.
    """
    settings = load(config, {"nats.url": nats, "coordinator.name": name})
    logs.configure(settings.log.level, settings.log.format)
    raise typer.Exit(run_async(lambda: serve(lambda stop: _coordinate(settings, stop))))


async def _coordinate(settings: Settings, stop: anyio.Event) -> None:
    async with join(settings, create=True) as client:
        one = coordinator_of(client.journal, settings)
        async with probed(client, [one], stop):
            await one.run(stop)
