import sys
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.contracts.absa.memory import Episode
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, example
from parley.console.cli.output import model_line, print_line
from parley.console.runtime.system import join, run_async
from parley.coordinator.effects.absa import memory_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def memory() -> None:
    """What past debates about aspects left behind."""


@app.command(epilog=example("parley memory export > episodes.jsonl"))
def export(
    out: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Instead of stdout.")
    ] = None,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """Write the episodes of the memory as JSON Lines, oldest first."""
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    episodes = run_async(lambda: _episodes(settings))
    if out is None:
        for episode in episodes:
            print_line(model_line(episode))
        return
    out.write_text("".join(f"{model_line(episode)}\n" for episode in episodes), encoding="utf-8")
    print(f"{len(episodes)} episodes written to {out}", file=sys.stderr)


async def _episodes(settings: Settings) -> list[Episode]:
    async with join(settings) as client:
        return await memory_of(client.journal.bus).episodes()
