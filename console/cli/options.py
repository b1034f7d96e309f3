"""Options that several commands share: one spelling and one explanation for each."""

import json
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.errors import BadInput
from parley.configs.names import name_unknown

LANGUAGES = ("auto", "ko", "en")

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
    typer.Argument(
        metavar="INPUT",
        help="Images and directories of images, a question file, a text file, a text, - for stdin.",
    ),
]
Brain = Annotated[
    str,
    typer.Option(
        "--brain",
        help="Who thinks: auto (the script that came along, or the panel's rules), rule, script:FILE,"
        " model (PARLEY_MODEL__NAME, __BASE_URL, __API_KEY).",
    ),
]
Brains = Annotated[
    list[str] | None,
    typer.Option(
        "--brain",
        metavar="BRAIN",
        help="Who thinks: auto (the script that came along, or the panel's rules), rule, script:FILE,"
        " model (PARLEY_MODEL__NAME, __BASE_URL, __API_KEY), or your own: module:Name, http://…,"
        " a2a:https://…;"
        " PERSONA=BRAIN for one seat. Repeatable.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write a report (HTML) of each image, and evidence."),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--reference", metavar="FILE", help="A photograph by the camera in question; repeatable."
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option("--protocol", help="absa: v1 (analyst, critic, empath) or v2 (EPM, TAN, CJ)."),
]
ExperimentFile = Annotated[
    Path | None,
    typer.Option(
        "--experiment",
        metavar="FILE",
        help="absa: an experiment or conditions YAML (pipeline.debate, pipeline.debate_override …).",
    ),
]
Thresholds = Annotated[
    Path | None,
    typer.Option(
        "--thresholds",
        metavar="DIR",
        help="absa: a folder with debate_override_thresholds.json or debate_thresholds.json.",
    ),
]
Language = Annotated[
    str,
    typer.Option(
        "--lang", help="ko or en: of absa's texts, of the manager elsewhere; auto finds it out."
    ),
]
Limits = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="K=V,…",
        help="What a debate may use of models: calls, tokens, cost, seconds; calls=20,cost=0.5.",
    ),
]
TotalLimits = Annotated[
    str | None,
    typer.Option(
        "--total-budget", metavar="K=V,…", help="What all debates of this call may use together."
    ),
]
Topic = Annotated[
    str | None,
    typer.Option("--topic", help="What to call the debate; the file's name otherwise."),
]
Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="K=V", help="Something to find the debate by; repeatable."),
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


def language_of(text: str) -> str | None:
    """None for `auto`."""
    if text not in LANGUAGES:
        raise BadInput(f"--lang: {name_unknown('language', text, LANGUAGES)}")
    return None if text == LANGUAGES[0] else text


def with_protocol(sets: list[str] | None, protocol: str | None) -> list[str]:
    """`--protocol v1` is short for `--set debate.protocol=v1`."""
    return [*([f"debate.protocol={protocol}"] if protocol is not None else []), *(sets or [])]


def with_thresholds(sets: list[str], folder: Path | None) -> list[str]:
    """`--thresholds DIR` is short for `--set thresholds=DIR`."""
    return sets if folder is None else [*sets, f"thresholds={json.dumps(str(folder))}"]


def names(text: str | None) -> tuple[str, ...]:
    """The names in a list separated by commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
