"""
Closed debates as one record each: every record as it stood in the log, chained and compressed.

The headers of a record tell what a list shows, so that a list reads no bodies. A body that the
stream does not take as one message is a blob, and the record refers to it. Once the record is
confirmed the debate's own subjects are purged; a debate stands in the log, in the archive or in
both, never in none.
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal, NamedTuple

import anyio
from pydantic import ConfigDict, Field, ValidationError

from parley.bus.contracts.base import BlobRef, Contract, Token, Whole
from parley.bus.errors import Conflict, DecodeError
from parley.bus.port import LARGEST_RECORD_BYTES, Bus, Record
from parley.bus.position import Place
from parley.bus.subjects import DebateRef, Subjects

SUMMARY = "Parley-Summary: "
_SUMMARY = SUMMARY.encode()
MEDIA_TYPE = "application/vnd.parley.archive"
# By measurement (15 to 31 facts): within 12 % of what lzma packs, in a twentieth of its time.
LEVEL = 6
# What the headers may need.
LARGEST_INLINE_BYTES = LARGEST_RECORD_BYTES - 64 * 1024
# Of a body that is unpacked.
LARGEST_BODY_BYTES = 512 << 20
VERSION = 1
# The status of a debate in whose place a tombstone stands.
DELETED = "deleted"


class KeptRecord(Contract):
    """
    `data` is text, or base64 of what is none. `chain` covers this record and all before it;
    `sequence` is the number in its own stream.
    """

    tail: str
    sequence: Whole
    time_ns: Annotated[int, Field(ge=0, lt=2**63)]
    headers: str = ""
    forged: str = ""
    data: str = ""
    base64: str = ""
    chain: str = ""


class KeptBudget(Contract):
    """What one persona had taken out of the debate's budget."""

    key: str
    data: str


class Body(Contract):
    """`stream` is the one in which the debate took place; empty for an import."""

    version: Literal[1] = 1
    panel: Token
    debate_id: Token
    stream: str = ""
    records: tuple[KeptRecord, ...]
    budgets: tuple[KeptBudget, ...] = ()
    # Everything that the facts refer to.
    blobs: tuple[BlobRef, ...] = ()


class Summary(Contract):
    """What a list shows of a debate, and what stands in its record. Texts are as somebody wrote them."""

    model_config = ConfigDict(extra="ignore")

    version: int = VERSION
    protocol: str
    topic: str = ""
    status: str
    # Why the debate terminated, and why it was closed.
    reason: str | None = None
    closing: str = ""
    detail: str = ""
    answer: str | None = None
    confidence: float | None = None
    # The panel's labels with their tones, in its order.
    labels: tuple[tuple[str, str], ...] = ()
    # The last step that was asked, of those with the number of a round.
    step: str = ""
    tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    submitted_ns: int = 0
    closed_ns: int = 0
    facts: int = 0
    stream: str = ""
    # The first record, and the last that was taken in: what came later is no part of the debate.
    first: int = 0
    through: int = 0
    # The last link of the chain.
    chain: str = ""
    # Where the body is, if it is not in the record.
    body: BlobRef | None = None


class Archived(NamedTuple):
    """`broken` says which records are not what was put there."""

    ref: DebateRef
    summary: Summary
    records: tuple[Record, ...]
    budgets: tuple[KeptBudget, ...] = ()
    blobs: tuple[BlobRef, ...] = ()
    broken: tuple[str, ...] = ()


class Listed(NamedTuple):
    """One line of the archive's table of contents; `sequence` is the record's own."""

    sequence: int
    ref: DebateRef
    summary: Summary
    # When it was archived.
    time_ns: int = 0


class Unread(NamedTuple):
    """The same with the summary as it is written, for whoever takes in very many."""

    sequence: int
    ref: DebateRef
    summary: bytes


class DebateArchive:
    def __init__(self, bus: Bus, subjects: Subjects) -> None:
        self._bus = bus
        self._subjects = subjects

    async def put(
        self,
        ref: DebateRef,
        records: Sequence[Record],
        summary: Summary,
        *,
        budgets: Iterable[KeptBudget] = (),
        blobs: Iterable[BlobRef] = (),
    ) -> Summary:
        """Returns once the debate stands there: as given, or as somebody put it before."""
        place = self._bus.place_of(self._subjects.debate(ref)) if summary.stream else Place()
        kept = chained(ref, [self._kept(ref, one, place) for one in records])
        body = Body(
            panel=ref.panel,
            debate_id=ref.id,
            stream=summary.stream,
            records=kept,
            budgets=tuple(budgets),
            blobs=tuple(blobs),
        )
        data = zlib.compress(body.model_dump_json(exclude_defaults=True).encode(), LEVEL)
        chain = kept[-1].chain
        summary = summary.model_copy(
            update={"first": kept[0].sequence, "through": kept[-1].sequence, "chain": chain}
        )
        if len(data) > LARGEST_INLINE_BYTES:
            where = await self._bus.put_blob(data, MEDIA_TYPE)
            summary, data = summary.model_copy(update={"body": where}), b""
        header = f"{SUMMARY}{summary.model_dump_json(exclude_defaults=True)}"
        try:
            await self._bus.archive.put(self._subjects.archive(ref), data, (header,))
        except Conflict:
            return await self.summary(ref) or summary
        return summary

    async def bury(self, ref: DebateRef, tombstone: Record, summary: Summary) -> None:
        """
        Put the tombstone in the place of the debate, or where it would go; once.

        Raises Conflict where the debate is archived at this moment.
        """
        subject = self._subjects.archive(ref)
        before = await self._bus.archive.get(subject)
        known = summary_of(before) if before is not None else None
        if known is not None and known.status == DELETED:
            return
        kept = chained(ref, [self._kept(ref, tombstone, Place())])
        body = Body(panel=ref.panel, debate_id=ref.id, records=kept)
        data = zlib.compress(body.model_dump_json(exclude_defaults=True).encode(), LEVEL)
        through = self._bus.place_of(self._subjects.debate(ref)).own(summary.through)
        summary = summary.model_copy(update={"chain": kept[-1].chain, "through": through})
        header = f"{SUMMARY}{summary.model_dump_json(exclude_defaults=True)}"
        after = before.sequence if before is not None else 0
        await self._bus.archive.put(subject, data, (header,), after=after)
        if known is not None and known.body is not None:
            await self._bus.drop_blob(known.body)

    async def summary(self, ref: DebateRef) -> Summary | None:
        """None for a debate that is not in the archive. Raises DecodeError."""
        record = await self._bus.archive.get(self._subjects.archive(ref))
        return summary_of(record) if record is not None else None

    async def get(self, ref: DebateRef) -> Archived | None:
        """Raises DecodeError for what this program cannot read, NotFound where its blob is gone."""
        record = await self._bus.archive.get(self._subjects.archive(ref))
        return await self._opened(ref, record) if record is not None else None

    async def _opened(self, ref: DebateRef, record: Record) -> Archived:
        summary = summary_of(record)
        packed = record.data
        if summary.body is not None:
            packed = await self._bus.get_blob(summary.body)
        body = _unpacked(packed, str(ref))
        subject = self._subjects.debate(ref)
        ours = body.stream == self._bus.stream_of(subject)
        place = self._bus.place_of(subject) if ours else Place()
        records = tuple(self._record(ref, one, place) for one in body.records)
        broken = tuple(breaks(ref, body.records))
        if not broken and body.records and body.records[-1].chain != summary.chain:
            broken = ("its last record is not the one that was archived",)
        return Archived(ref, summary, records, body.budgets, body.blobs, broken)

    async def find(self, panel: str, debate: str) -> list[DebateRef]:
        """The debates of this id; the panel may be `*`."""
        found = await self._bus.archive.find(self._subjects.archive(DebateRef(panel, debate)))
        refs = (self._subjects.parse_archive(one.subject) for one in found)
        return [ref for ref in refs if ref is not None]

    async def contents(self, start: int = 1) -> list[Listed]:
        """What stands there at this moment, from the archive's sequence `start` on, oldest first."""
        end = await self._bus.archive.extent()
        found: list[Listed] = []
        if end.records == 0 or end.last < start:
            return found
        with anyio.CancelScope() as reading:

            def on(listed: Sequence[Listed], reached: int) -> None:
                found.extend(listed)
                if reached >= end.last:
                    reading.cancel()

            await self.follow(start=start, on=on)
        return found

    async def follow(self, *, start: int, on: Callable[[Sequence[Listed], int], None]) -> None:
        """`on` is told of every debate that is archived, and the sequence up to which it knows."""

        def read(records: Sequence[Record]) -> None:
            on(list(self._listed(records)), records[-1].sequence)

        await self._bus.archive.follow(self._subjects.archives(), start=start, on=read)

    async def follow_unread(
        self, *, start: int, on: Callable[[Sequence[Unread], int], None]
    ) -> None:
        """Like `follow`, and faster."""

        def read(records: Sequence[Record]) -> None:
            on(list(self._unread(records)), records[-1].sequence)

        await self._bus.archive.follow(self._subjects.archives(), start=start, on=read)

    def _unread(self, records: Iterable[Record]) -> Iterable[Unread]:
        for record in records:
            ref = self._subjects.parse_archive(record.subject)
            line = _summary_line(record)
            if ref is not None and line:
                yield Unread(record.sequence, ref, line)

    def _listed(self, records: Iterable[Record]) -> Iterable[Listed]:
        """What is no debate's record is left out."""
        for record in records:
            ref = self._subjects.parse_archive(record.subject)
            try:
                summary = summary_of(record)
            except DecodeError:
                continue
            if ref is not None:
                yield Listed(record.sequence, ref, summary, record.time_ns)

    def extent(self, ref: DebateRef, summary: Summary) -> tuple[int, int]:
        """
        The sequences in this log from which and up to which the debate stood there; 0 and 0 where it
        took place elsewhere: its sequences say nothing here.
        """
        subject = self._subjects.debate(ref)
        if summary.stream != self._bus.stream_of(subject):
            return 0, 0
        place = self._bus.place_of(subject)
        return place.sequence(summary.first), place.sequence(summary.through)

    def _kept(self, ref: DebateRef, record: Record, place: Place) -> KeptRecord:
        text, binary = _as_text(record.data)
        return KeptRecord(
            tail=self._subjects.tail(ref, record.subject),
            sequence=place.own(record.sequence),
            time_ns=record.time_ns,
            headers=record.headers.decode("latin-1"),
            forged=record.forged,
            data=text,
            base64=binary,
        )

    def _record(self, ref: DebateRef, kept: KeptRecord, place: Place) -> Record:
        return Record(
            sequence=place.sequence(kept.sequence),
            subject=self._subjects.at(ref, kept.tail),
            data=_data(kept),
            time_ns=kept.time_ns,
            forged=kept.forged,
            headers=kept.headers.encode("latin-1", "replace"),
        )


def summary_of(record: Record) -> Summary:
    """Raises DecodeError."""
    line = _summary_line(record)
    if not line:
        raise DecodeError(f"{record.subject}: no record of the archive")
    try:
        summary = Summary.model_validate_json(line)
    except ValidationError as error:
        raise DecodeError(f"{record.subject}: its summary cannot be read") from error
    if summary.version != VERSION:
        raise DecodeError(
            f"{record.subject}: version {summary.version} of the archive is not known here"
        )
    return summary


def _summary_line(record: Record) -> bytes:
    """Empty where there is none."""
    for line in record.headers.split(b"\r\n"):
        if line.startswith(_SUMMARY):
            return line[len(_SUMMARY) :]
    return b""


def chained(ref: DebateRef, records: Sequence[KeptRecord]) -> tuple[KeptRecord, ...]:
    chain, linked = str(ref), []
    for one in records:
        chain = _link(chain, one)
        linked.append(one.model_copy(update={"chain": chain}))
    return tuple(linked)


def breaks(ref: DebateRef, records: Sequence[KeptRecord]) -> Iterable[str]:
    """Each link is checked against the one recorded before it, so that one change is one break."""
    chain = str(ref)
    for number, one in enumerate(records):
        if _link(chain, one) != one.chain:
            yield f"record {number} ({one.tail}): altered, or moved, or one before it is lost"
        chain = one.chain


def _link(chain: str, one: KeptRecord) -> str:
    head = f"{chain}\n{one.tail}\n{one.sequence}\n{one.time_ns}\n{one.headers}\n{one.forged}\n"
    digest = hashlib.sha256(head.encode("utf-8", "surrogatepass"))
    digest.update(f"{one.data}\n{one.base64}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _as_text(data: bytes) -> tuple[str, str]:
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return "", base64.b64encode(data).decode()


def _data(kept: KeptRecord) -> bytes:
    try:
        return base64.b64decode(kept.base64) if kept.base64 else kept.data.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise DecodeError(f"{kept.tail}: not base64") from error


def _unpacked(packed: bytes, name: str) -> Body:
    unpack = zlib.decompressobj()
    try:
        data = unpack.decompress(packed, LARGEST_BODY_BYTES)
        if not unpack.eof:
            raise DecodeError(f"{name}: its record in the archive is cut off, or too large")
        return Body.model_validate_json(data)
    except (zlib.error, ValidationError) as error:
        raise DecodeError(f"{name}: its record in the archive cannot be read") from error
