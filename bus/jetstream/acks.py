"""
Writing to the log: publish, and wait for the server's word that it is stored.

A write whose outcome is unknown is repeated until the server decides. Its msg_id makes that
harmless, or its guard, if the entry itself breaks it. A guard that fails on a repetition may have
failed against our own first attempt, so the log is asked whether the entry is ours; so it is where
there is no room, because a server may say so of an entry that it holds.

The server takes a message for a repetition by its id alone, whoever sent the first, so that an id
which others can guess would let them swallow a write before it is made; and it keeps all ids of
the last minutes. So an id is made with a secret of this process, which no id gives away, and where
the guard is enough the server gets none: a mark of ours tells the entry's origin.
"""

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence

import anyio
import nats.errors
import structlog

from parley.bus.errors import BadInput, BusError, Conflict, Full, Unavailable, Unsuitable
from parley.bus.jetstream.replies import NO_ANSWER, Answer, ApiError, Replies
from parley.bus.port import LARGEST_RECORD_BYTES, Entry
from parley.bus.wildcards import matches

ACK_TIMEOUT_S = 2.0
PATIENCE_S = 20.0
RETRY_PAUSE_S = 0.1
# Between tries where there is no room: whoever makes some needs the server, too.
LONGEST_PAUSE_S = 2.0

WRONG_LAST_SEQUENCE = 10071
# The same subject or msg_id is being written at this moment: not decided yet.
IN_FLIGHT = frozenset({10164, 10158})
TOO_LARGE = 10054
SERVICE_UNAVAILABLE = 503
# A limit of the stream, of the server's store, of the account: what is full today may have room later.
NO_ROOM = frozenset({10077, 10023, 10047, 10002})

log = structlog.get_logger()

_SEQUENCE = re.compile(rb'"seq":\s*(\d+)')

# The sequence under which the log holds this entry with this header line, None if it does not; it
# raises Unavailable.
Find = Callable[[Entry, str], Awaitable[int | None]]


class NoRoom(str):
    """The server's word that nothing more fits."""

    __slots__ = ()


class Writer:
    def __init__(
        self,
        replies: Replies,
        find: Find,
    ) -> None:
        self._connection = replies.connection
        self._replies = replies
        self._find = find
        self._secret = secrets.token_bytes(16)

    async def append(self, *entries: Entry) -> int:
        if len(entries) > 1:
            return (await self.store(entries))[-1]
        entry = entries[0]
        mark = self._mark_of(entry)
        headers = header_block(entry, mark)
        answer = decided(await self._send(entry, headers), entry)
        if isinstance(answer, int):
            return answer
        return await self._insist(entry, headers, mark, answer)

    def offer(self, entry: Entry) -> bool:
        """Nobody has to know the entry again, so that it bears no mark."""
        client = self._connection.client
        if not client.is_connected or client.congested:
            return False
        try:
            client.post(entry.subject, entry.data, headers=header_block(entry))
        except (nats.errors.Error, BadInput):
            return False
        return True

    async def refusal(self, entry: Entry) -> str:
        """Why the server does not store the entry at this moment; empty if it does."""
        answer = decided(await self._send(entry, header_block(entry, self._mark_of(entry))), entry)
        if isinstance(answer, int):
            return ""
        return answer or f"it says nothing for {ACK_TIMEOUT_S:g} s"

    async def store(self, entries: Sequence[Entry]) -> list[int]:
        """The entries' sequences; they are in order unless one of them had to be repeated."""
        sent = []
        for entry in entries:
            mark = self._mark_of(entry)
            headers = header_block(entry, mark)
            sent.append((entry, headers, mark, self._send(entry, headers)))
            if self._connection.client.congested:
                await self._connection.client.relief()
        sequences = []
        for entry, headers, mark, answer in sent:
            word = decided(await answer, entry)
            sequences.append(
                word if isinstance(word, int) else await self._insist(entry, headers, mark, word)
            )
        return sequences

    def _mark_of(self, entry: Entry) -> str:
        """The header line by which the entry is known again: nobody can guess one of ours."""
        guard = entry.guard
        guards_itself = guard is not None and (
            guard.subject == entry.subject or matches(guard.subject, entry.subject)
        )
        if not guards_itself:
            known_to_us = hashlib.blake2s(entry.msg_id.encode(), key=self._secret, digest_size=16)
            return f"Nats-Msg-Id: {known_to_us.hexdigest()}"
        return f"Parley-Write: {secrets.token_hex(8)}"

    def _send(self, entry: Entry, headers: bytes) -> asyncio.Future[Answer]:
        if len(headers) + len(entry.data) > LARGEST_RECORD_BYTES:
            raise _too_large(entry)
        return self._replies.send(entry.subject, entry.data, headers, ACK_TIMEOUT_S)

    async def _insist(self, entry: Entry, headers: bytes, mark: str, refusal: str) -> int:
        pause_s = RETRY_PAUSE_S
        with anyio.move_on_after(PATIENCE_S):
            while True:
                await anyio.sleep(pause_s)
                await self._connection.usable()
                try:
                    if isinstance(refusal, NoRoom):
                        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                        found = await self._find(entry, mark)
                        if found is not None:
                            return found
                    answer = await self._send_again(entry, headers, mark)
                except Unavailable as error:
                    log.info("write_in_doubt", subject=entry.subject, reason=str(error))
                    continue
                if isinstance(answer, int):
                    return answer
                refusal = answer
        raise _given_up(entry, refusal)

    async def _send_again(self, entry: Entry, headers: bytes, mark: str) -> int | str:
        try:
            return decided(await self._send(entry, headers), entry)
        except Conflict:
            found = await self._find(entry, mark)
            if found is None:
                raise
            return found


def header_block(entry: Entry, *marks: str) -> bytes:
    lines = ["NATS/1.0", *marks, *entry.headers]
    guard = entry.guard
    if guard is not None:
        lines.append(f"Nats-Expected-Last-Subject-Sequence: {guard.sequence}")
        if guard.subject != entry.subject:
            lines.append(f"Nats-Expected-Last-Subject-Sequence-Subject: {guard.subject}")
    breaks = len(lines) + 1
    lines += ("", "")
    block = "\r\n".join(lines)
    if block.count("\n") != breaks or block.count("\r") != breaks:
        raise BadInput(f"a header of {entry.subject} holds a line break")
    return block.encode()


def decided(answer: Answer, entry: Entry) -> int | str:
    """
    The sequence the server stored the entry under; while it has not decided its reason for that,
    which is empty if it says nothing.
    """
    if isinstance(answer, BusError):
        raise answer
    if answer == NO_ANSWER:
        return ""
    if not answer.startswith(b'{"error"'):
        found = _SEQUENCE.search(answer)
        if found is not None:
            return int(found.group(1))
    return _undecided(ApiError.of(json.loads(answer).get("error", {})), entry)


def _undecided(error: ApiError, entry: Entry) -> str:
    """Why the server may yet store the entry; raises where it will not."""
    if error.err_code == WRONG_LAST_SEQUENCE:
        raise Conflict(f"somebody else wrote {entry.subject} first")
    if error.err_code in NO_ROOM:
        return NoRoom(error)
    if error.err_code in IN_FLIGHT or error.code == SERVICE_UNAVAILABLE:
        return str(error)
    if error.err_code == TOO_LARGE:
        raise _too_large(entry)
    raise Unsuitable(f"the server refuses to store {entry.subject}: {error}")


def _too_large(entry: Entry) -> BadInput:
    return BadInput(f"{len(entry.data)} bytes for {entry.subject} exceed the stream's limit")


def _given_up(entry: Entry, refusal: str) -> Unavailable:
    if not refusal:
        return Unavailable(f"no word about {entry.subject} after {PATIENCE_S:g} s")
    kind = Full if isinstance(refusal, NoRoom) else Unavailable
    return kind(f"{entry.subject} was refused for {PATIENCE_S:g} s: {refusal}")
