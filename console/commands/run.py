from contextlib import AsyncExitStack, nullcontext

import typer

from parley.bus.contracts.facts import Status
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.brains import BrainChoice, make_brain, parse_brain
from parley.console.debates import Wishes
from parley.console.exits import DONE, FAILED, warn
from parley.console.logs import keep_quiet
from parley.console.options import (
    Brain,
    Config,
    Id,
    Inputs,
    Json,
    NatsOrPrivate,
    PanelName,
    Panels,
    Preset,
    Regime,
    Roster,
    Sets,
    example,
    names,
)
from parley.console.output import model_line, print_line
from parley.console.submitting import Plan, check_answerable, plan, submit
from parley.console.system import (
    open_journal,
    private_server,
    run_async,
    somebody_coordinates,
    staffed,
)
from parley.console.views import Silence, view_for
from parley.console.watching import follow_to_the_end
from parley.coordinator.results import result_of
from parley.coordinator.state import DebateState

QUESTION_FILE = """

\b
Question file:
  question: Should the library open at night?
  language: en              # or ko
  options:                  # two or more
    - {id: staffed, text: Open until midnight with staff}
    - {id: keep, text: Keep the present hours}
  criteria:                 # weight: up to 1; people: it is about those affected
    - {name: yearly cost, weight: 0.8}
    - {name: study places, weight: 0.9, people: true}
  evidence:                 # for or against an option on a criterion, up to 1
    - {option: staffed, criterion: yearly cost, against: 0.7, text: Two salaries.}
    - {option: staffed, criterion: study places, for: 0.8, text: 900 signatures.}
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley run forensic photo.jpg --brain script:debate.yaml",
        "parley run forensic *.jpg --brain script:debate.yaml --preset fast --json",
        "parley run deliberation question.yaml --regime L3 --set cooldown=3",
    )
    + QUESTION_FILE
)
def run(
    panel: PanelName,
    inputs: Inputs = None,
    brain: Brain = "auto",
    preset: Preset = None,
    sets: Sets = None,
    roster: Roster = None,
    regime: Regime = None,
    given_id: Id = None,
    nats: NatsOrPrivate = None,
    panels_dir: Panels = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Run debates and print their results.

    Without --nats everything runs here, on a private server that is gone afterwards. On a server
    where a coordinator is at work the debates are left to it and its agents.

    A deliberation takes a question file; a question in free text needs a model or a script.

    The exit code is 1 if any debate failed or was cancelled.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    choice = parse_brain(brain)
    wishes = Wishes(preset, sets or (), names(roster), settings.panels, regime)
    wanted = plan(panel, inputs or (), choice, wishes, given_id)
    if not settings.names_a_server:
        check_answerable(wanted, choice)
    warn(wanted.warnings)
    states = run_async(lambda: run_here(settings, wanted, choice, as_json=as_json))
    if as_json:
        for ref in wanted.refs:
            print_line(model_line(result_of(ref, states[ref])))
    raise typer.Exit(DONE if all(map(_completed, states.values())) else FAILED)


async def run_here(
    settings: Settings, wanted: Plan, choice: BrainChoice, *, as_json: bool
) -> dict[DebateRef, DebateState]:
    several = len(wanted.refs) > 1
    async with AsyncExitStack() as stack:
        own_server = not settings.names_a_server
        if own_server:
            settings = await stack.enter_async_context(private_server(settings))
        journal = await stack.enter_async_context(open_journal(settings, create=True))
        if own_server or not await somebody_coordinates(journal):
            seats = [(wanted.panel.name, persona) for persona in wanted.panel.roster]
            staff = staffed(journal, settings, seats, make_brain(choice))
            await stack.enter_async_context(staff)
        start = await journal.bus.last_sequence() + 1
        await submit(journal, wanted)
        with nullcontext(Silence()) if as_json else view_for(several=several) as view:
            return await follow_to_the_end(journal, wanted.refs, view, start=start)


def _completed(state: DebateState) -> bool:
    return state.closed is not None and state.closed.status is Status.COMPLETED
