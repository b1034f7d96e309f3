"""
An event loop on virtual time: waiting costs nothing, and every run takes the same course.

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})

Instead of sleeping until the next timer is due, the loop sets its clock to it. Time therefore
passes only while everybody waits. Sockets and threads belong to the real clock and do not mix
with it: only what runs on this loop alone is simulated.
"""

import asyncio
import selectors

from typing_extensions import override

from parley.bus.errors import ParleyError


class Deadlock(ParleyError):
    """Everybody waits for somebody else, and no timer will ever end it."""


ROUNDS_BETWEEN_LOOKS = 64


class _NoWaiting(selectors.DefaultSelector):
    """Looks for events without waiting for them; what it does not wait for, it reports."""

    passed_s = 0.0
    _rounds = 0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Nothing comes from outside but signals such as Ctrl-C, which can wait a few rounds."""
        self._rounds += 1
        look = timeout is None or self._rounds % ROUNDS_BETWEEN_LOOKS == 0
        events = super().select(0) if look else []
        if not events:
            if timeout is None:
                raise Deadlock("nothing can ever happen again: every task waits, and no timer runs")
            self.passed_s += max(0.0, timeout)
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _NoWaiting()
        super().__init__(self._virtual)

    @override
    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._virtual.passed_s


def time_is_virtual() -> bool:
    """Whether the running event loop is one of these: threads would not be waited for."""
    return isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
