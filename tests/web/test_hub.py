"""The one reader behind the page, on a virtual clock."""

from collections.abc import Callable, Sequence

import anyio
from typing_extensions import override

from parley.bus.journal import Journal
from parley.bus.memory import MemoryBus, MemoryServer, open_memory_server
from parley.bus.port import Link, Record
from parley.bus.position import Start
from parley.bus.subjects import DebateRef, Subjects
from parley.bus.virtual import VirtualTimeLoop
from parley.console.web.hub import QUIET_S, Hub
from tests.clients import client_of
from tests.debates import STALEMATE, panel, play
from tests.web.site import write

ONE = DebateRef("forensic", "one")
FACTS, _ = play(panel(), STALEMATE)


class Away(MemoryBus):
    """The server goes away before it has told anything, and comes back."""

    def __init__(self, server: MemoryServer) -> None:
        super().__init__(server)
        self.back = anyio.Event()

    @property
    @override
    def link(self) -> Link:
        return Link(up=self.back.is_set(), losses=1)

    @override
    async def tail(
        self, filters: Sequence[str], *, start: Start, on: Callable[[Sequence[Record]], None]
    ) -> None:
        await self.back.wait()
        await anyio.sleep(QUIET_S / 2)
        await super().tail(filters, start=start, on=on)


def test_silence_of_a_server_that_is_away_is_no_end_of_the_log() -> None:
    async def main() -> None:
        async with open_memory_server() as server:
            bus = Away(server)
            journal = Journal(bus, Subjects())
            await write(journal, ONE, FACTS)
            async with client_of(journal) as client, anyio.create_task_group() as tasks:
                hub = Hub(client)
                tasks.start_soon(hub.run)
                await anyio.sleep(10 * QUIET_S)
                assert not hub.rebuilt.is_set()
                bus.back.set()
                with anyio.fail_after(QUIET_S):
                    await hub.rebuilt.wait()
                assert len(hub.rows) == 1
                tasks.cancel_scope.cancel()

    anyio.run(main, backend_options={"loop_factory": VirtualTimeLoop})
