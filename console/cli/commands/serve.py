from pathlib import Path
from typing import Annotated

import anyio
import typer

from parley.configs.files import read_text
from parley.configs.settings import Settings, load
from parley.console.cli import logs
from parley.console.cli.options import Config, Nats, Panels, example
from parley.console.cli.output import print_line
from parley.console.operations.health import probed
from parley.console.runtime.signals import serve as serve_until_stopped
from parley.console.runtime.system import join, run_async
from parley.console.runtime.web_part import DEFAULT_PORT, server_of_the_web

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley serve",
        "parley serve --host 0.0.0.0 --read-token-file read.txt --operator-token-file operate.txt",
    )
)
def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="This machine only, unless told otherwise.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help=f"{DEFAULT_PORT} otherwise; 0 takes any."),
    ] = None,
    read_token_file: Annotated[
        Path | None,
        typer.Option("--read-token-file", metavar="FILE", help="Whoever has this token may look."),
    ] = None,
    operator_token_file: Annotated[
        Path | None,
        typer.Option(
            "--operator-token-file", metavar="FILE", help="Whoever has this token may act as well."
        ),
    ] = None,
    mcp: Annotated[
        bool | None,
        typer.Option("--mcp", help="Offer the tools of parley mcp at /mcp, to the same tokens."),
    ] = None,
    a2a: Annotated[
        bool | None,
        typer.Option("--a2a", help="Answer as an agent of A2A at /a2a, to the same tokens."),
    ] = None,
    nats_service: Annotated[
        bool | None,
        typer.Option(
            "--nats-service", help="Answer NATS requests at service.debate.submit, .status."
        ),
    ] = None,
    nats: Nats = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Serve the web page and the HTTP interface.

    Without tokens only to this machine. Tokens may also come from PARLEY_WEB__READ_TOKEN and
    PARLEY_WEB__OPERATOR_TOKEN.
    """
    flags = {
        "nats.url": nats,
        "panels": panels_dir,
        "web.host": host,
        "web.port": port,
        "web.mcp": mcp,
        "web.a2a": a2a,
        "web.nats_service": nats_service,
        "web.read_token": _token(read_token_file),
        "web.operator_token": _token(operator_token_file),
    }
    settings = load(config, flags)
    logs.configure(settings.log.level, settings.log.format)
    raise typer.Exit(run_async(lambda: serve_until_stopped(lambda stop: _serve(settings, stop))))


def _token(path: Path | None) -> str | None:
    return read_text(path).strip() if path is not None else None


async def _serve(settings: Settings, stop: anyio.Event) -> None:
    web_server = server_of_the_web(settings)
    port = settings.web.port if settings.web.port is not None else DEFAULT_PORT
    async with (
        join(settings, create=True) as client,
        web_server(client, settings, port) as page,
        probed(client, [page.hub], stop),
    ):
        print_line(f"The web page is at {page.url}")
        await stop.wait()
