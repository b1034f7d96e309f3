import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from parley.bus.contracts.facts import Closed, Fact, Finding, Submitted
from parley.bus.journal import Journal, Logged
from parley.bus.subjects import DebateRef
from parley.configs.settings import Settings, load
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import open_journal, run_async
from parley.console.transcript.items import Outcome
from parley.console.transcript.presentation import answering, presentation_of
from parley.console.transcript.text import one_line
from parley.console.transcript.words import outcome_words

OPEN = "open"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class Listed:
    ref: DebateRef
    submitted: datetime
    closed: Closed | None
    outcome: Outcome | None

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
        entries, _ = journal.decode_all(await journal.bus.read(subjects.submissions()))
        submitted: dict[DebateRef, Logged] = {}
        for entry in entries:
            submitted.setdefault(entry.ref, entry)
        closed = await _first(journal, subjects.closings(), submitted)
        found = await _outcomes(journal, submitted)
    listed = []
    for ref, begun in submitted.items():
        end = closed.get(ref)
        moment = datetime.fromtimestamp(begun.time_ns / 1e9, UTC)
        listed.append(Listed(ref, moment, end if isinstance(end, Closed) else None, found.get(ref)))
    return listed


async def _outcomes(
    journal: Journal, submitted: Mapping[DebateRef, Logged]
) -> dict[DebateRef, Outcome]:
    """Of each debate, as its protocol tells it."""
    protocols = {
        ref: one.fact.panel.protocol
        for ref, one in submitted.items()
        if isinstance(one.fact, Submitted)
    }
    types = dict.fromkeys(name for one in set(protocols.values()) for name in answering(one))
    outcomes: dict[DebateRef, Outcome] = {}
    for name in types:
        subject = journal.subjects.at(DebateRef("*", "*"), f"ctl.{name}")
        for ref, fact in (await _first(journal, subject, submitted)).items():
            told = presentation_of(protocols[ref])
            if isinstance(fact, Finding) and told.concludes(name):
                outcome = told.outcome(fact)
                outcomes |= {ref: outcome} if outcome is not None else {}
    return outcomes


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
    if one.outcome is not None:
        line += f"  {outcome_words(one.outcome)}"
    if one.closed is not None:
        line += f"  ({one_line(one.closed.reason)})"
    return line.rstrip()


def _as_json(one: Listed) -> str:
    return json.dumps(
        {
            "debate_id": one.ref.id,
            "panel": one.ref.panel,
            "submitted": one.submitted.isoformat(timespec="milliseconds"),
            "status": one.status,
            "reason": one.closed.reason if one.closed is not None else None,
            "detail": one.closed.detail if one.closed is not None else None,
            "outcome": one.outcome.label if one.outcome is not None else None,
            "confidence": one.outcome.confidence if one.outcome is not None else None,
        }
    )
