"""The server's time, told by our own steady clock: what either wall clock shows does not matter."""

import time

from parley.bus.jetstream.records import nanoseconds


class ServerClock:
    def __init__(self) -> None:
        self._ahead_ns: int | None = None

    def set(self, moment: str) -> None:
        """It is this moment there."""
        self._ahead_ns = nanoseconds(moment) - time.monotonic_ns()

    def age_s(self, time_ns: int) -> float:
        """How long ago that was; 0 before anybody could say."""
        if self._ahead_ns is None:
            return 0.0
        return (time.monotonic_ns() + self._ahead_ns - time_ns) / 1e9
