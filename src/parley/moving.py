"""Debates out of a server into a file, and back."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from parley.bus.codec import encode
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import Asked, Closed, Fact
from parley.bus.errors import BadInput, Conflict, NotFound
from parley.bus.journal import Journal, envelope
from parley.bus.port import IMPORTED, Blobs, Entry, Guard, Record
from parley.bus.subjects import DebateRef
from parley.connection import Warn
from parley.coordinator.core.reducer import fold
from parley.coordinator.core.summary import summary_of
from parley.files.bundle import SUFFIX, BundleWriter
from parley.files.lines import Archived, Recorded, blob_line, blobs_in, fact_lines
from parley.files.reader import Archive, read_archive, written_whole
from parley.logs import Log, refuse_deleted


class Writer(Protocol):
    """Debates first, then the blobs they refer to."""

    def debate(self, ref: DebateRef, recorded: Sequence[Recorded], /) -> None: ...

    def blob(self, ref: BlobRef, data: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Lines:
    file: BinaryIO

    def debate(self, ref: DebateRef, recorded: Sequence[Recorded]) -> None:
        self.file.writelines(f"{line}\n".encode() for line in fact_lines(ref, recorded))

    def blob(self, ref: BlobRef, data: bytes) -> None:
        self.file.write(f"{blob_line(ref, data)}\n".encode())


async def export(logs: Iterable[Log], blobs: Blobs, out: Path | BinaryIO, *, warn: Warn) -> None:
    """A bundle for a path that ends in .zip, else JSON Lines. Raises BadInput."""
    if not isinstance(out, Path):
        await _write(logs, blobs, Lines(out), warn)
        return
    with written_whole(out) as part:
        if out.suffix.lower() == SUFFIX:
            bundle = BundleWriter(part)
            await _write(logs, blobs, bundle, warn)
            bundle.close()
        else:
            with part.open("wb") as file:
                await _write(logs, blobs, Lines(file), warn)


async def _write(logs: Iterable[Log], blobs: Blobs, writer: Writer, warn: Warn) -> None:
    named: dict[str, BlobRef] = {}
    for log in logs:
        writer.debate(log.ref, log.recorded)
        named |= {ref.sha256: ref for ref in blobs_in(log.facts)}
    for ref in named.values():
        try:
            writer.blob(ref, await blobs.get_blob(ref))
        except NotFound as error:
            warn([str(error)])


def read_whole(file: Path, warn: Warn) -> Archive:
    """What `export` wrote. Raises BadInput for a file that was altered."""
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
    return archive


async def import_(
    journal: Journal, archive: Archive, *, go_on: bool, warn: Warn
) -> AsyncIterator[tuple[DebateRef, str]]:
    """
    Each debate, with what was done about it in words; closed ones go to the archive.

    Whatever stands in the way is found before anything is written. Raises BadInput for a debate
    that is not closed, unless it may `go_on`, and Conflict for one that went another way here.
    """
    await journal.check_room()
    missing = [(one, *await _missing(journal, one, warn)) for one in archive.debates]
    if not go_on:
        _refuse_open([one for one, facts, _ in missing if facts])
    for ref, data in archive.blobs:
        await journal.bus.put_blob(data, ref.media_type)
    for debate, facts, after in missing:
        yield debate.ref, await _written(journal, debate, facts, after)


def _refuse_open(debates: Sequence[Archived]) -> None:
    """Raises BadInput: whoever reads them in would set agents to work."""
    still_open = [str(one.ref) for one in debates if not _is_closed(one)]
    if still_open:
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


async def _missing(journal: Journal, debate: Archived, warn: Warn) -> tuple[Sequence[Fact], int]:
    """The facts that the server does not have yet, and the sequence that they follow in its log."""
    records = await journal.records(debate.ref)
    logged, undecodable = journal.decode_all(records)
    refuse_deleted(logged)
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
