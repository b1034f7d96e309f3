"""
Frames for many viewers, encoded once.

A strip is a growing run of frames; a viewer is a place on it. Nobody has a queue of their own, so
that a slow viewer costs nothing: one that falls behind what the strip still holds is let go, and
comes back with the id of its last event.
"""

from bisect import bisect_right
from typing import NamedTuple

import anyio

from parley.bus.position import Position
from parley.bus.subjects import DebateRef


class Frame(NamedTuple):
    """`position` is that of a viewer of all debates who has it."""

    sequence: int
    ref: DebateRef
    data: bytes
    position: Position = Position()
    # Only what the fact declares; empty where it declares nothing.
    declared: bytes = b""

    def shown(self, *, declarations_only: bool) -> bytes:
        return self.declared if declarations_only else self.data


class Timeline:
    """Holds every frame behind the sequence `floor`, or the last `most` of them."""

    def __init__(self, most: int | None = None, floor: int = 0) -> None:
        self.floor = floor
        # The last frame that left at its beginning.
        self.left: Frame | None = None
        self.beats = 0
        self._most = most
        self._frames: list[Frame] = []
        # How many frames left the strip at its beginning.
        self._gone = 0
        self._changed = anyio.Event()

    def append(self, frame: Frame) -> None:
        self._frames.append(frame)
        if self._most is not None and len(self._frames) > 2 * self._most:
            leaving = self._frames[: -self._most]
            self.floor = leaving[-1].sequence
            self.left = leaving[-1]
            self._gone += len(leaving)
            del self._frames[: len(leaving)]
        self.wake()

    def beat(self) -> None:
        """Let everybody know that we are still here."""
        self.beats += 1
        self.wake()

    def wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    @property
    def end(self) -> int:
        return self._gone + len(self._frames)

    def place_after(self, sequence: int) -> int:
        """The place of the first frame behind this one of the log."""
        return self._gone + bisect_right(self._frames, sequence, key=lambda one: one.sequence)

    @property
    def begin(self) -> int:
        return self._gone

    def since(self, place: int, after: int = -1) -> list[Frame] | None:
        """
        From that place to the end, without those that a viewer with `after` has already: it may
        know more than we do, from a process that was ahead of us. None if the place is gone.
        """
        if place < self._gone:
            return None
        frames = self._frames[place - self._gone :]
        return [one for one in frames if one.sequence > after]

    async def change(self) -> None:
        await self._changed.wait()
