import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from parley.bus.errors import BadInput, NotFound
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, example
from parley.console.reports.figures import count
from parley.console.runtime.system import join, run_async
from parley.console.terminal.writing import say
from parley.console.transcript.text import is_token

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Wanted:
    debates: Sequence[str]
    # All debates of one panel, or of every panel ("*"); None: those that are named.
    panel: str | None


@app.command(
    epilog=example(
        "parley export 01jd7w2k9xqz -o debate.jsonl",
        "parley export 01jd7w2k9xqz 01jd7w2kb3yt -o images.zip",
        "parley export --all -o everything.zip",
    )
)
def export(
    debates: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="The debates to write.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option("--panel", metavar="PANEL", help="Every debate of this panel.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every debate on the server.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="FILE.zip is a bundle; stdout if there is none."
        ),
    ] = None,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Write debates to a file.

    The file holds everything that replay, verify and import need, images included: as JSON Lines
    (images in base64), or as a bundle (zip) if its name ends in .zip.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    if sum((bool(debates), panel is not None, everything)) != 1:
        raise BadInput("name the debates to write, or give --panel or --all")
    if panel is not None and not is_token(panel):
        raise BadInput(f"--panel: {panel!r} is no name of a panel")
    wanted = Wanted(debates or (), "*" if everything else panel)
    run_async(lambda: _export(settings, wanted, out or sys.stdout.buffer))


async def _export(settings: Settings, wanted: Wanted, out: Path | BinaryIO) -> None:
    async with join(settings) as client:
        if wanted.panel is not None:
            logs = await client.logs(wanted.panel)
            if not logs:
                raise NotFound("there is no such debate on this server (parley list shows them)")
        else:
            found = [await client.debate(name) for name in dict.fromkeys(wanted.debates)]
            logs = [await one.log() for one in found]
        await client.export(logs, out)
    if isinstance(out, Path):
        say(f"wrote {count(len(logs), 'debate')} to {out}")
