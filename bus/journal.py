"""
Facts on the bus: the few writes that exist, each with the guard that makes it safe to repeat.

    submit   once ever per debate
    cancel   once per debate
    speak    once ever per (step, persona)
    fire     once ever per step
    control  only while no other control fact was written since (`after`)
    redrive  not a fact; two at the same time are one, and none has an effect after the turn

What is no fact counts for nothing: it does not stand in the way of the first submission, deadline
or cancellation. An agent cannot read the log, so that it takes any record for its turn.
"""

import hashlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import anyio
from pydantic import TypeAdapter

from parley.bus.archive import DELETED, DebateArchive, Summary
from parley.bus.codec import decode, decode_ask, encode
from parley.bus.contracts.base import BlobRef
from parley.bus.contracts.facts import (
    Ask,
    Asked,
    CancelRequested,
    ControlFact,
    DeadlineFired,
    Deleted,
    Fact,
    Request,
    RequestByReference,
    Submitted,
    TurnTaken,
)
from parley.bus.errors import Conflict, DecodeError, Denied, Full, NotInstalled, Unavailable
from parley.bus.port import LARGEST_RECORD_BYTES, Bus, Entry, Guard, Record
from parley.bus.subjects import CLOSED, SUBMITTED, DebateRef, Subjects, tail_of
from parley.bus.telemetry import OFF, Telemetry, traceparent

# A request larger than this travels as a blob, so that long debates stay below the payload limit.
INLINE_REQUEST_BYTES = 128 * 1024

# What the log takes, less plenty of room for headers.
LARGEST_FACT_BYTES = LARGEST_RECORD_BYTES - 32 * 1024

# So often somebody else may have written in between.
RIVALS = 8

# How long a follower hears nothing before it looks whether its debate was archived.
LOOK_INTO_ARCHIVE_S = 5.0


@cache
def _requests() -> TypeAdapter[Request]:
    """Built when first needed: a command that reads none starts sooner."""
    return TypeAdapter(Request)


class Logged(NamedTuple):
    """A fact with its place in the log."""

    sequence: int
    ref: DebateRef
    fact: Fact
    time_ns: int


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A record on one of our subjects that is not a fact; it counts for nothing."""

    record: Record
    reason: str


class Draft(NamedTuple):
    """A fact ready to be written."""

    subject: str
    data: bytes
    fact: Fact
    headers: tuple[str, ...]


class Journal:
    def __init__(self, bus: Bus, subjects: Subjects, telemetry: Telemetry = OFF) -> None:
        self.bus = bus
        self.subjects = subjects
        self.telemetry = telemetry
        self.archive = DebateArchive(bus, subjects)

    async def submit(self, ref: DebateRef, fact: Submitted) -> None:
        """Raises Conflict when the debate's id is taken, and Full when the log nearly is."""
        await self.check_room()
        await self._write_first(ref, fact)

    async def check_room(self) -> None:
        """Raises Full for whoever would begin something new in a log that is nearly full."""
        shortage = await self.bus.shortage()
        if shortage:
            raise Full(shortage)

    async def cancel(self, ref: DebateRef, fact: CancelRequested) -> None:
        """Raises Conflict when somebody cancelled before."""
        await self._write_first(ref, fact)

    def speak(
        self, ref: DebateRef, fact: TurnTaken, *, sampled: bool = False
    ) -> Coroutine[Any, Any, None]:
        """
        Raises Conflict when the persona's turn in this step is already in the log.

        `sampled` is what the ask said.
        """
        return self._write_once(ref, fact, sampled=sampled)

    def draft(self, ref: DebateRef, fact: ControlFact, data: bytes | None = None) -> Draft:
        """`data` is the fact, where it is encoded already."""
        return self._draft(ref, fact, data)

    async def fire(self, ref: DebateRef, fact: DeadlineFired) -> None:
        """Raises Conflict when the step's deadline is already in the log."""
        await self._write_first(ref, fact)

    async def control(self, ref: DebateRef, draft: Draft, *, after: int) -> None:
        """Write a control fact if `after` is still the last one's sequence; Conflict if it is not."""
        fact = draft.fact
        if isinstance(fact, Asked) and len(draft.data) > INLINE_REQUEST_BYTES:
            fact, request = externalise(fact)
            draft = self._draft(ref, fact)
            await self.bus.put_blob(request, "application/json")
        await self.bus.append(self._controlling(ref, draft, after))

    def offer(self, ref: DebateRef, draft: Draft, *, after: int) -> bool:
        """
        Like `control`, without waiting for the outcome, which the log will show.

        False if it was not sent, because of its size or because there is no way to the server.
        """
        if len(draft.data) > INLINE_REQUEST_BYTES:
            return False
        return self.bus.offer(self._controlling(ref, draft, after))

    def _controlling(self, ref: DebateRef, draft: Draft, after: int) -> Entry:
        return _entry(draft, Guard(self.subjects.control_of(ref), after))

    async def redrive(self, ref: DebateRef, ask: Ask, persona: str, died: int = 0) -> None:
        """
        Ask one persona once more, outside the debate's log; its turn is still written once ever.

        `died` is where the ask stood that nobody answered. Raises Conflict when somebody else asked
        again since, or does so at this moment.
        """
        again = Ask.model_validate({**dict(ask), "personas": (persona,)})
        subject = self.subjects.redrive(ref, ask.step, persona)
        data = again.model_dump_json(exclude_none=True).encode()
        before = await self.bus.read(subject)
        after = before[-1].sequence if before else 0
        if 0 < died < after:
            raise Conflict(f"{persona} was asked again already")
        await self.bus.append(Entry(subject, data, f"{subject}.{after}", Guard(subject, after)))

    async def read(self, ref: DebateRef) -> tuple[list[Logged], list[Undecodable]]:
        """Wherever the debate stands: in the log, or in the archive."""
        return self.decode_all(await self.records(ref))

    async def records(self, ref: DebateRef) -> Sequence[Record]:
        """
        All of a debate. What the log holds of it is whole while its beginning and its end stand
        there; otherwise it is open, or was archived, even while it was being read.
        """
        found = await self.bus.read(self.subjects.debate(ref))
        subjects = {one.subject for one in found}
        if subjects.issuperset(self.subjects.at(ref, tail) for tail in (SUBMITTED, CLOSED)):
            return found
        archived = await self.archive.get(ref)
        return archived.records if archived is not None else found

    async def find(self, panel: str = "*", debate: str = "*") -> list[DebateRef]:
        """
        The debates that were submitted, oldest first: those of the archive, those of the log.

        Without an id it reads the archive's whole table of contents.
        """
        found = await self.bus.read(self.subjects.submissions(panel, debate))
        hot = dict.fromkeys(one.ref for one in self.decode_all(found)[0])
        if debate != "*":
            archived = await self.archive.find(panel, debate)
        else:
            contents = await self.archive.contents()
            archived = [one.ref for one in contents if panel in ("*", one.ref.panel)]
        return [*(ref for ref in archived if ref not in hot), *hot]

    async def delete(self, ref: DebateRef, fact: Deleted, now_ns: int) -> None:
        """
        Put a tombstone in the debate's place in the archive, then purge it from the log; idempotent.

        From the tombstone on nothing opens under this id; a purge that was cut off is finished by
        the coordinator, which finds a closed debate that is archived. Raises Denied, and Conflict
        for one that is open.
        """
        subject = self.subjects.debate(ref)
        through = (await self.bus.position()).reached[self.bus.place_of(subject).number]
        hot = await self.bus.read(subject)
        kept = await self.archive.summary(ref)
        if kept is None and self.subjects.at(ref, CLOSED) not in {one.subject for one in hot}:
            raise Conflict(f"{ref} is open: cancel it first")
        logged = self.decode_all(hot)[0]
        begun = next((one for one in logged if isinstance(one.fact, Submitted)), None)
        protocol = kept.protocol if kept is not None else ""
        submitted_ns = kept.submitted_ns if kept is not None else now_ns
        if begun is not None and isinstance(begun.fact, Submitted):
            protocol, submitted_ns = begun.fact.panel.protocol, begun.time_ns
        summary = Summary(
            protocol=protocol,
            status=DELETED,
            closing=fact.why,
            submitted_ns=submitted_ns,
            closed_ns=now_ns,
            facts=1,
            stream=self.bus.stream_of(subject),
            through=through,
        )
        record = Record(1, self.subjects.of(ref, fact), encode(fact), now_ns)
        for _ in range(RIVALS):
            try:
                await self.archive.bury(ref, record, summary)
                break
            except Conflict:
                continue
        else:
            raise Unavailable(f"{ref} is being archived: delete it again")
        if hot:
            await self.bus.purge(subject, through=through)

    async def follow(self, ref: DebateRef, *, on: Callable[[Sequence[Record]], None]) -> None:
        """
        Every record of one debate from its first on, in order, each once; until cancelled.

        It may be archived before or while it is followed, which nobody notices: where the log
        stays silent, the archive is looked into.
        """
        reached, silent = 0, True

        def tell(records: Sequence[Record]) -> None:
            nonlocal reached, silent
            fresh = [one for one in records if one.sequence > reached]
            if fresh:
                reached, silent = fresh[-1].sequence, False
                on(fresh)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(self.bus.tail, (self.subjects.debate(ref),), start=1, on=tell))
            while True:
                if silent:
                    archived = await self._archived_records(ref)
                    if archived is not None:
                        tell(archived)
                        break
                silent = True
                await anyio.sleep(LOOK_INTO_ARCHIVE_S)

    async def _archived_records(self, ref: DebateRef) -> Sequence[Record] | None:
        """None also where this login may not know, or the server is away at this moment."""
        try:
            archived = await self.archive.get(ref)
        except (Denied, Unavailable):
            return None
        return archived.records if archived is not None else None

    def decode_all(self, records: Iterable[Record]) -> tuple[list[Logged], list[Undecodable]]:
        logged: list[Logged] = []
        undecodable: list[Undecodable] = []
        for record in records:
            try:
                logged.append(self.decode(record))
            except DecodeError as error:
                undecodable.append(Undecodable(record, str(error)))
        return logged, undecodable

    def decode(self, record: Record) -> Logged:
        refuse_forged(record)
        address = self.subjects.parse(record.subject)
        if address is None:
            raise DecodeError(f"subject {record.subject} belongs to no debate")
        ref, tail = address
        return Logged(record.sequence, ref, decode(tail, record.data), record.time_ns)

    def decode_ask(self, record: Record) -> tuple[DebateRef, Ask]:
        refuse_forged(record)
        address = self.subjects.parse_ask(record.subject)
        if address is None:
            raise DecodeError(f"subject {record.subject} belongs to no debate")
        return address[0], decode_ask(address[1], record.data)

    async def is_over(self, ref: DebateRef, step: str) -> bool:
        """Whether nobody waits for this step any more, as far as an agent may know."""
        for subject in (
            self.subjects.of(ref, DeadlineFired(step=step)),
            self.subjects.at(ref, CLOSED),
        ):
            record = await self.bus.newest(subject)
            if record is not None and self.decode_all([record])[0]:
                return True
        return False

    async def fetch_request(self, reference: RequestByReference) -> Request:
        return _requests().validate_json(await self.bus.get_blob(reference.blob))

    async def _write_first(self, ref: DebateRef, fact: Fact) -> None:
        try:
            await self._write_once(ref, fact)
        except Conflict:
            found = await self.bus.read(self.subjects.of(ref, fact))
            if not found or any(map(self._is_somebodys, found)):
                raise
            await self._write_once(ref, fact, after=found[-1].sequence)

    def _is_somebodys(self, record: Record) -> bool:
        """Whether it is a fact, if only to those who have its protocol."""
        try:
            self.decode(record)
        except DecodeError as error:
            return isinstance(error, NotInstalled)
        return True

    async def _write_once(
        self, ref: DebateRef, fact: Fact, after: int = 0, *, sampled: bool | None = None
    ) -> None:
        draft = self._draft(ref, fact, sampled=sampled)
        await self.bus.append(_entry(draft, Guard(draft.subject, after)))

    def _draft(
        self, ref: DebateRef, fact: Fact, data: bytes | None = None, *, sampled: bool | None = None
    ) -> Draft:
        tail = tail_of(fact)
        if sampled is None:
            sampled = self.telemetry.samples(ref)
        headers = envelope(ref, fact, tail, sampled=sampled)
        return Draft(self.subjects.at(ref, tail), data or encode(fact), fact, headers)


def refuse_forged(record: Record) -> None:
    """Raises DecodeError for a record whose publisher spoke in the server's name."""
    if record.forged:
        raise DecodeError(f"its header {record.forged} is for the server to write")


def _entry(draft: Draft, guard: Guard) -> Entry:
    """Every subject is written once, so that it can be the write's id."""
    return Entry(draft.subject, draft.data, draft.subject, guard, draft.headers)


def fits(fact: ControlFact, size: int) -> bool:
    """Whether the log takes it in the form in which it travels; `size` is that of its bytes."""
    if size > LARGEST_FACT_BYTES and isinstance(fact, Asked):
        fact, _ = externalise(fact)
        size = len(encode(fact))
    return size <= LARGEST_FACT_BYTES


def externalise(ask: Asked) -> tuple[Asked, bytes]:
    """The same ask with its request replaced by a reference, and the request's bytes."""
    data = ask.request.model_dump_json(exclude_none=True).encode()
    ref = BlobRef(
        sha256=hashlib.sha256(data).hexdigest(), size=len(data), media_type="application/json"
    )
    return ask.model_copy(update={"request": RequestByReference(blob=ref)}), data


def envelope(ref: DebateRef, fact: Fact, name: str, *, sampled: bool = False) -> tuple[str, ...]:
    """CloudEvents attributes (binary mode) and W3C trace context, of the debate's fact of this name."""
    return (
        "ce-specversion: 1.0",
        f"ce-id: {name}",
        f"ce-source: /{ref.panel}/{ref.id}",
        f"ce-type: parley.{fact.type}",
        f"traceparent: {traceparent(ref, name, sampled=sampled)}",
    )
