import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.contracts.registry import CONTRACTS
from parley.bus.errors import BadInput
from parley.configs.panels import BUILT_IN, panel_paths
from parley.console.cli.options import example
from parley.console.cli.output import print_line
from parley.console.transcript.text import is_token, one_line

SCAFFOLD = BUILT_IN.with_name("scaffold")
_WORDS = re.compile(r"\b(?:NAME|DIR)\b")
_TEXT = "Let us answer the telephone at weekends as well."

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Write a panel of your own to start from."
)


@app.callback(epilog=example("parley new panel proposals"))
def new() -> None:
    """Write a panel of your own to start from."""


@app.command(
    epilog=example("parley new panel proposals", "parley new panel proposals --dir my-panels")
)
def panel(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new panel's name.")],
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where it goes; made if need be.")
    ] = Path("panels"),
) -> None:
    """
    Write a panel to change as you like, and a script that plays it.

    Both are commented and run as they are. Nothing is overwritten.
    """
    _check_name(name)
    files = {
        folder / f"{name}.yaml": SCAFFOLD / "panel.yaml",
        folder / f"{name}.script.yaml": SCAFFOLD / "script.yaml",
    }
    for path in files:
        if path.exists():
            raise BadInput(f"{path}: is there already; choose another name or --dir")
    at = shlex.quote(str(folder))
    words = {"NAME": name, "DIR": at if at.isprintable() else "DIR"}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, template in files.items():
            text = template.read_text(encoding="utf-8")
            with path.open("x", encoding="utf-8") as file:
                file.write(_WORDS.sub(lambda found: words[found[0]], text))
    except OSError as error:
        raise BadInput(
            f"{error.filename or folder}: cannot be written: {error.strerror}"
        ) from error
    for path in files:
        print_line(f"wrote {path}")
    script = shlex.quote(str(folder / f"{name}.script.yaml"))
    print_line("Next:")
    print_line(f"  parley config check --panels {at}")
    print_line(f"  parley simulate {script} --panels {at}")
    print_line(f'  parley run {name} "{_TEXT}" --brain model --panels {at}')


def _check_name(name: str) -> None:
    """Raises BadInput for a name that no panel can have, or that one has already."""
    if not is_token(name):
        shown = one_line(name)[:80]
        raise BadInput(f"{shown!r}: a panel's name is letters, digits, - and _, at most 64")
    if name in panel_paths():
        raise BadInput(f"{name}: a panel of this name comes with Parley; choose another name")
    if name in CONTRACTS:
        raise BadInput(f"{name}: is the name of a protocol; choose another name")
