"""Options that several commands share: one spelling and one explanation for each."""

from pathlib import Path
from typing import Annotated

import typer

Nats = Annotated[
    str | None,
    typer.Option("--nats", metavar="URL", help="The NATS server; nats://127.0.0.1:4222 otherwise."),
]
NatsOrPrivate = Annotated[
    str | None,
    typer.Option("--nats", metavar="URL", help="The NATS server; a private one otherwise."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings; parley.yaml here, if there is one."),
]
Panels = Annotated[
    Path | None,
    typer.Option("--panels", metavar="DIR", help="A directory with panels of your own."),
]
Preset = Annotated[
    str | None, typer.Option("--preset", help="The panel's preset: fast, default, precise …")
]
Regime = Annotated[
    str | None,
    typer.Option("--regime", metavar="L0…L4", help="How open the question of a deliberation is."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="K=V", help="Override a parameter, e.g. max_rounds=5."),
]
Roster = Annotated[
    str | None,
    typer.Option("--roster", metavar="A,B", help="Who sits on the panel, in this order."),
]
PanelName = Annotated[str, typer.Argument(metavar="PANEL", help="The panel; see parley panels.")]
Inputs = Annotated[
    list[str] | None,
    typer.Argument(metavar="INPUT", help="An image, a question file, a text, or - for stdin."),
]
Brain = Annotated[
    str,
    typer.Option(
        "--brain",
        help="Who thinks: script:FILE plays a file, script what came with the debate,"
        " rule the panel's rules; auto: what came with the debate, or else the rules.",
    ),
]
Id = Annotated[str | None, typer.Option("--id", help="The debate's id; made up otherwise.")]
DebateId = Annotated[str, typer.Argument(metavar="ID", help="The debate, as id or panel/id.")]
IdOrFile = Annotated[
    str, typer.Argument(metavar="ID|FILE", help="A debate on the server, or an exported file.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, and nothing else.")]


def example(*lines: str) -> str:
    """An epilog that the help does not wrap."""
    return "\n".join(("\b", "Example:", *(f"  {line}" for line in lines)))


def names(text: str | None) -> tuple[str, ...]:
    """The names in a list separated by commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
