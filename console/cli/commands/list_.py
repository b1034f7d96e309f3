import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import anyio
import typer

from parley.bus.errors import BadInput
from parley.client import Client
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.listing.debates import DebateList, Page, open_list
from parley.console.listing.rows import Row, Wanted
from parley.console.runtime.system import join, list_folder, run_async
from parley.console.terminal.listing import print_rows
from parley.console.transcript.text import is_token

EXAMPLE = 'parley submit absa "The food was great." starts one'

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class State(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETED = "deleted"


@app.command(
    "list",
    epilog=example(
        "parley list",
        "parley list --panel forensic --status open",
        "parley list --search invoice --since 2026-11-01 --limit 500 --json",
    ),
)
def list_(
    status: Annotated[
        State | None, typer.Option("--status", help="Closed is however it ended.")
    ] = None,
    panel: Annotated[
        str | None, typer.Option("--panel", metavar="PANEL", help="Of this panel only.")
    ] = None,
    search: Annotated[
        str, typer.Option("--search", metavar="TEXT", help="In what is debated, or in the id.")
    ] = "",
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="2026-11-18, or with T09:30; your own time."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="So many of the newest.")] = 50,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """
    List debates.

    Newest first: those in the log and those in the archive.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    if panel is not None and not is_token(panel):
        raise BadInput(f"--panel: {panel!r} is no name of a panel")
    wanted = Wanted(panel, status.value if status else None, None, search, _moment(since))
    page = run_async(lambda: _list(settings, wanted, limit))
    if as_json:
        for row in page.rows:
            print_line(_as_json(row))
        return
    print_rows(page.rows)
    if not page.rows:
        print_line("no debates" + (" like that" if wanted != Wanted() else f": {EXAMPLE}"))
    if page.following is not None:
        print_line(f"… {page.total - len(page.rows)} more: --limit, --search, --since")


def _moment(since: str | None) -> int:
    if since is None:
        return 0
    try:
        return int(datetime.fromisoformat(since).astimezone().timestamp() * 1e9)
    except (ValueError, OverflowError, OSError) as error:
        raise BadInput(f"--since: {since!r} is no time: 2026-11-18, or 2026-11-18T09:30") from error


async def _list(settings: Settings, wanted: Wanted, limit: int) -> Page:
    async with (
        join(settings) as client,
        open_list(client.reading, list_folder(settings)) as debates,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(debates.follow)
        await _read_log(client, debates)
        await debates.ready.wait()
        page = await debates.page(wanted, limit)
        tasks.cancel_scope.cancel()
    return page


async def _read_log(client: Client, debates: DebateList) -> None:
    for record in await client.reading.everything():
        address = client.reading.place_of(record)
        if address is not None:
            debates.hot.take(*address, record)


def _as_json(row: Row) -> str:
    submitted = datetime.fromisoformat(row.submitted_at).astimezone(UTC)
    return json.dumps(
        {
            "debate_id": row.id,
            "panel": row.panel,
            "topic": row.topic,
            "submitted": submitted.isoformat(timespec="milliseconds"),
            "status": row.status,
            "reason": row.reason,
            "outcome": row.verdict,
            "confidence": row.confidence,
        }
    )
