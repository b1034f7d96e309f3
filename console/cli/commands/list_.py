import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from parley.client import Debates
from parley.configs.settings import load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.listing.rows import Row
from parley.console.runtime.system import join, run_async
from parley.console.terminal.listing import print_rows
from parley.listing import State, wanted

EXAMPLE = 'parley submit absa "The food was great." starts one'

app = typer.Typer(add_completion=False, rich_markup_mode=None)


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
    # A mistake is told before anybody is asked.
    wanted(panel or "*", since=since)

    async def ask() -> Debates:
        async with join(settings) as client:
            return await client.debates(
                panel or "*", status=status, search=search, since=since, limit=limit, deleted=True
            )

    debates = run_async(ask)
    rows = [one.row for one in debates if one.row is not None]
    if as_json:
        for row in rows:
            print_line(_as_json(row))
        return
    print_rows(rows)
    if not rows:
        filtered = any((panel, status, search, since))
        print_line("no debates" + (" like that" if filtered else f": {EXAMPLE}"))
    if debates.total > len(rows):
        print_line(f"… {debates.total - len(rows)} more: --limit, --search, --since")


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
