"""
Where a reader of the log is.

A log may lie in several streams, which count for themselves. The sequence of a record says which
stream it is in, so that no two are the same: the stream's own number, times how many streams there
are, plus which of them it is. Sequences are an order within a debate, which lies in one stream;
over several streams they are none. Whoever reads all of them keeps a position.
"""

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from typing_extensions import override

from parley.bus.errors import BadInput

_TEXT = re.compile(r"\d{1,19}(?:-\d{1,19}){0,63}")
# Behind every record that there will ever be.
LAST = sys.maxsize


class Place(NamedTuple):
    """One of the streams of a log."""

    number: int = 0
    streams: int = 1

    def sequence(self, own: int) -> int:
        return own * self.streams + self.number if own else 0

    def own(self, sequence: int) -> int:
        """The stream's own number; of a sequence of another stream the last one before it."""
        return (sequence - self.number) // self.streams if sequence > self.number else 0


class Position(NamedTuple):
    """By stream, the sequence of the last record that was seen there; 0 before the first."""

    reached: tuple[int, ...] = (0,)

    @override
    def __str__(self) -> str:
        return "-".join(map(str, self.reached))

    def covers(self, sequence: int) -> bool:
        """Whether the record of this sequence was seen."""
        return sequence <= self.reached[sequence % len(self.reached)]

    def past(self, sequence: int) -> "Position":
        """With this record seen, and all before it in its stream."""
        if self.covers(sequence):
            return self
        at = sequence % len(self.reached)
        return Position((*self.reached[:at], sequence, *self.reached[at + 1 :]))

    def includes(self, other: "Position") -> bool:
        return all(map(int.__ge__, self.reached, other.reached))

    def joined(self, other: "Position") -> "Position":
        return Position(tuple(map(max, self.reached, other.reached)))

    def common(self, other: "Position") -> "Position":
        return Position(tuple(map(min, self.reached, other.reached)))

    def like(self, now: "Position") -> "Position":
        """Itself, in the log that is at `now`. Raises BadInput if it is of another log."""
        if len(self.reached) != len(now.reached):
            raise BadInput(
                f"position {self} is of a log in {len(self.reached)} streams, this one lies in"
                f" {len(now.reached)}: begin again without it"
            )
        return self


# Records from here on: all whose sequence is at least so large, or those behind a position.
Start: TypeAlias = int | Position


def starting(text: str, now: Position) -> Position:
    """
    A position as it is printed, in the log that is at `now`; 0 is the beginning. Raises BadInput for
    what is none, and for one of a log in another number of streams.
    """
    if not _TEXT.fullmatch(text):
        raise BadInput(f"{text!r} is no position in the log")
    reached = tuple(min(int(one), LAST) for one in text.split("-"))
    return Position(reached if any(reached) else (0,) * len(now.reached)).like(now)


def behind(start: Start, place: Place) -> int:
    """The first of a stream's own numbers that is wanted."""
    if isinstance(start, Position):
        return place.own(start.reached[place.number]) + 1
    return max(1, -(-(start - place.number) // place.streams))


def furthest(streams: int) -> Position:
    return Position((LAST,) * streams)


def earliest(positions: Iterable[Position], streams: int) -> Position:
    """What all of them have seen."""
    common = furthest(streams)
    for one in positions:
        common = common.common(one)
    return common
