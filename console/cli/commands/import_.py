from pathlib import Path
from typing import Annotated

import typer

from parley.configs.settings import Settings, load
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async
from parley.files.reader import Archive
from parley.moving import read_whole

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("import", epilog=example("parley import debates.jsonl", "parley import images.zip"))
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What parley export wrote.")],
    go_on: Annotated[
        bool,
        typer.Option("--continue", help="Let debates that are not closed go on here."),
    ] = False,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Read exported debates into a server.

    Closed ones go to the archive: nobody is asked anything because of an import. Importing twice
    changes nothing. A debate that has gone another way on the server is refused.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    archive = read_whole(file, warn)
    run_async(lambda: _import(settings, archive, go_on=go_on))


async def _import(settings: Settings, archive: Archive, *, go_on: bool) -> None:
    async with join(settings, create=True) as client:
        async for ref, said in client.take_in(archive, go_on=go_on):
            print_line(f"{ref}: {said}")
