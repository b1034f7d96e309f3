import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, nullcontext
from typing import Annotated, NamedTuple

import typer

from parley.bus.contracts.facts import Closed, declarations_in
from parley.bus.contracts.partial import Partial
from parley.bus.errors import BadInput, Denied
from parley.bus.position import Position
from parley.bus.subjects import EVERY_DEBATE, DebateRef
from parley.client import Client
from parley.configs.settings import Settings, load
from parley.console.cli.exits import complain
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import join, run_async
from parley.console.terminal.views import view_for
from parley.debate import Event
from parley.logs import named

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
    run_async(
        lambda: _watch(
            settings, debate, _Wanted(early, as_json or declarations, partials, declarations)
        )
    )


class _Wanted(NamedTuple):
    early: bool
    as_json: bool
    partials: bool
    declarations: bool


async def _watch(settings: Settings, debate: str | None, wanted: _Wanted) -> None:
    async with join(settings) as client:
        try:
            now = await client.reading.position()
        except Denied:
            heard = "facts" if wanted.as_json else "debates that begin"
            complain(f"this login cannot read the log: it hears {heard} from now on")
            ref = named(debate) if debate is not None else None
            await _follow(client, ref, None, wanted)
            return
        ref = (await client.debate(debate)).ref if debate is not None else None
        if ref is not None and not wanted.early:
            log = await client.at(ref).log()
            if log.state.closed is not None:
                return
        if ref is None and not wanted.as_json:
            complain("following every debate; Ctrl-C ends it")
        await _follow(client, ref, 0 if wanted.early else now, wanted)


async def _follow(
    client: Client, ref: DebateRef | None, after: Position | int | None, wanted: _Wanted
) -> None:
    with nullcontext(None) if wanted.as_json else view_for(several=ref is None) as view:
        async with AsyncExitStack() as stack:
            if view is not None:
                await stack.enter_async_context(client.overhearing(view.overhear, ref))
            elif wanted.partials:
                await stack.enter_async_context(client.overhearing(_print_partial, ref))
            async for event in await stack.enter_async_context(
                aclosing(_events(client, ref, after))
            ):
                if view is None:
                    for line in _declarations(event) if wanted.declarations else _facts(event):
                        print_line(line)
                elif event.state.panel is not None:
                    view.show(event.ref, event.fact, event.before, event.state)
                if ref is not None and isinstance(event.fact, Closed):
                    return


async def _events(
    client: Client, ref: DebateRef | None, after: Position | int | None
) -> AsyncGenerator[Event, None]:
    """Who cannot read the log does not know the panel of an id."""
    known = ref is not None and ref.panel != EVERY_DEBATE.panel
    watched = client.watch(after=after, debates=frozenset([ref]) if ref and known else None)
    async with aclosing(watched) as events:
        async for event in events:
            if ref is None or event.debate == ref.id:
                yield event


def _print_partial(ref: DebateRef, partial: Partial) -> None:
    said = partial.model_dump(mode="json")
    line = {"panel": ref.panel, "debate_id": ref.id, "partial": said}
    print_line(json.dumps(line, ensure_ascii=False))


def _facts(event: Event) -> list[str]:
    return [_line(event, fact=event.fact.model_dump(mode="json", exclude_none=True))]


def _declarations(event: Event) -> list[str]:
    return [
        _line(event, declaration=one.model_dump(mode="json", by_alias=True))
        for one in declarations_in(event.fact)
    ]


def _line(event: Event, **said: object) -> str:
    return json.dumps(
        {
            "sequence": event.sequence,
            "time": event.time.isoformat(timespec="milliseconds"),
            "panel": event.panel,
            "debate_id": event.debate,
            **said,
        },
        ensure_ascii=False,
    )
