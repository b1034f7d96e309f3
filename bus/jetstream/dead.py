"""
Dead letters: a small stream beside the log, filled mostly by the server itself.

The server announces every record whose deliveries are used up, and every one that a worker
terminated with a reason. Both announcements are stored as they are, so that a dead letter needs
no process of ours to be alive at that moment. What a reader of the log cannot use is added by
that reader. A dead letter only names its record, which stays in the log; of one that is taken out
of it the letter keeps a trace.

A reader reads its debates again whenever it starts. What it buried once and somebody dropped leaves
an empty record behind, which holds the place for as long as dead letters are kept.
"""

from contextlib import suppress
from typing import Annotated

import structlog
from pydantic import ConfigDict, Field, ValidationError

from parley.bus.contracts.base import Contract
from parley.bus.errors import Conflict, NotFound, Unsuitable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import USED_UP, DeadLetter, Entry, Guard, Record, Trace

# Deleted before: of a sequence that was never there, and of one that is no longer.
GONE = frozenset({10057, 10043})
# The server's word for an ask that was purged while somebody had it.
DELETED = "Unacknowledged message was deleted"
# Dropped letters leave gaps: how much further back the next look reaches.
WIDER = 4

log = structlog.get_logger()


class Announcement(Contract):
    """What the server says of a record that it hands out no more, as far as we care."""

    model_config = ConfigDict(extra="ignore")

    stream_seq: Annotated[int, Field(ge=1)]
    stream: str = ""
    consumer: str = ""
    reason: str = USED_UP
    deliveries: int = 0
    trace: Trace | None = None


class DeadLetters:
    def __init__(self, replies: Replies, writer: Writer, layout: Layout) -> None:
        self._replies = replies
        self._writer = writer
        self._layout = layout
        self._stream = Log(replies, layout.dead)

    async def bury(
        self, stream: str, sequence: int, reason: str, trace: Trace | None = None
    ) -> None:
        """A grave of the first stream has no name of its own: it was the only one once."""
        layout = self._layout
        subject = layout.grave(sequence if stream == layout.stream else f"{stream}-{sequence}")
        letter = Announcement(stream=stream, stream_seq=sequence, reason=reason, trace=trace)
        data = letter.model_dump_json(exclude_defaults=True).encode()
        with suppress(Conflict):
            await self._writer.append(Entry(subject, data, subject, Guard(subject, 0)))

    async def read(self, before: int | None, newest: int | None) -> list[tuple[str, DeadLetter]]:
        """
        With the stream of each, which its sequence counts in. The newest ones are looked for from
        the end, further back until there are enough.
        """
        if newest is None:
            return await self._read(1, before)
        state = (await self._stream.info())["state"]
        first, end = max(1, state["first_seq"]), state["last_seq"] + 1
        if before is not None:
            end = min(before, end)
        width = newest
        while True:
            start = max(first, end - width)
            found = await self._read(start, end)
            if len(found) >= newest or start == first:
                return found[-newest:]
            width *= WIDER

    async def _read(self, start: int, before: int | None) -> list[tuple[str, DeadLetter]]:
        return [
            (said.stream or self._layout.stream, _letter(record, said))
            for record in await self._stream.read(">", start, before)
            if record.data and (said := announced(record.data)) is not None
            # An ask nobody waits for: its debate left the log, and is no one's to look into.
            if said.reason != DELETED
        ]

    async def forget(self, number: int) -> None:
        try:
            letter = await self._stream.record(number)
        except NotFound:
            return
        if not letter.data:
            return
        if letter.subject.startswith(self._layout.grave("")):
            await self._leave_empty(letter)
        await delete(self._replies, self._layout.dead, number)

    async def _leave_empty(self, letter: Record) -> None:
        subject = letter.subject
        with suppress(Conflict):
            await self._writer.append(Entry(subject, b"", subject, Guard(subject, letter.sequence)))


def _letter(record: Record, said: Announcement) -> DeadLetter:
    return DeadLetter(
        number=record.sequence,
        sequence=said.stream_seq,
        queue=said.consumer,
        reason=said.reason,
        attempts=said.deliveries,
        time_ns=record.time_ns,
        trace=said.trace,
    )


async def delete(replies: Replies, stream: str, sequence: int) -> None:
    """Idempotent."""
    request = {"seq": sequence, "no_erase": True}
    try:
        await replies.ask(f"$JS.API.STREAM.MSG.DELETE.{stream}", request)
    except ApiError as error:
        if error.err_code not in GONE:
            raise Unsuitable(f"record {sequence} of {stream}: {error}") from error


async def purge(replies: Replies, stream: str, filter_subject: str, through: int) -> None:
    """Idempotent."""
    request = {"filter": filter_subject, "seq": through + 1}
    try:
        await replies.ask(f"$JS.API.STREAM.PURGE.{stream}", request)
    except ApiError as error:
        raise Unsuitable(f"{filter_subject} of {stream}: {error}") from error


def announced(data: bytes) -> Announcement | None:
    """None for what is no announcement: anybody in the account may write to these subjects."""
    try:
        return Announcement.model_validate_json(data)
    except ValidationError as error:
        log.warning("quarantined", subject="announcement", reason=f"{error.error_count()} mistakes")
        return None
