import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Protocol

import typer

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, NotFound
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.archive.bundle import SUFFIX, BundleWriter
from parley.console.archive.logs import Log, every_log, log_of
from parley.console.archive.reader import Recorded, blob_line, blobs_in, fact_lines, written_whole
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, example
from parley.console.runtime.follow import find
from parley.console.runtime.system import open_journal, run_async
from parley.console.transcript.text import is_token

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Writer(Protocol):
    """Debates first, then the blobs they refer to."""

    def debate(self, ref: DebateRef, recorded: Sequence[Recorded], /) -> None: ...

    def blob(self, ref: BlobRef, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Lines:
    file: BinaryIO

    def debate(self, ref: DebateRef, recorded: Sequence[Recorded]) -> None:
        self.file.writelines(f"{line}\n".encode() for line in fact_lines(ref, recorded))

    def blob(self, ref: BlobRef, data: bytes) -> None:
        self.file.write(f"{blob_line(ref, data)}\n".encode())


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
    if out is None:
        run_async(lambda: _write(settings, wanted, Lines(sys.stdout.buffer)))
        return
    with written_whole(out) as part:
        if out.suffix.lower() == SUFFIX:
            bundle = BundleWriter(part)
            run_async(lambda: _write(settings, wanted, bundle))
            bundle.close()
        else:
            with part.open("wb") as file:
                run_async(lambda: _write(settings, wanted, Lines(file)))


async def _write(settings: Settings, wanted: Wanted, writer: Writer) -> None:
    blobs: dict[str, BlobRef] = {}
    async with open_journal(settings, create=False) as journal:
        async for log in _logs(journal, wanted):
            writer.debate(log.ref, log.recorded)
            blobs |= {ref.sha256: ref for ref in blobs_in(log.facts)}
        for ref in blobs.values():
            try:
                writer.blob(ref, await journal.bus.get_blob(ref))
            except NotFound as error:
                warn([str(error)])


async def _logs(journal: Journal, wanted: Wanted) -> AsyncIterator[Log]:
    if wanted.panel is not None:
        logs = await every_log(journal, wanted.panel)
        if not logs:
            raise NotFound("there is no such debate on this server (parley list shows them)")
        for log in logs:
            yield log
    for name in dict.fromkeys(wanted.debates):
        yield await log_of(journal, await find(journal, name))
