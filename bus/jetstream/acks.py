"""
Writing to the log: publish, and wait for the server's word that it is stored.

A write whose outcome is unknown is repeated until the server decides; its msg_id makes that
harmless. A guard that fails on such a repetition may have failed against our own first attempt,
so the log is asked whether the entry is ours.

The server takes a message for a repetition by its id alone, whoever sent the first. An id that
others can guess would let them swallow a write before it is made; where a guard already makes
repetitions harmless, the id is therefore made anew for every write.
"""

import asyncio
import itertools
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence

import anyio

from parley.bus.errors import BadInput, BusError, Conflict, Unavailable, Unsuitable
from parley.bus.jetstream.replies import NO_ANSWER, Answer, ApiError, Replies
from parley.bus.port import Entry

ACK_TIMEOUT_S = 2.0
PATIENCE_S = 20.0
RETRY_PAUSE_S = 0.1

WRONG_LAST_SEQUENCE = 10071
# The same subject or msg_id is being written at this moment: not decided yet.
IN_FLIGHT = frozenset({10164, 10158})
TOO_LARGE = 10054
SERVICE_UNAVAILABLE = 503

_SEQUENCE = re.compile(rb'"seq":\s*(\d+)')

# The sequence under which the log holds this entry, None if it does not.
Find = Callable[[Entry], Awaitable[int | None]]


class Writer:
    def __init__(
        self,
        replies: Replies,
        find: Find,
    ) -> None:
        self._connection = replies.connection
        self._replies = replies
        self._find = find
        self._secret = secrets.token_hex(8)
        self._count = itertools.count()

    async def append(self, *entries: Entry) -> int:
        if len(entries) > 1:
            return (await self.store(entries))[-1]
        entry = entries[0]
        msg_id = self._id_for(entry)
        headers = header_block(entry, msg_id)
        sequence = decided(await self._send(entry, headers), entry)
        if sequence is None:
            return await self._insist(entry._replace(msg_id=msg_id), headers)
        return sequence

    async def store(self, entries: Sequence[Entry]) -> list[int]:
        """The entries' sequences; they are in order unless one of them had to be repeated."""
        sent = []
        for given in entries:
            entry = given._replace(msg_id=self._id_for(given))
            headers = header_block(entry, entry.msg_id)
            sent.append((entry, headers, self._send(entry, headers)))
            if self._connection.client.congested:
                await self._connection.client.relief()
        return [
            decided(await answer, entry) or await self._insist(entry, headers)
            for entry, headers, answer in sent
        ]

    def _id_for(self, entry: Entry) -> str:
        """
        Nobody can guess the id of a guarded entry, and so take it away from us. Its guard, which
        the entry itself would break, already forbids to store it twice.
        """
        guard = entry.guard
        if guard is None or not entry.subject.startswith(guard.subject.removesuffix(">")):
            return entry.msg_id
        return f"{entry.msg_id}.{self._secret}{next(self._count)}"

    def _send(self, entry: Entry, headers: bytes) -> asyncio.Future[Answer]:
        return self._replies.send(entry.subject, entry.data, headers, ACK_TIMEOUT_S)

    async def _insist(self, entry: Entry, headers: bytes) -> int:
        with anyio.move_on_after(PATIENCE_S):
            while True:
                await anyio.sleep(RETRY_PAUSE_S)
                await self._connection.usable()
                try:
                    sequence = decided(await self._send(entry, headers), entry)
                except Conflict:
                    sequence = await self._find(entry)
                    if sequence is None:
                        raise
                if sequence is not None:
                    return sequence
        raise Unavailable(f"no word about {entry.subject} after {PATIENCE_S:g} s")


def header_block(entry: Entry, msg_id: str) -> bytes:
    lines = [f"NATS/1.0\r\nNats-Msg-Id: {msg_id}\r\n"]
    guard = entry.guard
    if guard is not None:
        lines.append(f"Nats-Expected-Last-Subject-Sequence: {guard.sequence}\r\n")
        if guard.subject != entry.subject:
            lines.append(f"Nats-Expected-Last-Subject-Sequence-Subject: {guard.subject}\r\n")
    lines += [f"{name}: {value}\r\n" for name, value in entry.headers.items()]
    block = "".join(lines)
    breaks = len(lines) + 1
    if block.count("\n") != breaks or block.count("\r") != breaks:
        raise BadInput(f"a header of {entry.subject} holds a line break")
    return f"{block}\r\n".encode()


def decided(answer: Answer, entry: Entry) -> int | None:
    """The sequence the server stored the entry under; None while it has not decided."""
    if isinstance(answer, BusError):
        raise answer
    if answer == NO_ANSWER:
        return None
    if not answer.startswith(b'{"error"'):
        found = _SEQUENCE.search(answer)
        if found is not None:
            return int(found.group(1))
    error = ApiError.of(json.loads(answer).get("error", {}))
    if error.err_code == WRONG_LAST_SEQUENCE:
        raise Conflict(f"somebody else wrote {entry.subject} first")
    if error.err_code in IN_FLIGHT or error.code == SERVICE_UNAVAILABLE:
        return None
    if error.err_code == TOO_LARGE:
        raise BadInput(f"{len(entry.data)} bytes for {entry.subject} exceed the stream's limit")
    raise Unsuitable(f"the server refuses to store {entry.subject}: {error}")
