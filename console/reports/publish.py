"""Where a report goes and in which form; the options that `report` and `backtest` share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel

from parley.bus.errors import BadInput
from parley.configs.names import name_unknown
from parley.console.cli.output import model_line, print_line
from parley.console.reports.document import Document
from parley.console.reports.markdown import to_markdown, to_text
from parley.console.reports.page import to_html
from parley.files.reader import written_whole

TEXT = "text"
FORMATS = ("html", "md", "json", TEXT)

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR|FILE|ID",
        help="Directories of batch or run --out, exported files, debates on the server; `stream`"
        " is all of them.",
    ),
]
GoldFile = Annotated[
    Path | None,
    typer.Option(
        "--gold",
        metavar="FILE",
        help="What is true: CSV or JSON Lines with id and label.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="FILE", help="stdout if there is none.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="html, md, json or text; as the file's name says otherwise."),
]

_RENDERERS: Mapping[str, Callable[[Document], str]] = {
    "html": to_html,
    "md": to_markdown,
    TEXT: to_text,
}


def format_of(given: str | None, out: Path | None, usual: str) -> str:
    if given is not None:
        if given not in FORMATS:
            raise BadInput(f"--format: {name_unknown('format', given, FORMATS)}")
        return given
    suffix = out.suffix.lower().removeprefix(".") if out is not None else ""
    return {"htm": "html", "markdown": "md"}.get(suffix, suffix if suffix in FORMATS else usual)


def publish(document: Document, figures: BaseModel, form: str, out: Path | None) -> None:
    write_text(_rendered(document, figures, form), out)


def write_text(content: str, out: Path | None) -> None:
    text = content.rstrip("\n")
    if out is None:
        print_line(text)
        return
    with written_whole(out) as part:
        part.write_text(f"{text}\n", encoding="utf-8")
    print_line(f"report: {out}")


def _rendered(document: Document, figures: BaseModel, form: str) -> str:
    if form == "json":
        return model_line(figures)
    return _RENDERERS[form](document)
