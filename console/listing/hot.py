"""The debates that stand in the log, folded as they come by."""

from collections.abc import Callable
from heapq import nlargest

from pydantic import ValidationError

from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.console.listing.rows import Entry, Key, Row, Submission, advance
from parley.listing import Wanted

# Beyond this the oldest rows are left out of the list; the debates stay in the log.
MOST_ROWS = 100_000


class Rows:
    def __init__(self) -> None:
        # In the order of their submissions.
        self._entries: dict[DebateRef, Entry] = {}
        self._panels: dict[str, None] = {}
        # Called with every row that changed.
        self.listeners: list[Callable[[Entry], None]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def take(self, ref: DebateRef, tail: str, record: Record) -> None:
        """One record of the log, in order; what is no fact as far as we look changes nothing."""
        if record.forged:
            return
        entry = self._entries.get(ref)
        try:
            if entry is None:
                entry = self._begin(ref, tail, record)
            elif record.sequence > entry.sequence:
                advance(entry, tail, record)
        except ValidationError:
            return
        if entry is not None:
            for listener in self.listeners:
                listener(entry)

    def find(self, debate: str) -> list[DebateRef]:
        """By the id alone, which may stand in several panels."""
        refs = (DebateRef(panel, debate) for panel in self._panels)
        return [ref for ref in refs if ref in self._entries]

    def row(self, ref: DebateRef) -> Row | None:
        entry = self._entries.get(ref)
        return entry.row() if entry is not None else None

    def forget(self, ref: DebateRef) -> None:
        """A debate that the log no longer holds; it may be archived."""
        self._entries.pop(ref, None)

    def page(self, wanted: Wanted, limit: int, before: Key | None) -> list[tuple[Key, Row]]:
        """Newest first."""
        matching = [(_key(one), one) for one in self._entries.values() if one.is_wanted(wanted)]
        if before is not None:
            matching = [one for one in matching if one[0] < before]
        newest = nlargest(limit, matching, key=lambda one: one[0])
        return [(key, entry.row()) for key, entry in newest]

    def total(self, wanted: Wanted) -> int:
        return sum(one.is_wanted(wanted) for one in self._entries.values())

    def _begin(self, ref: DebateRef, tail: str, record: Record) -> Entry | None:
        if tail != "submitted":
            return None
        entry = Entry(ref, record, Submission.model_validate_json(record.data))
        if len(self._entries) >= MOST_ROWS:
            del self._entries[next(iter(self._entries))]
        self._entries[ref] = entry
        self._panels[ref.panel] = None
        return entry


def _key(entry: Entry) -> Key:
    return Key(entry.submitted_ns, entry.ref.id, entry.ref.panel)
