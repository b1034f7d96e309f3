from typing import Annotated

import typer

from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, DebateId, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley delete 01jd7w2k9xqz --why 'names a customer'"))
def delete(
    debate: DebateId,
    why: Annotated[str, typer.Option("--why", help="Recorded on the tombstone.")] = "",
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Delete a debate for good.

    A closed one, from the log and from the archive. A tombstone stays: nothing is ever debated under this id again. Images and other blobs, which
    debates may share, go by their age (retention.blob_days). Copies in files are yours to delete.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    print_line(f"{run_async(lambda: _delete(settings, debate, why))}: deleted")


async def _delete(settings: Settings, name: str, why: str) -> str:
    async with join(settings) as client:
        one = await client.debate(name)
        await one.delete(why)
        return one.id
