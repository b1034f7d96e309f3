"""A coordinator among its peers: says that it lives, hears who else does, tells when that changes."""

from collections.abc import Callable, Collection
from contextlib import suppress

import anyio
import structlog
from pydantic import ValidationError

from parley.bus.errors import Unavailable
from parley.bus.journal import Journal
from parley.coordinator.service.membership import BEAT_S, Beacon, Membership

log = structlog.get_logger()


class Heartbeat:
    def __init__(
        self,
        journal: Journal,
        peers: Membership,
        reading: Callable[[], Collection[int]],
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when somebody comes, goes or reads otherwise, and with every beat."""
        self._peers = peers
        self._bus = journal.bus
        self._subject = journal.subjects.beacons()
        self._reading = reading
        self._changed = changed
        self._again = anyio.Event()

    async def listen(self) -> None:
        await self._bus.listen(self._subject, self._hear)

    async def beat(self) -> None:
        """Until cancelled; the others are told then, so that they need not wait for our silence."""
        try:
            while True:
                self._again = anyio.Event()
                await self._say(leaving=False)
                if self._peers.forget_silent(anyio.current_time()):
                    self._report()
                self._changed()
                with anyio.move_on_after(BEAT_S):
                    await self._again.wait()
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self._say(leaving=True)

    def beat_soon(self) -> None:
        """Somebody waits for what the next beacon says."""
        self._again.set()

    async def _say(self, *, leaving: bool) -> None:
        """Unheard while the server is away: nobody else hears anything then, either."""
        beacon = Beacon(
            name=self._peers.me,
            leaving=leaving,
            reads=() if leaving else tuple(sorted(self._reading())),
            protocols=self._peers.protocols,
        )
        with suppress(Unavailable):
            await self._bus.signal(self._subject, beacon.model_dump_json().encode())

    def _hear(self, _subject: str, data: bytes) -> None:
        try:
            beacon = Beacon.model_validate_json(data)
        except ValidationError:
            log.warning("quarantined", subject=self._subject, reason="not a beacon")
            return
        living = self._peers.living
        if not self._peers.hear(beacon, anyio.current_time()):
            return
        if self._peers.living != living:
            self._report()
            self.beat_soon()
        self._changed()

    def _report(self) -> None:
        log.info("coordinators", living=self._peers.living)
