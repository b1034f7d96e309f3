import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from parley.agents.forensic import looking_at_images
from parley.bus.contracts.base import Contract, Text
from parley.bus.errors import BadInput
from parley.bus.extras import MissingPackage
from parley.bus.subjects import DebateRef
from parley.client import Client, host
from parley.configs.files import read_mapping
from parley.configs.mistakes import explain
from parley.configs.panels import BUILT_IN
from parley.configs.settings import Settings, load
from parley.connection import new_id
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import example
from parley.console.cli.output import first_debate, own_command
from parley.console.runtime.brains import AUTO, BrainChoice
from parley.console.runtime.follow import follow_to_the_end
from parley.console.runtime.host import at_work
from parley.console.runtime.inputs import Material, upload
from parley.console.runtime.plan import Wishes, read_script, scripted_panel, wished_panel
from parley.console.runtime.submit import panel_for
from parley.console.runtime.system import run_async
from parley.console.terminal.views import view_for
from parley.console.terminal.writing import say
from parley.console.transcript.presentation import presentation_of
from parley.console.transcript.words import tell_outcome
from parley.coordinator.core.state import DebateState

DEMO = BUILT_IN.with_name("demo")
# What the last debate leaves in the folder of its report.
SPECIMEN = "copy_moved.png"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class Stop(Contract):
    """Without a script the panel's own rules speak, if the package they need is there."""

    script: str | None = None
    panel: str = "forensic"
    title: str
    about: Text
    needs: str | None = None
    instead: "Stop | None" = None

    @property
    def possible(self) -> "Stop":
        lacking = self.needs is not None and find_spec(self.needs) is None
        return self.instead if lacking and self.instead is not None else self


class Tour(Contract):
    debates: tuple[Stop, ...]


@app.command(epilog=example("parley demo"))
def demo(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the report about the photo goes.")
    ] = Path("parley-demo"),
) -> None:
    """
    Watch debates on a private server, from start to verdict.

    Needs no model, no key and no network. Where the agents' lines are scripted, everything else,
    the server, the coordinator and the rules, is what a real debate runs on; in the last of them
    the agents look at a forged photograph for themselves.
    """
    keep_quiet()
    run_async(lambda: _show(load(), read_tour(DEMO / "tour.yaml"), out))
    say("")
    command, made = own_command(), out / SPECIMEN
    photo = shlex.quote(str(made)) if made.exists() else "photo.jpg"
    say(f"Next: {command} up (in one terminal), then in another:")
    say(f"  {command} submit {first_debate(photo)}")
    say(f"  {command} watch")
    say(f"  {command} list")


def read_tour(path: Path) -> Tour:
    try:
        return Tour.model_validate(read_mapping(path))
    except ValidationError as error:
        raise BadInput("\n".join(explain(error, Tour, lambda _: str(path)))) from error


async def _show(settings: Settings, tour: Tour, out: Path) -> None:
    say("Four forensic agents look at a picture, each with a method of its own.")
    say("They say what they think, challenge each other, and may change their minds.")
    say("Then reviews are read aspect by aspect, and three correctors argue about them.")
    async with host(settings, warn=warn, private=True) as client:
        for number, wanted in enumerate(tour.debates, start=1):
            stop = wanted.possible
            say("")
            say(f"{number}. {stop.title}")
            say("")
            for line in await _debate(client, stop):
                say(line)
        say("")
        say(f"{len(tour.debates) + 1}. A photograph that contains a piece of itself twice")
        say("")
        for line in await _look(client, out):
            say(line)


async def _look(client: Client, out: Path) -> list[str]:
    try:
        with looking_at_images():
            from parley.console.images.demo import show_photo  # noqa: PLC0415 - loads numpy, OpenCV
    except MissingPackage as error:
        return [f"Left out: {error}"]
    return await show_photo(client, out)


async def _debate(client: Client, stop: Stop) -> list[str]:
    script = read_script(DEMO / stop.script) if stop.script is not None else None
    resolution = (
        scripted_panel(script, Wishes())
        if script is not None
        else wished_panel(stop.panel, Wishes())
    )
    panel = panel_for(resolution.panel, stop.about, None)
    ref = DebateRef(panel.name, new_id())
    async with at_work(client, BrainChoice(AUTO), (panel,)):
        after = await client.reading.position()
        about = await upload(client, Material(text=stop.about), script)
        debate = await client.submit(panel, about, id=ref.id, fresh=True)
        with view_for(several=False) as view:
            states = await follow_to_the_end(client, [ref], view, after=after)
    checked = await debate.verify()
    assert checked.holds, "what was just decided must recompute"
    return in_plain_words(ref, states[ref], checked.checked)


def in_plain_words(ref: DebateRef, state: DebateState, decisions: int) -> list[str]:
    ending = presentation_of(state.running_panel.protocol).ending
    first, *rest = ending(ref, state) if ending is not None else list(tell_outcome(state))
    return [
        "",
        f"   => {first}",
        *(f"      {line}" for line in rest),
        f"      All {decisions} decisions were recomputed from the log, with the same outcome.",
    ]
