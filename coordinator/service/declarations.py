"""
Declarations said aloud, for whoever listens: after the fact that carries them stands in the log.

They are signals. Nothing waits for them, and what cannot be sent in time is left out: the log has it.
"""

import anyio
import structlog
from anyio.abc import TaskGroup

from parley.bus.contracts.declaration import TerminationDeclaration
from parley.bus.contracts.facts import Fact, declarations_in
from parley.bus.errors import Unavailable
from parley.bus.port import Bus
from parley.bus.subjects import DebateRef, Subjects

# Declarations that may wait to be said.
MOST_WAITING = 10_000

log = structlog.get_logger()


class Declarations:
    def __init__(self, bus: Bus, subjects: Subjects) -> None:
        self._bus = bus
        self._subjects = subjects
        self._waiting: list[tuple[DebateRef, TerminationDeclaration]] = []
        self._news = anyio.Event()

    def start(self, tasks: TaskGroup) -> None:
        tasks.start_soon(self._run)

    def see(self, ref: DebateRef, fact: Fact) -> None:
        """One of our own facts, which the log has just shown."""
        found = declarations_in(fact)
        if found and len(self._waiting) < MOST_WAITING:
            self._waiting += [(ref, one) for one in found]
            self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            waiting, self._waiting = self._waiting, []
            try:
                for ref, one in waiting:
                    data = one.model_dump_json(by_alias=True).encode()
                    await self._bus.signal(self._subjects.declarations(ref), data)
            except Unavailable as error:
                log.debug("declarations_unsaid", declarations=len(waiting), reason=str(error))
