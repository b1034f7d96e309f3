from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from parley.bus.codec import encode
from parley.bus.contracts.facts import Asked, Closed, Fact
from parley.bus.errors import BadInput, Conflict
from parley.bus.journal import Journal, envelope
from parley.bus.port import IMPORTED, Entry, Guard, Record
from parley.configs.settings import Settings, load
from parley.console.archive.lines import Archived
from parley.console.archive.reader import Archive, blobs_in, read_archive
from parley.console.cli.exits import warn
from parley.console.cli.logs import keep_quiet
from parley.console.cli.options import Config, Nats, example
from parley.console.cli.output import print_line
from parley.console.runtime.system import open_journal, run_async
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.summary import summary_of

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("import", epilog=example("parley import debates.jsonl", "parley import images.zip"))
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What parley export wrote.")],
    go_on: Annotated[
        bool,
        typer.Option("--continue", help="Let debates that are not closed go on here."),
    ] = False,
    nats: Nats = None,
    config: Config = None,
) -> None:
    """
    Read exported debates into a server.

    Closed ones go to the archive: nobody is asked anything because of an import. Importing twice
    changes nothing. A debate that has gone another way on the server is refused.
    """
    keep_quiet()
    settings = load(config, {"nats.url": nats})
    archive = read_archive(file)
    broken = [
        f"{file}: {text}"
        for debate in archive.debates
        for text in (*debate.broken, *debate.left_out)
    ]
    if broken:
        raise BadInput("\n".join(broken))
    held = {ref.sha256 for ref, _ in archive.blobs}
    warn(
        f"{debate.ref}: blob {ref.sha256} is not in the file"
        for debate in archive.debates
        for ref in blobs_in(debate.facts)
        if ref.sha256 not in held
    )
    run_async(lambda: _import(settings, archive, go_on=go_on))


async def _import(settings: Settings, archive: Archive, *, go_on: bool) -> None:
    """Whatever stands in the way is found before anything is written."""
    async with open_journal(settings, create=True) as journal:
        await journal.check_room()
        missing = [(one, *await _missing(journal, one)) for one in archive.debates]
        _refuse_open([one for one, facts, _ in missing if facts], go_on=go_on)
        for ref, data in archive.blobs:
            await journal.bus.put_blob(data, ref.media_type)
        for debate, facts, after in missing:
            print_line(f"{debate.ref}: {await _written(journal, debate, facts, after)}")


def _refuse_open(debates: Sequence[Archived], *, go_on: bool) -> None:
    """Raises BadInput: whoever reads them in would set agents to work."""
    still_open = [str(one.ref) for one in debates if not _is_closed(one)]
    if still_open and not go_on:
        raise BadInput(
            f"not closed: {', '.join(still_open)}; with --continue they go on here, and their"
            " agents are asked"
        )


def _is_closed(debate: Archived) -> bool:
    return fold(debate.facts).closed is not None


async def _written(journal: Journal, debate: Archived, facts: Sequence[Fact], after: int) -> str:
    if not facts:
        return "is there already"
    if not _is_closed(debate) or after:
        await journal.bus.append(*_entries(journal, debate, facts, after))
        return f"{len(facts)} facts written"
    records = list(_records(journal, debate))
    summary = summary_of(journal.decode_all(records)[0], stream="")
    assert summary is not None
    await journal.archive.put(debate.ref, records, summary, blobs=blobs_in(debate.facts))
    return f"{len(facts)} facts archived"


def _records(journal: Journal, debate: Archived) -> Iterator[Record]:
    """As the log would hold them; their numbers say only in which order they came."""
    for number, one in enumerate(debate.recorded, start=1):
        subject = journal.subjects.of(debate.ref, one.fact)
        lines = envelope(debate.ref, one.fact, journal.subjects.tail(debate.ref, subject))
        block = "".join(f"{line}\r\n" for line in lines).encode()
        yield Record(number, subject, encode(one.fact), one.time_ns, headers=block)


async def _missing(journal: Journal, debate: Archived) -> tuple[Sequence[Fact], int]:
    """The facts that the server does not have yet, and the sequence that they follow in its log."""
    records = await journal.records(debate.ref)
    logged, undecodable = journal.decode_all(records)
    warn(f"record {one.record.sequence} is left out: {one.reason}" for one in undecodable)
    there = tuple(one.fact for one in logged)
    both = min(len(there), len(debate.facts))
    if there[:both] != debate.facts[:both]:
        raise Conflict(f"{debate.ref} has gone another way on this server")
    return debate.facts[both:], records[-1].sequence if records else 0


def _entries(
    journal: Journal, debate: Archived, facts: Sequence[Fact], after: int
) -> Iterator[Entry]:
    """
    All at once, so that no coordinator comes in between; the first one's guard covers them.

    A coordinator that watches the debate arrive may want to write the same facts, and its guard
    fails against them. Asks whose step is over are marked, so that nobody answers them.
    """
    ref, seen = debate.ref, Counter[str]()
    closed = any(isinstance(fact, Closed) for fact in debate.facts)
    open_step = None if closed else fold(debate.facts).open_step
    for fact in facts:
        subject = journal.subjects.of(ref, fact)
        again = f".{seen[subject]}" if seen[subject] else ""
        is_waited_for = open_step is not None and any(one is fact for one in open_step.asked)
        mark = (IMPORTED,) if isinstance(fact, Asked) and not is_waited_for else ()
        yield Entry(
            subject=subject,
            data=encode(fact),
            msg_id=subject + again,
            guard=None if seen else Guard(journal.subjects.debate(ref), after),
            headers=(*mark, *envelope(ref, fact, journal.subjects.tail(ref, subject) + again)),
        )
        seen[subject] += 1
