from typing import Annotated

import anyio
import typer

from parley.configs.settings import Settings, load
from parley.console import logs
from parley.console.options import Config, Nats, example
from parley.console.output import print_line
from parley.console.serving import serve as serve_until_stopped
from parley.console.system import open_journal, run_async
from parley.console.web.server import web_server

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley serve", "parley serve --port 8090 --nats nats://host:4222"))
def serve(
    host: Annotated[str, typer.Option("--host")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8090,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """Serve the web page and the HTTP interface of a running system."""
    settings = load(config, {"nats.url": nats})
    logs.configure(settings.log.level, settings.log.format)
    raise typer.Exit(
        run_async(lambda: serve_until_stopped(lambda stop: _serve(settings, host, port, stop)))
    )


async def _serve(settings: Settings, host: str, port: int, stop: anyio.Event) -> None:
    async with (
        open_journal(settings, create=True) as journal,
        web_server(journal, host, port) as url,
    ):
        print_line(f"Parley is at {url}")
        await stop.wait()
