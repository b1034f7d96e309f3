import json
from typing import Annotated

import typer

from parley.bus.schema import asyncapi, json_schema
from parley.configs.settings import load
from parley.console.cli.options import Config, example
from parley.console.cli.output import print_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley schema > facts.json", "parley schema --asyncapi"))
def schema(
    as_asyncapi: Annotated[
        bool,
        typer.Option("--asyncapi", help="An AsyncAPI 3.1 document: subjects, writers, messages."),
    ] = False,
    config: Config = None,
) -> None:
    """
    Print the schema of everything on the bus.

    JSON Schema of every fact; with --asyncapi also the subjects they travel under.
    """
    document = asyncapi(load(config).nats.prefix) if as_asyncapi else json_schema()
    print_line(json.dumps(document, indent=2, ensure_ascii=False))
