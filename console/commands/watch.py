import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from parley.bus.contracts.facts import Closed
from parley.bus.errors import DecodeError
from parley.bus.journal import Journal, Logged
from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.exits import complain
from parley.console.logs import keep_quiet
from parley.console.options import Config, Json, Nats, example
from parley.console.output import print_line
from parley.console.system import follow, open_journal, run_async
from parley.console.views import view_for
from parley.console.watching import Audience, find

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    epilog=example("parley watch", "parley watch 01jd7w2k9xqz", "parley watch --from-start --json")
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
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Follow debates as they happen.

    One debate is followed until it is closed, all of them until Ctrl-C. With --json every fact is
    one line.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    early = from_start if from_start is not None else debate is not None
    run_async(lambda: _watch(settings, debate, early=early, as_json=as_json))


async def _watch(settings: Settings, debate: str | None, *, early: bool, as_json: bool) -> None:
    async with open_journal(settings, create=False) as journal:
        ref = await find(journal, debate) if debate is not None else None
        start = 1 if early else await journal.bus.last_sequence() + 1
        if ref is not None and not early and await _is_closed(journal, ref):
            return
        if as_json:
            await _watch_facts(journal, ref, start)
        else:
            await _watch_story(journal, ref, start)


async def _watch_facts(journal: Journal, ref: DebateRef | None, start: int) -> None:
    async def see(record: Record) -> bool:
        try:
            logged = journal.decode(record)
        except DecodeError as error:
            complain(f"warning: record {record.sequence} is left out: {error}")
            return False
        print_line(_line(logged))
        return ref is not None and isinstance(logged.fact, Closed)

    await follow(journal, _filters(journal, ref), start=start, see=see)


async def _watch_story(journal: Journal, ref: DebateRef | None, start: int) -> None:
    with view_for(several=ref is None) as view:
        audience = Audience(journal, view)

        async def see(record: Record) -> bool:
            logged = await audience.see(record)
            return ref is not None and logged is not None and isinstance(logged.fact, Closed)

        await follow(journal, _filters(journal, ref), start=start, see=see)


def _filters(journal: Journal, ref: DebateRef | None) -> tuple[str, ...]:
    return journal.subjects.facts(ref.panel, ref.id) if ref else journal.subjects.facts()


async def _is_closed(journal: Journal, ref: DebateRef) -> bool:
    return bool(await journal.bus.subjects(journal.subjects.at(ref, "ctl.closed")))


def _line(logged: Logged) -> str:
    moment = datetime.fromtimestamp(logged.time_ns / 1e9, UTC)
    return json.dumps(
        {
            "sequence": logged.sequence,
            "time": moment.isoformat(timespec="milliseconds"),
            "panel": logged.ref.panel,
            "debate_id": logged.ref.id,
            "fact": logged.fact.model_dump(mode="json", exclude_none=True),
        },
        ensure_ascii=False,
    )
