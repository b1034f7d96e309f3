import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.configs.settings import Settings, load
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.reports.debate_blocks import debate_blocks
from parley.console.reports.document import Block, Document, Folded, Heading, Paragraph, Picture
from parley.console.reports.figures import count
from parley.console.reports.gold import read_gold
from parley.console.reports.outcomes import Outcome
from parley.console.reports.page import image
from parley.console.reports.paper import FORMATS, paper_rows, table
from parley.console.reports.publish import (
    TEXT,
    Format,
    GoldFile,
    Out,
    Sources,
    format_of,
    publish,
    write_text,
)
from parley.console.reports.report_document import price_of, report_document
from parley.console.reports.sources import read_blob, read_groups
from parley.console.reports.summary import report_of
from parley.console.runtime.inputs import IMAGE_BLOB
from parley.console.runtime.system import tune
from parley.console.transcript.plain import spoken

# More debates than these are told in figures only.
MOST_TOLD = 25
SHOWN = ("image/jpeg", "image/png", "image/webp")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley report out -o report.html",
        "parley report out --gold truth.csv -o report.html",
        "parley report 01jd7w2k9xqz -o debate.html",
        "parley report debates.jsonl --format md",
        "parley report out --gold truth.csv --table tex -o table.tex",
    )
)
def report(
    sources: Sources,
    gold: GoldFile = None,
    out: Out = None,
    form: Format = None,
    paper: Annotated[
        str | None,
        typer.Option("--table", help="Only the table for a paper: md, csv or tex."),
    ] = None,
    as_json: Json = False,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Report on debates: one page, Markdown or JSON.

    The page holds everything it shows and opens from a disk without a network. A single debate is
    told in full; a few are told one by one behind the figures of all of them.
    """
    keep_quiet()
    tune()
    settings = load(config, {"nats.url": nats})
    wanted = format_of(form, out, "json" if as_json else _usual(out))
    truths = read_gold(gold)
    if paper is not None:
        if paper not in FORMATS:
            raise BadInput(f"--table: {name_unknown('format', paper, FORMATS)}")
        write_text(table(paper_rows(read_groups(settings, sources), truths), paper), out)
        return
    found, outcomes = report_of(read_groups(settings, sources), truths)
    truths.check(warn)
    title = f"Report on {', '.join(_short(name) for name in sources)}"
    document = report_document(found, title, tuple(_told(outcomes)))
    if len(outcomes) == 1:
        document = _alone(outcomes[0], tuple(_image(settings, sources, outcomes[0])))
    publish(document, found, wanted, out)


def _usual(out: Path | None) -> str:
    """Nobody reads a page in a terminal."""
    return TEXT if out is None and sys.stdout.isatty() else "html"


def _short(name: str) -> str:
    path = Path(name)
    return path.resolve().name if path.exists() else name


def _told(outcomes: Sequence[Outcome]) -> Iterator[Block]:
    if len(outcomes) > MOST_TOLD:
        return
    yield Heading("Debate by debate")
    for one in outcomes:
        row = one.row
        summary = f"{row.debate_id}: {row.answer or row.status} ({row.reason})"
        yield Folded(summary, _in_full(one))


def _in_full(outcome: Outcome) -> tuple[Block, ...]:
    if not outcome.is_readable:
        return (Paragraph("Its records make no sense: see `parley verify`."),)
    return tuple(debate_blocks(outcome.log.ref, outcome.log.state, outcome.log.facts))


def _image(settings: Settings, sources: Sequence[str], outcome: Outcome) -> Iterator[Block]:
    """What was debated, if it is an image that browsers show and it still is there."""
    ref = outcome.log.state.input.blobs.get(IMAGE_BLOB)
    if ref is None or ref.media_type not in SHOWN:
        return
    data = read_blob(settings, sources, ref)
    if data is not None:
        shown = image(data, ref.media_type, "the image that was debated")
        yield Picture(f'<figure class="photo">{shown}</figure>')


def _alone(outcome: Outcome, debated: tuple[Block, ...]) -> Document:
    row = outcome.row
    return Document(
        title=row.topic or row.debate_id,
        subtitle=(
            f"debate {row.debate_id} of {row.panel}: {row.status}, {spoken(row.reason)},"
            f" {count(row.rounds, 'round')}, {row.calls} of {row.calls_without_early_stop} turns,"
            f" {row.seconds:.2f} s, {price_of(row)}"
        ),
        blocks=(*debated, *_in_full(outcome)),
    )
