import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from parley.bus.contracts.base import Contract
from parley.bus.contracts.deliberation.content import DeliberationDecision
from parley.bus.contracts.facts import Closed, Decided, Fact
from parley.bus.contracts.verdicts.content import ManagerDecision
from parley.bus.journal import Journal, Logged
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import open_journal, run_async
from parley.console.transcript.text import one_line

OPEN = "open"
CONCLUSION_WIDTH = 60

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Listed:
    ref: DebateRef
    submitted: datetime
    closed: Closed | None
    decided: Decided | None

    @property
    def status(self) -> str:
        return self.closed.status.value if self.closed is not None else OPEN


@app.command("list", epilog=example("parley list", "parley list --status open --json"))
def list_(
    status: Annotated[
        str | None, typer.Option("--status", help="Only open, completed, failed or cancelled.")
    ] = None,
    nats: Nats = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List debates."""
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    listed = [one for one in run_async(lambda: _list(settings)) if status in (None, one.status)]
    for one in listed:
        print_line(_as_json(one) if as_json else _in_words(one))


async def _list(settings: Settings) -> list[Listed]:
    async with open_journal(settings, create=False) as journal:
        subjects = journal.subjects
        everywhere = DebateRef("*", "*")
        submitted = {one.ref: one for one in await journal.submissions()}
        closed = await _first(journal, subjects.closings(), submitted)
        decided = await _first(journal, subjects.at(everywhere, "ctl.decided"), submitted)
    listed = []
    for ref, begun in submitted.items():
        end, decision = closed.get(ref), decided.get(ref)
        listed.append(
            Listed(
                ref,
                datetime.fromtimestamp(begun.time_ns / 1e9, UTC),
                end if isinstance(end, Closed) else None,
                decision if isinstance(decision, Decided) else None,
            )
        )
    return listed


async def _first(
    journal: Journal, filter_subject: str, submitted: Mapping[DebateRef, Logged]
) -> dict[DebateRef, Fact]:
    """Of each debate; what stands before its submission has no place in it."""
    logged, _ = journal.decode_all(await journal.bus.read(filter_subject))
    first: dict[DebateRef, Fact] = {}
    for one in logged:
        begun = submitted.get(one.ref)
        if begun is not None and begun.sequence < one.sequence:
            first.setdefault(one.ref, one.fact)
    return first


def _in_words(one: Listed) -> str:
    moment = one.submitted.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    line = f"{one.ref.id:<12}  {one.ref.panel:<10}  {moment}  {one.status:<9}"
    if one.decided is not None:
        line += f"  {_outcome(one.decided.decision)}"
    if one.closed is not None:
        line += f"  ({one_line(one.closed.reason)})"
    return line.rstrip()


def _outcome(decision: Contract) -> str:
    if isinstance(decision, ManagerDecision):
        return f"{decision.final_verdict} {decision.confidence:.2f}"
    if not isinstance(decision, DeliberationDecision):
        return ""
    sure = "" if decision.confidence is None else f" {decision.confidence:.2f}"
    return f"{one_line(decision.conclusion, CONCLUSION_WIDTH)}{sure}"


def _as_json(one: Listed) -> str:
    decision = one.decided.decision if one.decided is not None else None
    return json.dumps(
        {
            "debate_id": one.ref.id,
            "panel": one.ref.panel,
            "submitted": one.submitted.isoformat(timespec="milliseconds"),
            "status": one.status,
            "reason": one.closed.reason if one.closed is not None else None,
            "detail": one.closed.detail if one.closed is not None else None,
            "final_verdict": (
                decision.final_verdict if isinstance(decision, ManagerDecision) else None
            ),
            "conclusion": (
                decision.conclusion if isinstance(decision, DeliberationDecision) else None
            ),
            "confidence": getattr(decision, "confidence", None),
        }
    )
