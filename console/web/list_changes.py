"""The list as it changes: rows as they stand, not every state they went through."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

import anyio

from parley.bus.subjects import DebateRef
from parley.console.listing.hot import Rows
from parley.console.listing.rows import Entry
from parley.console.web.sse import HEARTBEAT, HEARTBEAT_S, event

# Rows change faster than anybody reads: each is sent as it stands after this time.
CONFLATED_S = 0.2


class Changes:
    def __init__(self) -> None:
        self._changed: dict[DebateRef, Entry] = {}
        self._wake = anyio.Event()

    def note(self, entry: Entry) -> None:
        self._changed[entry.ref] = entry
        self._wake.set()

    async def frames(self) -> AsyncGenerator[bytes]:
        while True:
            with anyio.move_on_after(HEARTBEAT_S):
                await self._wake.wait()
            changed, self._changed = self._changed, {}
            self._wake = anyio.Event()
            rows = (one.row().model_dump_json().encode() for one in changed.values())
            yield b"".join(event("row", row) for row in rows) or HEARTBEAT
            await anyio.sleep(CONFLATED_S)


@contextmanager
def changes_of(rows: Rows) -> Iterator[Changes]:
    """From this moment on."""
    changes = Changes()
    rows.listeners.append(changes.note)
    try:
        yield changes
    finally:
        rows.listeners.remove(changes.note)
