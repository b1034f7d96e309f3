"""
Dead letters: a small stream beside the log, filled mostly by the server itself.

The server announces every record whose deliveries are used up, and every one that a worker
terminated with a reason. Both announcements are stored as they are, so that a dead letter needs
no process of ours to be alive at that moment. What a reader of the log cannot use is added by
that reader. A dead letter only names its record: that stays in the log, at its place.

A reader reads its debates again whenever it starts. What it buried once and somebody dropped leaves
an empty record behind, which holds the place for as long as dead letters are kept.
"""

import json
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
from parley.bus.port import USED_UP, DeadLetter, Entry, Guard, Record

NO_SUCH_MESSAGE = 10057

log = structlog.get_logger()


class Announcement(Contract):
    """What the server says of a record that it hands out no more, as far as we care."""

    model_config = ConfigDict(extra="ignore")

    stream_seq: Annotated[int, Field(ge=1)]
    consumer: str = ""
    reason: str = USED_UP
    deliveries: int = 0


class DeadLetters:
    def __init__(self, replies: Replies, writer: Writer, layout: Layout) -> None:
        self._replies = replies
        self._writer = writer
        self._layout = layout
        self._stream = Log(replies, layout.dead)

    async def bury(self, sequence: int, reason: str) -> None:
        subject = self._layout.grave(sequence)
        letter = json.dumps({"stream_seq": sequence, "reason": reason}).encode()
        with suppress(Conflict):
            await self._writer.append(Entry(subject, letter, subject, Guard(subject, 0)))

    async def read(self) -> list[DeadLetter]:
        return [
            DeadLetter(
                number=record.sequence,
                sequence=said.stream_seq,
                queue=said.consumer,
                reason=said.reason,
                attempts=said.deliveries,
                time_ns=record.time_ns,
            )
            for record in await self._stream.read(">", 1)
            if record.data and (said := announced(record.data)) is not None
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
        request = {"seq": number, "no_erase": True}
        try:
            await self._replies.ask(f"$JS.API.STREAM.MSG.DELETE.{self._layout.dead}", request)
        except ApiError as error:
            if error.err_code != NO_SUCH_MESSAGE:
                raise Unsuitable(f"dead letter {number}: {error}") from error

    async def _leave_empty(self, letter: Record) -> None:
        subject = letter.subject
        with suppress(Conflict):
            await self._writer.append(Entry(subject, b"", subject, Guard(subject, letter.sequence)))


def announced(data: bytes) -> Announcement | None:
    """None for what is no announcement: anybody in the account may write to these subjects."""
    try:
        return Announcement.model_validate_json(data)
    except ValidationError as error:
        log.warning("quarantined", subject="announcement", reason=f"{error.error_count()} mistakes")
        return None
