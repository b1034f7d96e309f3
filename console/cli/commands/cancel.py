from typing import Annotated

import typer

from parley.bus.contracts.facts import CancelRequested
from parley.bus.errors import Conflict
from parley.configs.settings import Settings, load
from parley.console.archive.logs import log_of
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, DebateId, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.follow import find
from parley.console.runtime.system import open_journal, run_async
from parley.coordinator.core.reducer import fold

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
    async with open_journal(settings, create=False) as journal:
        ref = await find(journal, debate)
        state = fold((await log_of(journal, ref)).facts)
        if state.closed is not None:
            raise Conflict(f"{debate} is closed already ({state.closed.status.value})")
        try:
            await journal.cancel(ref, CancelRequested(why=why))
        except Conflict as error:
            raise Conflict(f"{debate} was cancelled before") from error
