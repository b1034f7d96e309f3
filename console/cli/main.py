"""The command `parley`. What each command does stands in its own module, imported when called."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command
from typing_extensions import override

from parley import __version__
from parley.console.cli.exits import INTERRUPTED, Ending
from parley.console.cli.lazy import LazyGroup
from parley.console.cli.options import example
from parley.console.cli.overview import ABOUT, EXAMPLES, SECTIONS, VERBOSE, VERSION, overview

_ending = Ending()


class Commands(LazyGroup):
    shared = ("verbose",)
    sections = SECTIONS

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(overview() + "\n")


app = typer.Typer(cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"parley {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    help=ABOUT,
    epilog=example(*EXAMPLES),
)
def parley(
    context: typer.Context,
    verbose: Annotated[  # noqa: ARG001 - its callback takes it
        bool,
        typer.Option(
            "--verbose",
            help=VERBOSE,
            callback=_ending.be_verbose,
            expose_value=False,
        ),
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback takes it
        bool,
        typer.Option("--version", help=VERSION, callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(overview())


def call(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code."""
    _ending.verbose = False
    command = get_command(app)
    return _ending.run(
        lambda: command.main(args=arguments, prog_name="parley", standalone_mode=False)
    )


def main() -> None:
    code = call(sys.argv[1:])
    if code == INTERRUPTED:
        # A thread that still waits for a line from the keyboard would be waited for.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
