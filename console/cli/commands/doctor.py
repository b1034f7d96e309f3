import json
from dataclasses import asdict

import typer

from parley.bus.journal import Journal
from parley.bus.subjects import Subjects
from parley.configs.settings import Settings, load
from parley.connection import open_server
from parley.console.cli.commands.infra import Rosters, queues_of, rosters_of
from parley.console.cli.exits import FAILED
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, Panels, example
from parley.console.cli.output import print_line
from parley.console.operations.doctor import Examination, Finding, State, examine, findings
from parley.console.operations.model_check import model_findings
from parley.console.runtime.system import run_async
from parley.console.transcript.text import one_line

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley doctor", "parley doctor --nats nats://10.0.0.5:4222 --json"))
def doctor(
    nats: Nats = None, panels_dir: Panels = None, config: Config = None, as_json: Json = False
) -> None:
    """
    Look for whatever is wrong with a running system.

    Server, durability, streams, queues, storage, clocks, dead letters, who is alive, and the
    language models that the settings name. Whether the server still stores is tried with one small
    record. A queue is wrong if its oldest ask waits longer than its deadline. The exit code is 1 if anything is wrong; what is merely
    worth knowing is a note.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats, "panels": panels_dir})
    rosters = rosters_of(settings)
    seen, models = run_async(lambda: _examine(settings, rosters))
    found = [*findings(seen), *models]
    if as_json:
        print_line(json.dumps(_as_json(seen, found)))
    else:
        for line in _in_words(seen, found):
            print_line(line)
    if _wrong(found):
        raise typer.Exit(FAILED)


async def _examine(settings: Settings, rosters: Rosters) -> tuple[Examination, list[Finding]]:
    async with open_server(settings) as bus:
        journal = Journal(bus, Subjects(settings.nats.prefix))
        queues = queues_of(journal, settings, rosters)
        seen = await examine(bus, settings.nats.monitor, queues)
    return seen, await model_findings(settings, rosters)


def _wrong(found: list[Finding]) -> bool:
    return any(one.state is State.WRONG for one in found)


def _in_words(seen: Examination, found: list[Finding]) -> list[str]:
    width = max(len(one.what) for one in found)
    lines = [f"{one.state.value:<7}  {one.what:<{width}}  {one_line(one.text)}" for one in found]
    if seen.present:
        lines += ["", "alive:"]
    for one in sorted(seen.present, key=lambda present: sorted(present.labels.items())):
        labels = " ".join(f"{key}={value}" for key, value in one.labels.items())
        figures = ", ".join(f"{key} {value:g}" for key, value in one.figures.items())
        lines.append(f"  {one_line(f'{labels} ({one.id}, {one.version}): {figures}')}")
    return lines


def _as_json(seen: Examination, found: list[Finding]) -> dict[str, object]:
    return {
        "healthy": not _wrong(found),
        "findings": [asdict(one) for one in found],
        "server": asdict(seen.server),
        "streams": [asdict(one) for one in seen.streams],
        "queues": [asdict(one) for one in seen.queues],
        "alive": [asdict(one) for one in seen.present],
        "dead_letters": seen.dead_letters,
        "server_ahead_s": seen.ahead_s,
    }
