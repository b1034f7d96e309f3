import hashlib
import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from parley.agents.brain import Task
from parley.agents.model.body import messages_of, parameters_of
from parley.agents.model.manners import Dialect, Manners
from parley.agents.model.question import Abilities, AnyQuestion
from parley.agents.model.verdicts import IMAGE
from parley.agents.script import Script
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Asked, Request, RequestByReference
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.names import name_unknown
from parley.configs.settings import load
from parley.console.brains import questions
from parley.console.debates import Wishes, read_script, scripted_panel, wished_panel
from parley.console.inputs import Material, read_material
from parley.console.options import Config, Json, Panels, example
from parley.console.output import print_line
from parley.console.rehearsal import play
from parley.console.system import run_async
from parley.console.text import clean

_URI_SHOWN = 40

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Show what language models are told."
)


@app.callback(epilog=example("parley prompts show forensic/noise --input photo.jpg"))
def prompts() -> None:
    """Show what language models are told."""


@app.command(
    epilog=example(
        "parley prompts show forensic/noise --input photo.jpg",
        "parley prompts show forensic/noise --input photo.jpg --script debate.yaml --step round-2",
    )
)
def show(
    who: Annotated[str, typer.Argument(metavar="PANEL/PERSONA", help="Who would be asked.")],
    given: Annotated[
        str, typer.Option("--input", metavar="INPUT", help="An image, a text file or a text.")
    ],
    script: Annotated[
        Path | None,
        typer.Option("--script", metavar="FILE", help="A scripted debate that led to the step."),
    ] = None,
    step: Annotated[
        str, typer.Option("--step", help="opening; with --script also round-1, … and localize.")
    ] = "opening",
    dialect: Annotated[
        Dialect, typer.Option("--dialect", help="How the endpoint wants to be asked for JSON.")
    ] = Dialect.JSON_SCHEMA,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Print what a persona's model would be sent: with --json the very body of the call."""
    settings = load(config, {"panels": panels_dir})
    name, _, persona = who.partition("/")
    panel, request = _asked(name, persona, script, step, settings.panels)
    options = settings.model.options_for(name, persona)
    abilities = Abilities(options.vision, settings.model.language, settings.model.max_image_kib)
    task = _task(panel, persona, step, request, read_material(given))
    question = run_async(lambda: _question(task, abilities))
    manners = Manners(dialect)
    messages = messages_of(question.prompt, question.form, manners)
    if as_json:
        parameters = parameters_of(options, question.form, manners)
        body = {"model": options.name, "messages": messages, **parameters}
        print_line(json.dumps(body, ensure_ascii=False))
        return
    for message in messages:
        print_line(_readable(message))


def _asked(
    name: str, persona: str, script: Path | None, step: str, panels_dir: Path | None
) -> tuple[Panel, Request]:
    """The request as the coordinator would word it, after what the script has everybody say."""
    wishes = Wishes(panels_dir=panels_dir)
    file = read_script(script) if script is not None else None
    panel = (wished_panel(name, wishes) if file is None else scripted_panel(file, wishes)).panel
    if persona not in panel.roster:
        raise BadInput(f"{name}: {name_unknown('persona', persona, panel.roster)}")
    lines = file.content if file is not None else Script(rounds=({},))
    steps = {
        fact.step: fact.request
        for fact, _ in play(panel, lines, DebateInput())
        if isinstance(fact, Asked) and not isinstance(fact.request, RequestByReference)
    }
    if step not in steps:
        raise BadInput(f"--step: {name_unknown('step', step, steps)}")
    return panel, steps[step]


async def _question(task: Task, abilities: Abilities) -> AnyQuestion:
    family = next((one for one in questions() if one.knows(task.request)), None)
    if family is None:
        raise BadInput(f"{task.ref.panel}: there are no prompts for this panel")
    return await family.ask(task, abilities)


def _task(panel: Panel, persona: str, step: str, request: Request, material: Material) -> Task:
    blobs = {}
    if material.image is not None:
        digest = hashlib.sha256(material.image).hexdigest()
        blobs[IMAGE] = BlobRef(
            sha256=digest, size=len(material.image), media_type=material.media_type
        )

    async def fetch(_ref: BlobRef) -> bytes:
        return material.image or b""

    return Task(
        ref=DebateRef(panel.name, "shown"),
        persona=persona,
        step=step,
        request=request,
        input=DebateInput(text=material.text, blobs=blobs),
        fetch=fetch,
    )


def _readable(message: JsonValue) -> str:
    assert isinstance(message, dict)
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    lines = [f"--- {message['role']} ---"]
    for part in parts:
        assert isinstance(part, dict)
        picture = part.get("image_url")
        if isinstance(picture, dict):
            uri = str(picture["url"])
            lines.append(f"[image, {len(uri)} characters: {uri[:_URI_SHOWN]}…]")
        else:
            lines.append(clean(str(part["text"])))
    return "\n".join(lines)
