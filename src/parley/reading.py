"""
The log as it is written, for whoever keeps a read model of their own: a page, a list, a mirror.

Records are decoded only where somebody looks into them, so that a long log is read in seconds.
"""

from collections.abc import AsyncGenerator, Callable, Sequence

from parley.bus.archive import DELETED, DebateArchive
from parley.bus.backlog import Backlog
from parley.bus.journal import Journal, Logged
from parley.bus.port import Extent, Link, Record
from parley.bus.position import Position
from parley.bus.subjects import DebateRef
from parley.logs import refuse_deleted

__all__ = ["Extent", "Logged", "Reading", "Record"]


class Reading:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def log(self) -> str:
        """The name of the log on its server."""
        return self._journal.bus.stream_of(self._journal.subjects.everything())

    @property
    def prefix(self) -> str:
        """Of every subject."""
        return self._journal.subjects.prefix

    @property
    def archive(self) -> DebateArchive:
        """Of debates that left the log."""
        return self._journal.archive

    async def extent(self) -> Extent:
        """How much the archive holds."""
        return await self._journal.bus.archive.extent()

    @property
    def link(self) -> Link:
        """The way to the server."""
        return self._journal.bus.link

    @property
    def beginning(self) -> Position:
        return Position(
            (0,) * self._journal.bus.place_of(self._journal.subjects.everything()).streams
        )

    async def position(self) -> Position:
        """Behind everything that stands in the log at this moment."""
        return await self._journal.bus.position()

    def backlog(
        self, panel: str, after: Position, until: Position
    ) -> AsyncGenerator[Sequence[Record]]:
        """Piece by piece all facts between two positions, wherever they stand by now."""
        return Backlog(self._journal, panel, after, until).pieces()

    async def ids(self, most: int) -> set[str]:
        """Of the debates in the log, and of about so many that were archived last."""
        subjects = self._journal.subjects
        begun = map(subjects.parse, await self._journal.bus.subjects(subjects.submissions()))
        newest = max(1, (await self.extent()).last - most)
        contents = await self.archive.contents(newest)
        kept = {one.ref.id for one in contents if one.summary.status != DELETED}
        return kept | {one[0].id for one in begun if one is not None}

    async def everything(self) -> list[Record]:
        """What the log holds at this moment."""
        return await self._journal.bus.read(self._journal.subjects.everything())

    async def tail(self, on: Callable[[Sequence[Record]], None]) -> None:
        """Every record of every debate in the log, then those that come; until cancelled."""
        subjects = self._journal.subjects
        filters = (*subjects.facts(), subjects.redrives())
        await self._journal.bus.tail(filters, start=1, on=on)

    async def records(self, ref: DebateRef) -> Sequence[Record]:
        """All of one debate, wherever it stands."""
        return await self._journal.records(ref)

    async def debate(self, ref: DebateRef) -> list[Logged]:
        """The same, decoded; what is no fact is left out. Raises Gone."""
        logged = (await self._journal.read(ref))[0]
        refuse_deleted(logged)
        return logged

    def place_of(self, record: Record) -> tuple[DebateRef, str] | None:
        """The debate of a record, and its place there; None for what counts for nothing."""
        return None if record.forged else self._journal.subjects.parse(record.subject)

    def decode(self, record: Record) -> Logged:
        """Raises DecodeError for what is no fact."""
        return self._journal.decode(record)
