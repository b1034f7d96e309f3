import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, NotFound
from parley.configs.settings import Settings, load
from parley.console.archive import blob_line, blobs_in, fact_lines
from parley.console.exits import warn
from parley.console.logbook import log_of
from parley.console.logs import keep_quiet
from parley.console.options import Config, Nats, example
from parley.console.system import open_journal, run_async
from parley.console.watching import find

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley export 01jd7w2k9xqz -o debate.jsonl"))
def export(
    debates: Annotated[list[str], typer.Argument(metavar="ID", help="The debates to write.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="stdout otherwise.")
    ] = None,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Write debates to a file.

    The file holds everything that replay, verify and import need, images included.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    lines = run_async(lambda: _lines(settings, debates))
    data = "".join(f"{line}\n" for line in lines).encode()
    if out is None:
        sys.stdout.buffer.write(data)
        return
    try:
        out.write_bytes(data)
    except OSError as error:
        raise BadInput(f"{out}: cannot be written: {error.strerror}") from error


async def _lines(settings: Settings, debates: Sequence[str]) -> list[str]:
    lines: list[str] = []
    blobs: dict[str, BlobRef] = {}
    async with open_journal(settings, create=False) as journal:
        for debate in debates:
            log = await log_of(journal, await find(journal, debate))
            lines += fact_lines(log.ref, log.recorded)
            blobs |= {ref.sha256: ref for ref in blobs_in(log.facts)}
        for ref in blobs.values():
            try:
                lines.append(blob_line(ref, await journal.bus.get_blob(ref)))
            except NotFound as error:
                warn([str(error)])
    return lines
