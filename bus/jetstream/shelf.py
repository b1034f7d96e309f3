"""A shelf on JetStream: a stream of its own, limited by number, oldest out first."""

from parley.bus.errors import Conflict
from parley.bus.jetstream import infra
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Keep, Layout, stream_resource
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import Replies
from parley.bus.port import Entry, Guard, Record


class JetStreamShelf:
    def __init__(self, replies: Replies, layout: Layout, name: str, limit: int) -> None:
        stream = f"{layout.stream}_{name}"
        self._replies = replies
        self._prefix = f"{layout.prefix}-{name}"
        self._log = Log(replies, stream)
        self._writer = Writer(replies, self._log.find)
        self._wanted = stream_resource(
            "shelf", layout, stream, Keep(), subjects=[f"{self._prefix}.>"], max_msgs=limit
        )
        self._there = False

    async def put(self, key: str, data: bytes) -> None:
        await self._prepare()
        subject = f"{self._prefix}.{key}"
        try:
            await self._writer.append(Entry(subject, data, subject, Guard(subject, 0)))
        except Conflict:
            return

    async def read(self, *, start: int = 1) -> list[Record]:
        await self._prepare()
        return await self._log.read(f"{self._prefix}.>", start)

    async def first_sequence(self) -> int:
        await self._prepare()
        return int((await self._log.info())["state"]["first_seq"])

    async def _prepare(self) -> None:
        if not self._there:
            await infra.apply(self._replies, [self._wanted])
            self._there = True
