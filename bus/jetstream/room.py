"""How full the log is: it never forgets, so that what is begun must leave room for what is open."""

import anyio

from parley.bus.errors import Denied
from parley.bus.jetstream.differences import MIB
from parley.bus.jetstream.reads import Log

# How long an answer of the server holds: many debates may be submitted at once.
FRESH_S = 1.0


class Room:
    def __init__(self, log: Log, accept_below: float) -> None:
        self._log = log
        self._accept_below = accept_below
        self._looked_at = -FRESH_S
        self._word = ""

    async def shortage(self) -> str:
        """Empty for a log without a bound, and for a login that may not look."""
        if anyio.current_time() - self._looked_at >= FRESH_S:
            try:
                self._word = self._judged(await self._log.info())
            except Denied:
                self._word = ""
            self._looked_at = anyio.current_time()
        return self._word

    def _judged(self, info: dict[str, dict[str, int]]) -> str:
        bound, used = info["config"]["max_bytes"], info["state"]["bytes"]
        if bound <= 0 or used < self._accept_below * bound:
            return ""
        return (
            f"the log is nearly full ({used / MIB:.1f} of {bound / MIB:g} MiB): no debate is accepted"
            f" above {self._accept_below:.0%}, so that those that are open can close; raise"
            " retention.log_mib and run `parley infra apply`, or wait until retention.log_days"
            " has made room"
        )
