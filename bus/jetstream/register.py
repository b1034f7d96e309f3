"""A register on JetStream: a stream of its own that keeps the newest message of each subject."""

from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Layout
from parley.bus.jetstream.newest import newest
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import Replies
from parley.bus.port import Entry, Guard, Record
from parley.bus.subjects import Subjects


class JetStreamRegister:
    def __init__(self, replies: Replies, layout: Layout, name: str) -> None:
        stream = self._stream = layout.register(name)
        self._connection = replies.connection
        self._root = Subjects(layout.prefix).register(name, "")
        self._log = Log(replies, stream)
        self._writer = Writer(replies, self._log.find)

    async def replace(self, key: str, data: bytes, guard: Guard) -> int:
        subject = self._root + key
        guarded = Guard(self._root + guard.subject, guard.sequence)
        return await self._writer.append(Entry(subject, data, subject, guarded))

    async def read(self, keys: str, *, start: int = 1) -> list[Record]:
        return [self._named(one) for one in await self._log.read(self._root + keys, start)]

    async def newest(self, key: str) -> Record | None:
        found = await newest(self._connection, self._stream, self._root + key)
        return self._named(found) if found is not None else None

    def _named(self, record: Record) -> Record:
        return record._replace(subject=record.subject.removeprefix(self._root))
