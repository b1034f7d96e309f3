"""The archive on JetStream: a stream of its own with one message a subject."""

from collections.abc import Callable, Sequence

from parley.bus.errors import Denied
from parley.bus.jetstream.acks import Writer
from parley.bus.jetstream.reader import Reader
from parley.bus.jetstream.reads import Log
from parley.bus.jetstream.records import record_of_json
from parley.bus.jetstream.replies import Replies
from parley.bus.jetstream.tail import HeadersTail
from parley.bus.port import Entry, Extent, Guard, Record
from parley.bus.wildcards import matches


class JetStreamArchive:
    def __init__(self, replies: Replies, stream: str) -> None:
        self._replies = replies
        self._stream = stream
        self._log = Log(replies, stream)
        self._writer = Writer(replies, self._log.find)
        # Until the server says otherwise.
        self._may_consume = True

    async def put(
        self, subject: str, data: bytes, headers: Sequence[str], *, after: int = 0
    ) -> None:
        guard, name = Guard(subject, after), f"{subject}.{after}" if after else subject
        await self._writer.append(Entry(subject, data, name, guard, tuple(headers)))

    async def get(self, subject: str) -> Record | None:
        """The leader is asked: a replica that lags behind would deny what left the log for good."""
        message = await self._log.from_leader({"last_by_subj": subject})
        return record_of_json(message) if message is not None else None

    async def holds(self, subjects: Sequence[str]) -> set[str]:
        return await self._log.held(subjects)

    async def find(self, filter_subject: str) -> list[Record]:
        found = await self._log.last_of_each(filter_subject)
        if not found:
            last = await self.get(filter_subject)
            return [last] if last is not None else []
        return found

    async def follow(
        self, filter_subject: str, *, start: int, on: Callable[[Sequence[Record]], None]
    ) -> None:
        """
        A login that may not make a consumer reads the bodies as well, and leaves them out. One that
        may has no filter: counting what matches takes the server seconds in an archive of a million.
        """

        def matching(records: Sequence[Record]) -> None:
            found = [one for one in records if matches(filter_subject, one.subject)]
            if found:
                on(found)

        if self._may_consume:
            tail = HeadersTail(self._replies, self._stream, (), start, matching)
            try:
                await tail.run()
            except Denied:
                self._may_consume = False
                start = tail.following

        def without_bodies(records: Sequence[Record]) -> None:
            on([one._replace(data=b"") for one in records])

        connection = self._replies.connection
        await Reader(connection, self._log, (filter_subject,), start, without_bodies).run(())

    async def extent(self) -> Extent:
        info = await self._log.info(patiently=True)
        state = info["state"]
        first = state["first_seq"] if state["messages"] else 0
        return Extent(state["messages"], state["bytes"], first, state["last_seq"], info["created"])
