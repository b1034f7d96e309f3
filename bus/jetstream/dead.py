"""
Dead letters: a small stream beside the log, filled mostly by the server itself.

The server announces every record whose deliveries are used up, and every one that a worker
terminated with a reason. Both announcements are stored as they are, so that a dead letter needs
no process of ours to be alive at that moment. What a reader of the log cannot use is added by
that reader. A dead letter only names its record: that stays in the log, at its place.
"""

import json
from contextlib import suppress

from parley.bus.errors import Conflict, Unsuitable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import ApiError, Replies
from parley.bus.port import USED_UP, DeadLetter, Entry, Guard, Record

NO_SUCH_MESSAGE = 10057


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
        return [_letter(record) for record in await self._stream.read(">", 1)]

    async def forget(self, number: int) -> None:
        request = {"seq": number, "no_erase": True}
        try:
            await self._replies.ask(f"$JS.API.STREAM.MSG.DELETE.{self._layout.dead}", request)
        except ApiError as error:
            if error.err_code != NO_SUCH_MESSAGE:
                raise Unsuitable(f"dead letter {number}: {error}") from error


def _letter(record: Record) -> DeadLetter:
    said = json.loads(record.data)
    return DeadLetter(
        number=record.sequence,
        sequence=said["stream_seq"],
        queue=said.get("consumer", ""),
        reason=said.get("reason", USED_UP),
        attempts=said.get("deliveries", 0),
        time_ns=record.time_ns,
    )
