"""A shelf on JetStream: a stream of its own, limited by number, oldest out first."""

from parley.bus.errors import Conflict
from parley.bus.jetstream import infra
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.infra import Layout, stream_resource
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.replies import Replies
from parley.bus.port import Entry, Guard, Record


class JetStreamShelf:
    """`name` is the stream's and, in lower case, the first token of its subjects."""

    def __init__(self, replies: Replies, layout: Layout, name: str, limit: int) -> None:
        self._replies = replies
        self._prefix = name.lower()
        self._log = Log(replies, name)
        self._writer = Writer(replies, self._log.find, self._log.server_ahead_s)
        self._resource = stream_resource(
            "shelf", layout, name, subjects=[f"{self._prefix}.>"], max_msgs=limit
        )

    async def prepare(self) -> None:
        """Idempotent; makes the stream where there is none."""
        await infra.apply(self._replies, [self._resource])

    async def put(self, key: str, data: bytes) -> None:
        subject = f"{self._prefix}.{key}"
        try:
            await self._writer.append(Entry(subject, data, subject, Guard(subject, 0)))
        except Conflict:
            return

    async def read(self, *, start: int = 1) -> list[Record]:
        return await self._log.read(f"{self._prefix}.>", start)

    async def first_sequence(self) -> int:
        return int((await self._log.info())["state"]["first_seq"])
