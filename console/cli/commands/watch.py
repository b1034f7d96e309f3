import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import typer

from parley.bus.contracts.facts import Closed, declarations_in
from parley.bus.contracts.partial import Partial
from parley.bus.errors import BadInput, DecodeError, Denied
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.position import Position
from parley.bus.subjects import EVERY_DEBATE, DebateRef
from parley.configs.settings import Settings, load
from parley.console.cli.exits import complain
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.follow import Audience, find, named, overhearing
from parley.console.runtime.system import follow, open_journal, run_async
from parley.console.terminal.views import view_for

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example(
        "parley watch",
        "parley watch 01jd7w2k9xqz",
        "parley watch --from-start --json",
        "parley watch --json --partials",
        "parley watch --declarations",
    )
)
def watch(
    debate: Annotated[
        str | None, typer.Argument(metavar="ID", help="The debate; all of them otherwise.")
    ] = None,
    from_start: Annotated[
        bool | None,
        typer.Option(
            "--from-start/--from-now",
            help="What already happened, too. One debate: yes unless told; all: no unless told.",
        ),
    ] = None,
    partials: Annotated[
        bool, typer.Option("--partials", help="With --json: words while they are spoken, too.")
    ] = False,
    declarations: Annotated[
        bool,
        typer.Option("--declarations", help="Only what each step declares, as one JSON line each."),
    ] = False,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Follow debates as they happen.

    One debate is followed until it is closed, all of them until Ctrl-C. With --json every fact is
    one line. A terminal also shows the words of a model that streams (model.stream).
    """
    keep_quiet()
    if partials and declarations:
        raise BadInput("--partials and --declarations are two different things: take one")
    if partials and not as_json:
        raise BadInput("--partials goes with --json; a terminal shows them anyway")
    settings = load(config, {"nats.url": nats})
    early = from_start if from_start is not None else debate is not None
    run_async(lambda: _watch(settings, debate, _Wanted(early, as_json, partials, declarations)))


class _Wanted(NamedTuple):
    early: bool
    as_json: bool
    partials: bool
    declarations: bool


async def _watch(settings: Settings, debate: str | None, wanted: _Wanted) -> None:
    async with open_journal(settings, create=False) as journal:
        try:
            now = await journal.bus.position()
        except Denied:
            heard = "facts" if wanted.as_json else "debates that begin"
            complain(f"this login cannot read the log: it hears {heard} from now on")
            ref = named(debate) if debate is not None else None
            await _watch_from(journal, ref, None, wanted)
            return
        ref = await find(journal, debate) if debate is not None else None
        if ref is not None and not wanted.early and await _is_closed(journal, ref):
            return
        await _watch_from(
            journal, ref, Position((0,) * len(now.reached)) if wanted.early else now, wanted
        )


async def _watch_from(
    journal: Journal, ref: DebateRef | None, start: Position | None, wanted: _Wanted
) -> None:
    if wanted.declarations:
        await _watch_facts(journal, ref, start, _declarations)
    elif not wanted.as_json:
        await _watch_story(journal, ref, start)
    elif wanted.partials:
        async with overhearing(journal, ref, _print_partial):
            await _watch_facts(journal, ref, start, _facts)
    else:
        await _watch_facts(journal, ref, start, _facts)


async def _watch_facts(
    journal: Journal,
    ref: DebateRef | None,
    start: Position | None,
    lines: Callable[[Logged], Sequence[str]],
) -> None:
    async def see(record: Record) -> bool:
        try:
            logged = journal.decode(record)
        except DecodeError as error:
            complain(f"warning: record {record.sequence} is left out: {error}")
            return False
        for line in lines(logged):
            print_line(line)
        return ref is not None and isinstance(logged.fact, Closed)

    await follow(journal, ref or EVERY_DEBATE, start=start, see=see)


async def _watch_story(journal: Journal, ref: DebateRef | None, start: Position | None) -> None:
    with view_for(several=ref is None) as view:
        audience = Audience(journal, view)

        async def see(record: Record) -> bool:
            logged = await audience.see(record)
            return ref is not None and logged is not None and isinstance(logged.fact, Closed)

        async with overhearing(journal, ref, view.overhear):
            await follow(journal, ref or EVERY_DEBATE, start=start, see=see)


def _print_partial(ref: DebateRef, partial: Partial) -> None:
    said = partial.model_dump(mode="json")
    line = {"panel": ref.panel, "debate_id": ref.id, "partial": said}
    print_line(json.dumps(line, ensure_ascii=False))


async def _is_closed(journal: Journal, ref: DebateRef) -> bool:
    return any(isinstance(one.fact, Closed) for one in (await journal.read(ref))[0])


def _facts(logged: Logged) -> list[str]:
    return [_line(logged, fact=logged.fact.model_dump(mode="json", exclude_none=True))]


def _declarations(logged: Logged) -> list[str]:
    return [
        _line(logged, declaration=one.model_dump(mode="json", by_alias=True))
        for one in declarations_in(logged.fact)
    ]


def _line(logged: Logged, **said: object) -> str:
    moment = datetime.fromtimestamp(logged.time_ns / 1e9, UTC)
    return json.dumps(
        {
            "sequence": logged.sequence,
            "time": moment.isoformat(timespec="milliseconds"),
            "panel": logged.ref.panel,
            "debate_id": logged.ref.id,
            **said,
        },
        ensure_ascii=False,
    )
