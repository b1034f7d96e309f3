import typer

from parley.bus.extras import extra
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, Panels, example
from parley.console.runtime.system import join, run_async

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley mcp --nats nats://127.0.0.1:4222", "parley serve --mcp"))
def mcp(nats: Nats = None, panels_dir: Panels = None, config: Config = None) -> None:
    """
    Offer debates as tools to a program that speaks MCP.

    Over stdin and stdout: the program starts this command itself. Over HTTP the tools stand at /mcp beside the page:
    parley serve --mcp.
    """
    keep_quiet()
    with extra("mcp", "parley mcp"):
        import parley.console.mcp.server  # noqa: F401, PLC0415
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    run_async(lambda: _serve(settings))


async def _serve(settings: Settings) -> None:
    from parley.console.mcp.server import serve_stdio  # noqa: PLC0415 - as above

    async with join(settings) as client:
        await serve_stdio(client)
