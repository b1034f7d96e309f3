from typing import Annotated

import typer

from parley.bus.errors import Conflict
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, DebateId, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley cancel 01jd7w2k9xqz --why 'wrong photo'"))
def cancel(
    debate: DebateId,
    why: Annotated[str, typer.Option("--why", help="Recorded in the log.")] = "",
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Cancel a debate.

    It closes with the statements so far. A debate that ends at the same moment may win.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    run_async(lambda: _cancel(settings, debate, why))
    print_line(f"{debate}: cancellation requested")


async def _cancel(settings: Settings, debate: str, why: str) -> None:
    async with join(settings) as client:
        one = await client.debate(debate)
        if not await one.cancel(why):
            closed = (await one.log()).state.closed
            raise Conflict(
                f"{debate} was cancelled before"
                if closed is None
                else f"{debate} is closed already ({closed.status.value})"
            )
