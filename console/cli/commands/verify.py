import json

import typer

from parley.configs.settings import load
from parley.console.cli.exits import FAILED
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, IdOrFile, Json, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.sources import logs_of
from parley.console.transcript.text import one_line
from parley.coordinator.core.audit import Audit, audit
from parley.files.lines import name_of
from parley.logs import Log

PROBLEM_WIDTH = 400
# Somebody else's rules decided: nothing is wrong, and nothing is proved.
NOT_VERIFIED = 4

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("parley verify 01jd7w2k9xqz", "parley verify debates.jsonl"))
def verify(
    source: IdOrFile, nats: Nats = None, config: Config = None, as_json: Json = False
) -> None:
    """
    Recompute every decision of a debate from its log.

    The exit code is 1 if any recorded decision is not the one that the rules arrive at, or if an
    exported file is not what was exported; else 4 if a debate was decided by rules that are not this
    program's: another version, or a rule of somebody's own. Forged and foreign records count for
    nothing: they are named, and change neither the outcome nor the exit code.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    wrong = unverified = False
    for log in logs_of(settings, source):
        found = audit(log.facts)
        wrong = wrong or bool(found.discrepancies or log.broken)
        unverified = unverified or found.unverified is not None
        for line in [_as_json(log, found)] if as_json else _in_words(log, found):
            print_line(line)
    if wrong or unverified:
        raise typer.Exit(FAILED if wrong else NOT_VERIFIED)


def _in_words(log: Log, found: Audit) -> list[str]:
    if found.unverified is not None and not log.broken:
        return [f"{log.ref}: not verified: {found.unverified}"]
    if found.holds and not log.broken:
        end = "closed" if found.state.closed is not None else "still open"
        return [
            f"{log.ref}: holds, {found.checked} decisions recomputed ({end})",
            *(f"  counts for nothing: {text}" for text in _foreign(log, found)),
        ]
    return [
        f"{log.ref}: DOES NOT HOLD",
        *(f"  {text}" for text in log.broken),
        *(
            f"  fact {one.ordinal} ({name_of(log.facts[one.ordinal])}): {one_line(one.problem, PROBLEM_WIDTH)}"
            for one in found.discrepancies
        ),
        *(f"  counts for nothing: {text}" for text in _foreign(log, found)),
    ]


def _foreign(log: Log, found: Audit) -> list[str]:
    """Records that nobody with a right to it wrote into this debate."""
    return [
        *(one_line(text, PROBLEM_WIDTH) for text in log.left_out),
        *(
            f"fact {one.ordinal} ({name_of(log.facts[one.ordinal])}): {one.problem}"
            for one in found.foreign
        ),
    ]


def _as_json(log: Log, found: Audit) -> str:
    return json.dumps(
        {
            "debate_id": log.ref.id,
            "panel": log.ref.panel,
            "holds": found.holds and not log.broken,
            "unverified": found.unverified,
            "checked": found.checked,
            "closed": found.state.closed is not None,
            "broken": log.broken,
            "foreign": _foreign(log, found),
            "discrepancies": [
                {"ordinal": one.ordinal, "fact": one.fact, "problem": one.problem}
                for one in found.discrepancies
            ],
        },
        ensure_ascii=False,
    )
