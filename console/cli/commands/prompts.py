import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from parley.agents.brain import Task
from parley.agents.deliberation.question import QUESTION_BLOB
from parley.agents.llm.endpoint_capabilities import Dialect, EndpointCapabilities
from parley.agents.llm.question import Abilities, AnyQuestion, Questions
from parley.agents.llm.request_body import messages_of, parameters_of
from parley.agents.llm.verdicts.questions import IMAGE
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Request
from parley.bus.contracts.panel import DebateInput, Panel
from parley.bus.errors import BadInput
from parley.bus.subjects import DebateRef
from parley.configs.names import name_unknown
from parley.configs.panels import panel_path, panel_paths, read_panel
from parley.configs.settings import load
from parley.console.cli.exits import DONE, FAILED
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import (
    Config,
    Json,
    Panels,
    ProtocolName,
    Regime,
    Sets,
    example,
    language_of,
    with_protocol,
)
from parley.console.cli.output import print_line
from parley.console.inputs.kind import input_of
from parley.console.runtime.brains import questions
from parley.console.runtime.inputs import Material
from parley.console.runtime.plan import (
    ScriptFile,
    Wishes,
    read_script,
    scripted_panel,
    wished_panel,
)
from parley.console.runtime.prompt_files import raise_for_prompts
from parley.console.runtime.prompt_lint import rendered
from parley.console.runtime.stand_ins import asks
from parley.console.runtime.submit import panel_for
from parley.console.runtime.system import run_async
from parley.console.transcript.text import clean

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
        "parley prompts show forensic/noise --input photo.jpg --lang ko",
        'parley prompts show absa/cj --input "음식은 맛있지만 서비스는 느려요"',
        'parley prompts show absa/ate --input "The food was great." --step s2',
        'parley prompts show deliberation/facilitator --input "Lease or buy?" --step force-1',
    )
)
def show(
    who: Annotated[str, typer.Argument(metavar="PANEL/PERSONA", help="Who would be asked.")],
    given: Annotated[
        str,
        typer.Option("--input", metavar="INPUT", help="An image, a question file, a text (file)."),
    ],
    script: Annotated[
        Path | None,
        typer.Option("--script", metavar="FILE", help="A scripted debate that led to the step."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step", help="Which of its asks; the first otherwise. A wrong name lists all."
        ),
    ] = None,
    protocol: ProtocolName = None,
    regime: Regime = None,
    lang: Annotated[
        str,
        typer.Option(
            "--lang",
            help="The prompts' language, ko or en; auto: the text's, and PARLEY_MODEL__LANGUAGE"
            " on panels of verdicts.",
        ),
    ] = "auto",
    sets: Sets = None,
    dialect: Annotated[
        Dialect, typer.Option("--dialect", help="How the endpoint wants to be asked for JSON.")
    ] = Dialect.JSON_SCHEMA,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Print what a persona's model would be sent: with --json the very body of the call.

    What others said before is played by the script, or else by the panel's rules; where those
    cannot tell, words in brackets stand in for it. No model and no server is needed.
    """
    keep_quiet()
    settings = load(config, {"panels": panels_dir})
    name, _, persona = who.partition("/")
    wishes = Wishes(
        sets=with_protocol(sets, protocol),
        panels_dir=settings.panels,
        regime=regime,
        language=language_of(lang),
        models=True,
    )
    file = read_script(script, settings.panels) if script is not None else None
    panel = _panel(name, persona, wishes, file)
    (material,) = input_of(panel).read(panel, given)
    panel = panel_for(panel, material.text, wishes.language)
    chosen, request = _asked(panel, persona, material, file, step)
    options = settings.model.options_for(name, persona)
    language = wishes.language or settings.model.language
    abilities = Abilities(options.vision, language, settings.model.max_image_kib)
    task = _task(panel, persona, chosen, request, material)
    asking = questions(wishes.language, settings.panels)
    raise_for_prompts([name], settings.panels)
    question = run_async(lambda: _question(task, abilities, asking))
    capabilities = EndpointCapabilities(dialect)
    messages = messages_of(question.prompt, question.form, capabilities)
    if as_json:
        parameters = parameters_of(options, question.form, capabilities)
        body = {"model": options.name, "messages": messages, **parameters}
        print_line(json.dumps(body, ensure_ascii=False))
        return
    for message in messages:
        print_line(_readable(message))


def _panel(name: str, persona: str, wishes: Wishes, script: ScriptFile | None) -> Panel:
    """With the persona on it, though it may not sit there by default."""
    content, _ = read_panel(panel_path(name, wishes.panels_dir))
    if persona not in content.everybody:
        raise BadInput(f"{name}: {name_unknown('persona', persona, content.everybody)}")
    if script is not None:
        return scripted_panel(script, wishes).panel
    panel = wished_panel(name, wishes).panel
    if persona in panel.everybody or persona not in content.roster:
        return panel
    seated = content.sets_for(persona)
    if seated:
        return wished_panel(name, replace(wishes, sets=[*seated, *wishes.sets])).panel
    return wished_panel(name, replace(wishes, roster=(*panel.roster, persona))).panel


def _asked(
    panel: Panel, persona: str, material: Material, script: ScriptFile | None, step: str | None
) -> tuple[str, Request]:
    """The request as the coordinator would word it, and the step it is asked in."""
    seen = []
    lines = script.content if script is not None else None
    for name, request in asks(panel, persona, material, lines):
        if step in {None, name}:
            return name, request
        seen.append(name)
    if step is None:
        raise BadInput(f"{panel.name}/{persona}: is asked nothing in such a debate")
    raise BadInput(f"--step: {name_unknown('step', step, seen)}")


async def _question(task: Task, abilities: Abilities, asking: Sequence[Questions]) -> AnyQuestion:
    family = next((one for one in asking if one.knows(task.request)), None)
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

    if material.question is not None:
        digest = hashlib.sha256(material.question).hexdigest()
        blobs[QUESTION_BLOB] = BlobRef(sha256=digest, size=len(material.question))

    async def fetch(_ref: BlobRef) -> bytes:
        return material.image or material.question or b""

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


@app.command(epilog=example("parley prompts lint", "parley prompts lint absa mine --panels panels"))
def lint(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="PANEL", help="All panels if none is named.")
    ] = None,
    panels_dir: Panels = None,
    config: Config = None,
) -> None:
    """
    Render every prompt of the panels in both languages, and hold them to the rules.

    No text twice, what others wrote only in fences of the user message, one language a prompt, every
    placeholder filled in; nothing said twice of a persona, nothing empty, every field explained, no
    code instead of words. The exit code is 1 if one of them is broken.
    """
    keep_quiet()
    folder = load(config, {"panels": panels_dir}).panels
    wanted = names or list(panel_paths(folder))
    raise_for_prompts(wanted, folder)
    count, found = run_async(lambda: _linted(wanted, folder))
    for fault in found:
        print_line(fault)
    print_line(f"{count} prompts of {', '.join(wanted)}: {len(found)} faults")
    raise typer.Exit(FAILED if found else DONE)


async def _linted(names: Sequence[str], panels_dir: Path | None) -> tuple[int, list[str]]:
    count, found = 0, []
    for name in names:
        async for one in rendered(name, panels_dir):
            count += 1
            found += one.faults()
    return count, found
