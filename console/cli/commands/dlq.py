import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer

from parley.bus.errors import BadInput
from parley.configs.settings import Settings, load
from parley.console.cli.exits import FAILED
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async
from parley.console.transcript.text import clean, one_line
from parley.operations import Fate, Letter, Operations

REASON_WIDTH = 80

HELP = """
Dead letters: list, show, redrive, drop.

A redrive counts only while its step waits for the persona. A coordinator that sees an ask given up
writes the persona's abstention at once, because a debate does not wait: then it is too late. What
can still be redriven was given up while no coordinator ran, or was refused by an agent that could
not read it; until the step's deadline.
"""

app = typer.Typer(add_completion=False, rich_markup_mode=None, help=HELP)

Number = Annotated[int, typer.Argument(metavar="NUMBER", help="As dlq list shows it.", min=1)]
Numbers = Annotated[
    list[int] | None, typer.Argument(metavar="NUMBER", help="As dlq list shows them.", min=1)
]
All = Annotated[bool, typer.Option("--all", help="Every dead letter there is.")]
Outcome = TypeVar("Outcome")


@app.command("list", epilog=example("parley dlq list", "parley dlq list --json"))
def list_(nats: Nats = None, config: Config = None, as_json: Json = False) -> None:
    """List dead letters: asks nobody could answer, and records that have no place in the log."""
    for one in _on(nats, config, Operations.dead_letters):
        print_line(json.dumps(_as_json(one)) if as_json else _in_words(one))


@app.command(epilog=example("parley dlq show 3", "parley dlq show 3 --json"))
def show(number: Number, nats: Nats = None, config: Config = None, as_json: Json = False) -> None:
    """Show a dead letter, its record, and what redriving it would come to."""

    async def look(operations: Operations) -> tuple[Letter, Fate]:
        one = await operations.dead_letter(number)
        return one, await operations.fate(one)

    one, would_be = _on(nats, config, look)
    if as_json:
        data = one.record.data.decode("utf-8", "replace") if one.record is not None else None
        told = {"redriving": would_be.value, "fate": would_be.code, "data": data}
        print_line(json.dumps({**_as_json(one), **told}))
        return
    print_line(_in_words(one))
    print_line(f"redriving: {'possible' if would_be is Fate.REDRIVEN else would_be.value}")
    if one.record is not None:
        print_line(f"{one.record.subject}, written {_moment(one.record.time_ns)}:")
        print_line(clean(one.record.data.decode("utf-8", "replace")))
    elif one.dead.trace is not None:
        trace = one.dead.trace
        print_line(f"{clean(trace.subject)}, taken out of the log: a turn that nobody asked for")
        print_line(f"{trace.size} bytes, sha256 {trace.sha256}, beginning with:")
        print_line(clean(trace.excerpt))


@app.command(epilog=example("parley dlq redrive 3", "parley dlq redrive --all"))
def redrive(
    numbers: Numbers = None,
    everything: All = False,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Ask the personas of dead letters once more.

    Only where their turns still count (parley dlq --help says when); no turn is ever written
    twice. The exit code is 1 if any of them could not be redriven and is still needed. With --json
    `fate` is one word: redriven, spoken, abstained, step_over, closed, unasked, no_ask, unreadable
    or gone.
    """

    async def drive(operations: Operations) -> list[tuple[Letter, Fate]]:
        chosen = await _chosen(operations, numbers, everything=everything)
        return [(one, await operations.redrive(one)) for one in chosen]

    done = _on(nats, config, drive)
    for one, came_to in done:
        result = {"number": one.dead.number, "result": came_to.value, "fate": came_to.code}
        print_line(json.dumps(result) if as_json else f"{one.dead.number}: {came_to.value}")
    if any(came_to not in {Fate.REDRIVEN, Fate.SPOKEN} for _, came_to in done):
        raise typer.Exit(FAILED)


@app.command(epilog=example("parley dlq drop 3", "parley dlq drop --all"))
def drop(
    numbers: Numbers = None, everything: All = False, nats: Nats = None, config: Config = None
) -> None:
    """Forget dead letters; their records stay in the log, where they are still there."""

    async def forget(operations: Operations) -> list[int]:
        chosen = await _chosen(operations, numbers, everything=everything)
        for one in chosen:
            await operations.drop(one)
        return [one.dead.number for one in chosen]

    for number in _on(nats, config, forget):
        print_line(f"{number}: dropped")


def _on(nats: str | None, config: Any, do: Callable[[Operations], Awaitable[Outcome]]) -> Outcome:
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    return run_async(lambda: _with_operations(settings, do))


async def _with_operations(
    settings: Settings, do: Callable[[Operations], Awaitable[Outcome]]
) -> Outcome:
    async with join(settings) as client:
        return await do(client.operations)


async def _chosen(
    operations: Operations, numbers: list[int] | None, *, everything: bool
) -> list[Letter]:
    if everything == bool(numbers):
        raise BadInput("name dead letters by their numbers, or all of them with --all")
    if everything:
        return await operations.dead_letters()
    return [await operations.dead_letter(number) for number in dict.fromkeys(numbers or ())]


def _in_words(one: Letter) -> str:
    where = f"{one.ref}" if one.ref is not None else "-"
    what = f"ask {one.ask.step} to {one.persona}" if one.ask and one.persona else "record"
    if one.record is None and one.dead.trace is not None:
        what = f"turn of {clean(one.dead.trace.subject.rpartition('.')[2])}, taken out of the log"
    tries = f", handed out {one.dead.attempts}x" if one.dead.attempts else ""
    reason = one_line(one.dead.reason, REASON_WIDTH)
    return (
        f"{one.dead.number:>5}  {_moment(one.dead.time_ns)}  {where}  "
        f"{what} (sequence {one.dead.sequence}){tries}: {reason}"
    )


def _as_json(one: Letter) -> dict[str, object]:
    return {
        "number": one.dead.number,
        "sequence": one.dead.sequence,
        "subject": one.subject,
        "queue": one.dead.queue or None,
        "debate_id": one.ref.id if one.ref is not None else None,
        "panel": one.ref.panel if one.ref is not None else None,
        "persona": one.persona,
        "step": one.ask.step if one.ask is not None else None,
        "reason": one.dead.reason,
        "attempts": one.dead.attempts,
        "written": _iso(one.record.time_ns) if one.record is not None else None,
        "given_up": _iso(one.dead.time_ns),
        "taken_out": one.dead.trace._asdict() if one.dead.trace is not None else None,
    }


def _moment(time_ns: int) -> str:
    local = datetime.fromtimestamp(time_ns / 1e9, UTC).astimezone()
    return local.strftime("%Y-%m-%d %H:%M:%S")


def _iso(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds")
