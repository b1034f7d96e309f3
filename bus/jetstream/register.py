"""A register on JetStream: a stream of its own that keeps the newest message of each subject."""

import anyio
import nats.errors

from parley.bus.errors import Denied, Unavailable
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.client import status_of
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.reads import SILENCE_S, Log
from parley.bus.jetstream.records import record_of_headers
from parley.bus.jetstream.replies import Replies
from parley.bus.port import Entry, Guard, Record
from parley.bus.subjects import Subjects

NOT_FOUND = 404


class JetStreamRegister:
    def __init__(self, replies: Replies, layout: Layout, name: str) -> None:
        stream = layout.register(name)
        self._connection = replies.connection
        self._root = Subjects(layout.prefix).register(name, "")
        self._latest = f"$JS.API.DIRECT.GET.{stream}.{self._root}"
        self._log = Log(replies, stream)
        self._writer = Writer(replies, self._log.find)

    async def replace(self, key: str, data: bytes, guard: Guard) -> int:
        subject = self._root + key
        guarded = Guard(self._root + guard.subject, guard.sequence)
        return await self._writer.append(Entry(subject, data, subject, guarded))

    async def read(self, keys: str, *, start: int = 1) -> list[Record]:
        return [self._named(one) for one in await self._log.read(self._root + keys, start)]

    async def newest(self, key: str) -> Record | None:
        """Asked by its subject, which is all that an account needs to be permitted."""
        headers, data = await self._ask(self._latest + key)
        status = status_of(headers)
        if status == NOT_FOUND:
            return None
        if status:
            raise Unavailable(f"{key} cannot be read ({status})")
        return self._named(record_of_headers(headers, data))

    async def _ask(self, subject: str) -> tuple[bytes, bytes]:
        """The answer's headers count here, which `Replies` does not keep."""
        client = self._connection.client
        answers: list[tuple[bytes, bytes]] = []
        came = anyio.Event()
        denied = False

        def receive(_subject: bytes, _reply: bytes, data: bytes, headers: bytes) -> None:
            answers.append((headers, data))
            came.set()

        def deny(refused: str) -> None:
            nonlocal denied
            if refused == subject.lower():
                denied = True
                came.set()

        inbox = client.new_inbox()
        subscription = await client.subscribe_direct(inbox, receive)
        self._connection.denied.append(deny)
        try:
            client.post(subject, b"", inbox)
            with anyio.move_on_after(SILENCE_S):
                await came.wait()
        except (nats.errors.Error, OSError) as error:
            raise Unavailable(f"{subject} cannot be asked: {error}") from error
        finally:
            self._connection.denied.remove(deny)
            await client.unsubscribe_direct(subscription)
        if denied:
            raise Denied(f"not permitted to publish to {subject}")
        if not answers:
            raise Unavailable(f"no answer from {subject}")
        return answers[0]

    def _named(self, record: Record) -> Record:
        return record._replace(subject=record.subject.removeprefix(self._root))
