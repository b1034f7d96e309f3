"""A coordinator among its peers: says that it lives, hears who else does, tells when that changes."""

from collections.abc import Callable
from contextlib import suppress

import anyio
import structlog
from pydantic import ValidationError

from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.coordinator.service.membership import BEAT_S, Beacon, Membership

log = structlog.get_logger()


class Heartbeat:
    def __init__(self, journal: Journal, name: str, changed: Callable[[], None]) -> None:
        self.peers = Membership(name)
        self._bus = journal.bus
        self._subject = journal.subjects.beacons()
        self._changed = changed

    async def listen(self) -> None:
        await self._bus.listen(self._subject, self._hear)

    async def beat(self) -> None:
        """Until cancelled; the others are told then, so that they need not wait for our silence."""
        try:
            while True:
                await self._say(Beacon(name=self.peers.me))
                if self.peers.forget_silent(anyio.current_time()):
                    self._changed()
                await anyio.sleep(BEAT_S)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._say(Beacon(name=self.peers.me, leaving=True))

    async def _say(self, beacon: Beacon) -> None:
        """Unheard while the server is away: nobody else hears anything then, either."""
        with suppress(Unavailable):
            await self._bus.signal(self._subject, beacon.model_dump_json().encode())

    def _hear(self, _subject: str, data: bytes) -> None:
        try:
            beacon = Beacon.model_validate_json(data)
        except ValidationError:
            log.warning("quarantined", subject=self._subject, reason="not a beacon")
            return
        if self.peers.hear(beacon, anyio.current_time()):
            self._changed()
