"""The list of debates as a read model, folded from the log as it comes by."""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from pydantic import ValidationError

from parley.bus.port import Record
from parley.bus.subjects import DebateRef
from parley.console.web.debate_index import Entry, Row, Submission, Wanted, advance

# Beyond this the oldest rows are left out of the list; the debates stay in the log.
MOST_ROWS = 100_000


class Page(NamedTuple):
    rows: list[Row]
    total: int
    # Where the next page starts; None on the last one.
    following: int | None


class Rows:
    def __init__(self) -> None:
        self._by_ref: dict[DebateRef, Entry] = {}
        # In the order of their submissions.
        self._entries: list[Entry] = []
        self._panels: dict[str, None] = {}
        # Called with every row that changed.
        self.listeners: list[Callable[[Entry], None]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def take(self, ref: DebateRef, tail: str, record: Record) -> None:
        """One record of the log, in order; what is no fact as far as we look changes nothing."""
        if record.forged:
            return
        entry = self._by_ref.get(ref)
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
        return [ref for ref in refs if ref in self._by_ref]

    def row(self, ref: DebateRef) -> Row | None:
        entry = self._by_ref.get(ref)
        return entry.row() if entry is not None else None

    def forget(self, ref: DebateRef) -> None:
        """A debate that the log no longer holds."""
        entry = self._by_ref.pop(ref, None)
        if entry is not None:
            self._entries.remove(entry)

    def page(self, wanted: Wanted, limit: int, before: int | None) -> Page:
        """Newest first; `before` is the `following` of the page before."""
        wanted = wanted._replace(text=wanted.text.casefold().strip())
        matching = [one for one in self._entries if one.is_wanted(wanted)]
        end = len(matching)
        if before is not None:
            end = bisect_left(matching, before, key=lambda one: one.submission)
        start = max(0, end - limit)
        rows = [one.row() for one in reversed(matching[start:end])]
        return Page(rows, len(matching), matching[start].submission if start else None)

    def _begin(self, ref: DebateRef, tail: str, record: Record) -> Entry | None:
        if tail != "submitted":
            return None
        entry = Entry(ref, record, Submission.model_validate_json(record.data))
        if len(self._entries) >= MOST_ROWS:
            oldest = self._entries.pop(0)
            del self._by_ref[oldest.ref]
        self._by_ref[ref] = entry
        self._panels[ref.panel] = None
        self._entries.append(entry)
        return entry
