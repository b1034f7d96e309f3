"""
Writing to the log: publish, and wait for the server's word that it is stored.

A write whose outcome is unknown is repeated until the server decides; its msg_id makes that
harmless. A guard that fails on such a repetition may have failed against our own first attempt,
so the log is asked whether the entry is ours.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import anyio

from parley.bus.errors import BadInput, BusError, Conflict, Unavailable, Unsuitable
from parley.bus.jetstream.replies import NO_ANSWER, Answer, ApiError, Replies
from parley.bus.port import Entry, Schedule

ACK_TIMEOUT_S = 2.0
PATIENCE_S = 20.0
RETRY_PAUSE_S = 0.1

MSG_ID = "Nats-Msg-Id"
EXPECTED_SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"

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
        server_ahead_s: Callable[[], Awaitable[float]],
    ) -> None:
        self._connection = replies.connection
        self._replies = replies
        self._find = find
        self._server_ahead_s = server_ahead_s

    async def store(self, entries: Sequence[Entry]) -> list[int]:
        """The entries' sequences; they are in order unless one of them had to be repeated."""
        sent = []
        for entry in entries:
            headers = headers_of(entry)
            if entry.schedule is not None:
                headers |= schedule_headers(entry.schedule, await self._server_ahead_s())
            sent.append((entry, headers, await self._send(entry, headers)))
        return [
            decided(await answer, entry) or await self._insist(entry, headers)
            for entry, headers, answer in sent
        ]

    async def _send(self, entry: Entry, headers: dict[str, str]) -> asyncio.Future[Answer]:
        return await self._replies.send(entry.subject, entry.data, headers, ACK_TIMEOUT_S)

    async def _insist(self, entry: Entry, headers: dict[str, str]) -> int:
        with anyio.move_on_after(PATIENCE_S):
            while True:
                await anyio.sleep(RETRY_PAUSE_S)
                await self._connection.usable()
                try:
                    sequence = decided(await (await self._send(entry, headers)), entry)
                except Conflict:
                    sequence = await self._find(entry)
                    if sequence is None:
                        raise
                if sequence is not None:
                    return sequence
        raise Unavailable(f"no word about {entry.subject} after {PATIENCE_S:g} s")


def headers_of(entry: Entry) -> dict[str, str]:
    headers = {MSG_ID: entry.msg_id, **entry.headers}
    if entry.guard is not None:
        headers[EXPECTED_SEQUENCE] = str(entry.guard.sequence)
        if entry.guard.subject != entry.subject:
            headers[EXPECTED_SUBJECT] = entry.guard.subject
    if entry.cancels is not None:
        headers["Nats-Scheduler"] = entry.cancels
        headers["Nats-Schedule-Next"] = "purge"
    return headers


def schedule_headers(schedule: Schedule, server_ahead_s: float) -> dict[str, str]:
    """The server fires by its own clock, which may be ahead of ours."""
    due = datetime.fromtimestamp(time.time() + server_ahead_s + schedule.delay_s, UTC)
    moment = due.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return {"Nats-Schedule": f"@at {moment}", "Nats-Schedule-Target": schedule.target}


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
