"""
The archived debates as a table in SQLite, filled from the headers of their records.

It is made anew from the archive wherever it is lost; on disk, and bounded in memory, where there
are many. Two processes may fill the same file: each record is put there once, by its place.
"""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import structlog
from pydantic import ValidationError

from parley.bus.archive import DELETED, VERSION, Summary, Unread
from parley.bus.port import Extent
from parley.bus.subjects import DebateRef
from parley.console.listing.rows import TOPIC_WIDTH, Key, Row, row_of_summary
from parley.console.transcript.text import one_line
from parley.listing import Wanted

# An archive of no more than this is read in no time, and needs no file.
SMALL = 2_000
BUSY_S = 10.0
FORMAT = 2
CACHE_KIB = 32 * 1024
_ORDER = "ORDER BY at DESC, id DESC, panel DESC"

_TABLES = """
CREATE TABLE IF NOT EXISTS debates (
    place INTEGER PRIMARY KEY, at INTEGER NOT NULL, id TEXT NOT NULL, panel TEXT NOT NULL,
    status TEXT NOT NULL, reason TEXT, words TEXT NOT NULL, summary BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS reached (place INTEGER NOT NULL);
"""
# Of a table that is being filled for the first time they are made at its end, which is faster.
_INDICES = """
CREATE UNIQUE INDEX IF NOT EXISTS by_id ON debates (id, panel);
CREATE INDEX IF NOT EXISTS by_time ON debates (at, id, panel, status, reason, words);
CREATE INDEX IF NOT EXISTS by_panel ON debates (panel, at, id);
CREATE INDEX IF NOT EXISTS by_status ON debates (status, at, id, panel);
"""
_OUTDATED = """
DELETE FROM debates WHERE place NOT IN (SELECT max(place) FROM debates GROUP BY id, panel)
"""

log = structlog.get_logger()


class ArchivedDebates:
    """Every call may block for a moment: whoever has an event loop makes them in a thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.in_memory = path is None
        self._database = sqlite3.connect(
            path or ":memory:", timeout=BUSY_S, check_same_thread=False, isolation_level=None
        )
        self._database.execute("PRAGMA journal_mode=WAL")
        # What a power cut takes is read from the archive again.
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._database.executescript(_TABLES)
        # Whoever asks how many debates there are, asks again soon.
        self._counted: tuple[int, int] = (-1, 0)

    def close(self) -> None:
        self._database.close()

    def make_indices(self) -> None:
        """Once the table holds what there was at the start; idempotent."""
        try:
            self._database.executescript(_INDICES)
        except sqlite3.IntegrityError:
            # One was archived anew meanwhile.
            self._database.execute(_OUTDATED)
            self._database.executescript(_INDICES)

    @property
    def reached(self) -> int:
        """The place of the last record that was looked at."""
        found = self._database.execute("SELECT max(place) FROM reached").fetchone()
        return int(found[0] or 0)

    def add(self, listed: Sequence[Unread], reached: int) -> None:
        rows = filter(None, map(_line, listed))
        self._database.execute("BEGIN IMMEDIATE")
        self._database.executemany("INSERT OR REPLACE INTO debates VALUES (?,?,?,?,?,?,?,?)", rows)
        self._database.execute("DELETE FROM reached")
        self._database.execute("INSERT INTO reached VALUES (?)", (reached,))
        self._database.execute("COMMIT")

    def forget_before(self, place: int) -> None:
        """What the archive no longer holds."""
        self._database.execute("DELETE FROM debates WHERE place < ?", (place,))
        self._counted = (-1, 0)

    def count(self) -> int:
        reached = self.reached
        if self._counted[0] != reached:
            found = self._database.execute("SELECT count(*) FROM debates").fetchone()
            self._counted = (reached, int(found[0]))
        return self._counted[1]

    def page(self, wanted: Wanted, limit: int, before: Key | None) -> list[tuple[Key, Row]]:
        where, given = _where(wanted, before)
        found = self._database.execute(
            f"SELECT at, id, panel, summary FROM debates WHERE place IN (SELECT place FROM debates {where} {_ORDER} LIMIT ?) {_ORDER}",  # noqa: S608 - our own words
            (*given, limit),
        )
        rows = (
            (Key(at, name, panel), _row(DebateRef(panel, name), summary))
            for at, name, panel, summary in found
        )
        return [(key, row) for key, row in rows if row is not None]

    def total(self, wanted: Wanted) -> int:
        where, given = _where(wanted, None)
        if not where:
            return self.count()
        found = self._database.execute(f"SELECT count(*) FROM debates {where}", given).fetchone()  # noqa: S608 - our own words
        return int(found[0])

    def find(self, debate: str) -> list[DebateRef]:
        found = self._database.execute("SELECT panel, id FROM debates WHERE id = ?", (debate,))
        return [DebateRef(panel, name) for panel, name in found]

    def row(self, ref: DebateRef) -> Row | None:
        found = self._database.execute(
            "SELECT summary FROM debates WHERE id = ? AND panel = ?", (ref.id, ref.panel)
        ).fetchone()
        return _row(ref, found[0]) if found is not None else None


def open_archived(folder: Path | None, name: str, extent: Extent) -> ArchivedDebates:
    """In the folder where the archive is large; in memory otherwise, and where that cannot be had."""
    if folder is not None and extent.records > SMALL:
        path = folder / f"{name}-{_safe(extent.identity)}-{FORMAT}.sqlite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found = ArchivedDebates(path)
            if found.reached > extent.last:
                found.close()
                path.unlink()
                found = ArchivedDebates(path)
        except (OSError, sqlite3.Error) as error:
            log.warning("list_in_memory", file=str(path), reason=str(error))
        else:
            return found
    return ArchivedDebates()


def _safe(identity: str) -> str:
    return "".join(one for one in identity if one.isalnum())


def _line(one: Unread) -> tuple[object, ...] | None:
    """
    One line of the table. Of the summary only what is looked for by is read; what a page shows of it
    is checked when it is shown. None for what is no summary.
    """
    try:
        said = json.loads(one.summary)
        if said.get("version", VERSION) != VERSION:
            return None
        topic = str(said.get("topic", ""))
        return (
            one.sequence,
            int(said.get("submitted_ns", 0)),
            one.ref.id,
            one.ref.panel,
            str(said["status"]),
            said.get("reason") or said.get("closing", ""),
            f"{one_line(topic, TOPIC_WIDTH)}\n{one.ref.id}".casefold(),
            one.summary,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _row(ref: DebateRef, summary: bytes) -> Row | None:
    """None for what is none after all."""
    try:
        return row_of_summary(ref, Summary.model_validate_json(summary))
    except ValidationError:
        return None


def _where(wanted: Wanted, before: Key | None) -> tuple[str, tuple[object, ...]]:
    # No archived debate is open.
    state = None if wanted.state == "closed" else wanted.state
    asked: tuple[tuple[bool, str, tuple[object, ...]], ...] = (
        (wanted.panel is not None, "panel = ?", (wanted.panel,)),
        (state is not None, "status = ?", (state,)),
        (not wanted.deleted, "status != ?", (DELETED,)),
        (wanted.reason is not None, "reason = ?", (wanted.reason,)),
        (wanted.since_ns > 0, "at >= ?", (wanted.since_ns,)),
        (bool(wanted.text), "instr(words, ?)", (wanted.text,)),
        (before is not None, "(at, id, panel) < (?, ?, ?)", tuple(before or ())),
    )
    conditions = [(words, values) for given, words, values in asked if given]
    if not conditions:
        return "", ()
    words = " AND ".join(words for words, _ in conditions)
    return f"WHERE {words}", tuple(value for _, values in conditions for value in values)
