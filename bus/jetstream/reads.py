"""
Reading the log without a consumer.

Direct get is answered by any replica, which may lag behind. With more than one replica the leader
is asked what the last matching record is, and the read goes on until it has it.
"""

import asyncio
import base64
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

import anyio
import nats.errors

from parley.bus.errors import BusError, Denied, NotFound, Unavailable, Unsuitable
from parley.bus.jetstream.client import header_of, status_of
from parley.bus.jetstream.clock import ServerClock
from parley.bus.jetstream.connection import Connection
from parley.bus.jetstream.records import is_record, nanoseconds, record_of_headers, record_of_json
from parley.bus.jetstream.replies import API_TIMEOUT_S, NO_ANSWER, Answer, ApiError, Replies
from parley.bus.port import Entry, Record

BATCH = 1000
SILENCE_S = 2.0
PATIENCE_S = 15.0
LAG_PAUSE_S = 0.02
LOOK_AGAIN_S = 5.0
NO_MESSAGE_FOUND = 10037
FORBIDDEN = 403
# With these a batch is whole: that was all, and there is nothing.
END_OF_BATCH, NOT_FOUND = 204, 404


class Batch:
    """The answers to one batched direct get, filed as they arrive."""

    def __init__(self) -> None:
        self.messages: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.pending = 0
        self._ended = anyio.Event()

    def receive(self, _subject: bytes, _reply: bytes, data: bytes, headers: bytes) -> None:
        if is_record(headers):
            self.messages.append((headers, data))
        else:
            self.status = status_of(headers)
            self.pending = int(header_of(headers, b"Nats-Num-Pending") or 0)
            self._ended.set()

    def deny(self) -> None:
        self.status = FORBIDDEN
        self._ended.set()

    async def end(self) -> None:
        while not self._ended.is_set():
            arrived = len(self.messages)
            with anyio.move_on_after(SILENCE_S):
                await self._ended.wait()
            if not self._ended.is_set() and len(self.messages) == arrived:
                raise Unavailable("the server fell silent while the log was read")


async def direct_get(connection: Connection, stream: str, request: dict[str, Any]) -> Batch:
    batch = Batch()
    client = connection.client
    inbox = client.new_inbox()
    subject = f"$JS.API.DIRECT.GET.{stream}"

    def deny(refused: str) -> None:
        if refused == subject.lower():
            batch.deny()

    subscription = await client.subscribe_direct(inbox, batch.receive)
    connection.denied.append(deny)
    try:
        client.post(subject, json.dumps(request).encode(), inbox)
        await batch.end()
    except (nats.errors.Error, OSError) as error:
        raise Unavailable(f"the log cannot be read: {error}") from error
    finally:
        connection.denied.remove(deny)
        await client.unsubscribe_direct(subscription)
    if batch.status == FORBIDDEN:
        raise _closed_to_us(stream)
    return batch


class Log:
    def __init__(self, replies: Replies, stream: str) -> None:
        self._connection = replies.connection
        self._replies = replies
        self._stream = stream
        self._replicas = 0
        self._looked_at = 0.0
        # The server's clock minus ours, and the connection's epoch in which it was measured.
        self._ahead_s = 0.0
        self.clock = ServerClock()
        self._measured_in = -1

    async def info(self, *, patiently: bool = False, **request: object) -> Any:
        """`patiently` waits for a slow server, as a process does that starts."""
        ask = self._replies.ask_until_answered if patiently else self._replies.ask
        asked = time.time()
        try:
            info = await ask(f"$JS.API.STREAM.INFO.{self._stream}", request or None)
        except ApiError as error:
            raise Unsuitable(f"stream {self._stream}: {error}; see: parley infra plan") from error
        except Denied as error:
            raise _closed_to_us(self._stream) from error
        self._replicas = info["config"].get("num_replicas", 1)
        self._ahead_s = nanoseconds(info["ts"]) / 1e9 - (asked + time.time()) / 2
        self.clock.set(info["ts"])
        self._measured_in = self._connection.epoch
        self._looked_at = asked
        return info

    async def server_ahead_s(self) -> float:
        if self._measured_in != self._connection.epoch:
            await self.info()
        return self._ahead_s

    async def last_sequence(self) -> int:
        return int((await self.info(patiently=True))["state"]["last_seq"])

    async def subjects(self, filter_subject: str) -> list[str]:
        found: list[str] = []
        while True:
            info = await self.info(subjects_filter=filter_subject, offset=len(found))
            page = info["state"].get("subjects") or {}
            found.extend(page)
            if not page or len(found) >= info.get("total", 0):
                return sorted(found)

    async def read(
        self,
        filter_subject: str,
        start: int,
        before: int | None = None,
        most: int | None = None,
    ) -> list[Record]:
        """Up to the sequence `before`, or until there are `most`."""
        records: list[Record] = []
        with anyio.move_on_after(PATIENCE_S):
            async with aclosing(self.pages(filter_subject, start)) as pages:
                async for page in pages:
                    records += page
                    if before is not None and page[-1].sequence >= before:
                        return [one for one in records if one.sequence < before]
                    if most is not None and len(records) >= most:
                        return records
            return records
        raise Unavailable(f"{filter_subject} could not be read to its end in {PATIENCE_S:g} s")

    async def pages(self, filter_subject: str, start: int) -> AsyncGenerator[list[Record]]:
        """Every matching record stored before this call, as they come; it waits for ever."""
        least = 0
        if await self._replicas_known() > 1:
            least = await self._last_on_leader(filter_subject)
        following = max(1, start)
        while True:
            batch = await self._batch(
                {"seq": following, "next_by_subj": filter_subject, "batch": BATCH}
            )
            if batch.messages:
                page = [record_of_headers(headers, data) for headers, data in batch.messages]
                following = page[-1].sequence + 1
                yield page
            if batch.pending == 0:
                if following > least:
                    return
                await anyio.sleep(LAG_PAUSE_S)

    async def first(self, filters: Sequence[str], start: int) -> Record | None:
        """The first from `start` on that matches one of the filters, as far as a replica knows."""
        found: list[Record] = []
        with anyio.move_on_after(PATIENCE_S):
            for one in filters:
                batch = await self._batch({"seq": start, "next_by_subj": one, "batch": 1})
                found += [record_of_headers(headers, data) for headers, data in batch.messages]
            return min(found, default=None)
        raise Unavailable(f"{filters[0]} could not be read in {PATIENCE_S:g} s")

    async def last_of_each(self, filter_subject: str) -> list[Record]:
        """The last of every matching subject, of which there are few, as far as a replica knows."""
        with anyio.move_on_after(PATIENCE_S):
            batch = await self._batch({"multi_last": [filter_subject]})
            return [record_of_headers(headers, data) for headers, data in batch.messages]
        raise Unavailable(f"{filter_subject} could not be read in {PATIENCE_S:g} s")

    async def record(self, sequence: int) -> Record:
        with anyio.move_on_after(PATIENCE_S):
            return await self._record(sequence)
        raise Unavailable(f"record {sequence} could not be read in {PATIENCE_S:g} s")

    async def _record(self, sequence: int) -> Record:
        batch = await self._batch({"seq": sequence, "batch": 1})
        for headers, data in batch.messages:
            found = record_of_headers(headers, data)
            if found.sequence == sequence:
                return found
        if await self._replicas_known() > 1:
            message = await self.from_leader({"seq": sequence})
            if message is not None:
                return record_of_json(message)
        raise NotFound(f"the log holds no record {sequence}")

    async def find(self, entry: Entry, mark: str) -> int | None:
        """
        Where the leader holds the entry with this header line; None if it does not, or would not
        tell this login. Raises Unavailable.
        """
        after = entry.guard.sequence if entry.guard is not None else 0
        line = f"\r\n{mark}\r\n".encode()
        while True:
            try:
                message = await self.from_leader({"seq": after + 1, "next_by_subj": entry.subject})
            except Denied:
                return None
            if message is None:
                return None
            headers = base64.b64decode(message.get("hdrs", ""))
            if line in headers:
                return int(message["seq"])
            after = message["seq"]

    async def _batch(self, request: dict[str, Any]) -> Batch:
        """
        Repeated until it is answered; only for what has a time limit around it. Whatever else the
        server says, that nobody listens for example, tells nothing of what stands there.
        """
        while True:
            await self._connection.usable()
            try:
                batch = await direct_get(self._connection, self._stream, request)
            except Unavailable:
                continue
            if batch.status in (END_OF_BATCH, NOT_FOUND):
                return batch
            await self.info()
            await anyio.sleep(LAG_PAUSE_S)

    async def _replicas_known(self) -> int:
        """0 while the server does not say. They may become more while we run."""
        if self._replicas == 0 or time.time() - self._looked_at >= LOOK_AGAIN_S:
            with suppress(BusError):
                await self.info()
        return self._replicas

    async def _last_on_leader(self, filter_subject: str) -> int:
        message = await self.from_leader({"last_by_subj": filter_subject})
        return 0 if message is None else int(message["seq"])

    async def held(self, subjects: Sequence[str]) -> set[str]:
        """
        Those that have a record: all are asked for before the first is waited for. Where there may
        be replicas the leader is asked, which is dearer. Raises Unavailable.
        """
        alone = await self._replicas_known() == 1
        send = self._send_directly if alone else self._send_to_leader
        asked = [(one, send(one)) for one in subjects]
        return {one for one, answer in asked if await self._was_found(answer)}

    def _send_directly(self, subject: str) -> asyncio.Future[Answer]:
        where = f"$JS.API.DIRECT.GET.{self._stream}.{subject}"
        return self._replies.send(where, b"", b"", API_TIMEOUT_S)

    def _send_to_leader(self, subject: str) -> asyncio.Future[Answer]:
        data = json.dumps({"last_by_subj": subject}).encode()
        where = f"$JS.API.STREAM.MSG.GET.{self._stream}"
        return self._replies.send(where, data, b"", API_TIMEOUT_S)

    async def _was_found(self, answer: asyncio.Future[Answer]) -> bool:
        said = await answer
        if isinstance(said, NotFound):
            return False
        if isinstance(said, BusError):
            raise said
        if said == NO_ANSWER:
            raise Unavailable(f"no answer about a record of {self._stream}")
        if is_record(said):
            return True
        error = json.loads(said).get("error")
        if error is None:
            return True
        if error.get("err_code") == NO_MESSAGE_FOUND:
            return False
        raise Unavailable(f"stream {self._stream}: {ApiError.of(error)}")

    async def from_leader(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """A message as the leader knows it; None if there is none."""
        try:
            answer = await self._replies.ask(f"$JS.API.STREAM.MSG.GET.{self._stream}", request)
        except ApiError as error:
            if error.err_code == NO_MESSAGE_FOUND:
                return None
            raise Unavailable(f"stream {self._stream}: {error}") from error
        message: dict[str, Any] = answer["message"]
        return message


def _closed_to_us(stream: str) -> Denied:
    return Denied(f"this login cannot read the log (stream {stream})")
