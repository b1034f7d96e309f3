import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from pydantic import JsonValue

from parley.bus.errors import BadInput, NotFound
from parley.client import Client
from parley.configs.settings import Settings, load
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.links import address_of, key_for_signing, link_to, sign
from parley.console.runtime.system import join, run_async
from parley.console.terminal.asking import ask_in_terminal
from parley.console.terminal.writing import say
from parley.console.transcript.asked import content_for, show_ask, tell_briefly
from parley.console.transcript.form import JSON_FIELD, content_from_json
from parley.console.transcript.text import is_token
from parley.seat import OpenAsk

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Seat:
    """Which asks are meant; None means any."""

    panel: str
    persona: str
    debate: str | None


@app.command(
    epilog=example(
        "parley sit merge-review/author",
        "parley sit merge-review/author --list",
        "parley sit merge-review/author --link --as Ada --hours 48",
        "parley sit merge-review/author --debate 01jd7w2k9xqz --verdict approve --confidence 0.8"
        ' --because "Mended in the last commit."',
    )
)
def sit(
    seat: Annotated[
        str,
        typer.Argument(metavar="PANEL/PERSONA", help="Your seat; PANEL alone means its people."),
    ],
    debate: Annotated[str | None, typer.Option("--debate", metavar="ID")] = None,
    verdict: Annotated[str | None, typer.Option("--verdict", metavar="LABEL")] = None,
    confidence: Annotated[float | None, typer.Option("--confidence", metavar="0…1")] = None,
    because: Annotated[str | None, typer.Option("--because", help="Your argument.")] = None,
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", help="A point it rests on; repeatable.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=TEXT", help="Any other field of the form."),
    ] = None,
    content: Annotated[
        str | None, typer.Option("--content", metavar="JSON", help="The whole answer as JSON.")
    ] = None,
    by: Annotated[str, typer.Option("--as", metavar="NAME", help="Recorded as who spoke.")] = "",
    list_only: Annotated[bool, typer.Option("--list", help="Only list what waits.")] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print a link to the form of each ask; --as names whom.")
    ] = False,
    hours: Annotated[
        float | None, typer.Option("--hours", min=0, help="How long a link is good.")
    ] = None,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    Take a person's seat: see what waits for you, and answer.

    Without an answer in the options the debate is shown and every field asked for.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    plain: dict[str, JsonValue] = {
        "verdict": verdict,
        "confidence": confidence,
        "because": because,
        "evidence": "\n".join(evidence) if evidence else None,
        JSON_FIELD: content,
    }
    values: dict[str, JsonValue] = {
        name: value for name, value in plain.items() if value is not None
    }
    values |= dict(_field(one) for one in sets or ())
    where = _seat(seat, debate)
    if link:
        run_async(lambda: _links(settings, where, hours, by))
        return
    run_async(lambda: _sit(settings, where, values, by, list_only=list_only, as_json=as_json))


def _seat(name: str, debate: str | None) -> Seat:
    panel, slash, persona = name.partition("/")
    if not is_token(panel) or (slash and not is_token(persona)):
        raise BadInput(f"{name!r} is no seat: PANEL/PERSONA")
    return Seat(panel, persona or "*", debate)


def _field(text: str) -> tuple[str, JsonValue]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"--set {text}: should look like field=text")
    return name.strip(), value


async def _sit(
    settings: Settings,
    seat: Seat,
    values: dict[str, JsonValue],
    by: str,
    *,
    list_only: bool,
    as_json: bool,
) -> None:
    async with join(settings) as client:
        found = await waiting(client, seat)
        if list_only:
            _list(found, as_json=as_json)
            return
        if values:
            if not found:
                raise NotFound(await _nothing(client, seat))
            ask = _only(found, seat)
            await answer_with(ask, values, by)
            _done(ask, as_json=as_json)
            return
        if not found:
            say(await _nothing(client, seat))
        for ask in found:
            await ask_in_terminal(ask, by)
            _done(ask, as_json=False)


async def _links(settings: Settings, seat: Seat, hours: float | None, name: str) -> None:
    key = key_for_signing(settings, lambda said: warn([said]))
    async with join(settings) as client:
        found = await waiting(client, seat)
        if not found:
            raise NotFound(await _nothing(client, seat))
    for ask in found:
        token = sign(link_to(ask, hours=hours, name=name), key)
        print_line(address_of(settings, token))


async def waiting(client: Client, seat: Seat) -> list[OpenAsk]:
    found = await client.asks(seat.panel, seat.persona)
    if seat.debate is None:
        return found
    wanted = (await client.debate(seat.debate)).ref
    return [one for one in found if one.ref == wanted]


async def answer_with(ask: OpenAsk, values: dict[str, JsonValue], by: str) -> None:
    if JSON_FIELD in values:
        await ask.answer(content_from_json(values[JSON_FIELD]), by=by)
    else:
        await ask.answer(content_for(ask, values), by=by)


async def _nothing(client: Client, seat: Seat) -> str:
    """With who is awaited instead: a name may be mistyped."""
    others = dict.fromkeys(f"{one.ref.panel}/{one.persona}" for one in await client.asks())
    awaited = f" (somebody waits for {', '.join(others)})" if others else ""
    return f"nothing waits for {_named(seat)}{awaited}"


def _only(found: Sequence[OpenAsk], seat: Seat) -> OpenAsk:
    if len(found) > 1:
        lines = "\n".join(map(tell_briefly, found))
        raise BadInput(f"several asks wait for {_named(seat)}: say which with --debate ID\n{lines}")
    return found[0]


def _named(seat: Seat) -> str:
    who = f"{seat.panel}/{seat.persona}" if seat.persona else seat.panel
    return f"{who} in {seat.debate}" if seat.debate else who


def _list(found: Sequence[OpenAsk], *, as_json: bool) -> None:
    for ask in found:
        if as_json:
            print_line(show_ask(ask).model_dump_json())
        else:
            say(tell_briefly(ask))
    if not found and not as_json:
        print_line("nothing waits")


def _done(ask: OpenAsk, *, as_json: bool) -> None:
    said = {"debate_id": ask.ref.id, "panel": ask.ref.panel, "step": ask.step}
    print_line(json.dumps(said) if as_json else f"{ask.ref.id}: {ask.persona} has spoken")
