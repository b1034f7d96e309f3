"""Lines for people: wrapped between words on a terminal, each whole in a pipe."""

import sys

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from parley.console.cli.output import print_line

_HANGING = 2


def console_of_terminal() -> Console | None:
    """None where stdout is no terminal."""
    return Console(highlight=False) if sys.stdout.isatty() else None


def say(line: str) -> None:
    write(console_of_terminal(), line)


def write(console: Console | None, line: str, style: str = "", name: str = "") -> None:
    """`name` stands before the line, which is told apart from it by colour."""
    if console is None:
        print_line(f"{name}{line}")
    else:
        console.print(wrapped(console, line, style, name), soft_wrap=True)


def wrapped(console: Console, line: str, style: str = "", name: str = "") -> Text:
    """What does not fit goes on below, a little further in than the line began."""
    said = line.lstrip(" ")
    before = name + " " * (len(line) - len(said))
    hanging = cell_len(before) + _HANGING
    room = max(20, console.width - hanging)
    parts = Text(said, style).wrap(console, room)
    return Text.assemble((before, "dim"), Text("\n" + " " * hanging).join(parts))
