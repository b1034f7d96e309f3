"""
kill -9 of a coordinator around the purge: a debate is in the log, in the archive or in both, and
whoever starts next finishes what was begun.

The proxy between coordinator and server holds the purge, or the write of the archive's record, so
that the process dies exactly there.
"""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from parley.bus.jetstream.bus import JetStreamBus, open_bus
from parley.bus.jetstream.connection import Server
from parley.bus.journal import Journal
from parley.bus.subjects import DebateRef, Subjects
from tests.bus.worlds import NatsServer
from tests.debates import STALEMATE, panel, play
from tests.web.site import write

REF = DebateRef("forensic", "d1")
FACTS, _ = play(panel(), STALEMATE)
# What the client sends at that moment.
MOMENTS = {
    "before the record": (b"HPUB archive.debate.", True),
    "before the purge": (b"PUB $JS.API.STREAM.PURGE.PARLEY ", True),
    "after the purge": (b"PUB $JS.API.STREAM.PURGE.PARLEY ", False),
}


class Holding:
    """A proxy that stops at a command, before it is handed on or behind it."""

    def __init__(self, port: int, command: bytes, *, before: bool) -> None:
        self._port = port
        self._command = command
        self._before = before
        self.reached = anyio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[int]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, self._relay)
            yield listener.extra(anyio.abc.SocketAttribute.local_port)
            tasks.cancel_scope.cancel()

    async def _relay(self, client: anyio.abc.SocketStream) -> None:
        async with (
            client,
            await anyio.connect_tcp("127.0.0.1", self._port) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._pump, server, client)
            await self._pump(client, server, watched=True)
            tasks.cancel_scope.cancel()

    async def _pump(
        self,
        source: anyio.abc.SocketStream,
        target: anyio.abc.SocketStream,
        *,
        watched: bool = False,
    ) -> None:
        with anyio.CancelScope():
            try:
                async for data in source:
                    found = data.find(self._command) if watched else -1
                    await target.send(data if found < 0 or not self._before else data[:found])
                    if found >= 0:
                        self.reached.set()
                        await anyio.sleep_forever()
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


@pytest.mark.own_server
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_debate_outlives_its_archiver(tmp_path: Path, moment: str) -> None:
    command, before = MOMENTS[moment]
    server = NatsServer(tmp_path).start()
    try:
        async with open_bus(Server((server.url,))) as bus:
            await bus.apply()
            journal = Journal(bus, Subjects())
            await write(journal, REF, FACTS)
            as_it_stood = await bus.read(journal.subjects.debate(REF))
            proxy = Holding(server.port, command, before=before)
            async with proxy.serving() as port:
                first = coordinator(tmp_path, port)
                with anyio.fail_after(120):
                    await proxy.reached.wait()
                if moment == "after the purge":
                    await gone(bus)
                first.send_signal(signal.SIGKILL)
                first.wait()
            hot = await bus.read(journal.subjects.debate(REF))
            kept = await journal.archive.get(REF)
            assert bool(hot) == (moment != "after the purge")
            assert (kept is not None) == (moment != "before the record")
            assert list(await journal.records(REF)) == as_it_stood
            second = coordinator(tmp_path, server.port)
            try:
                with anyio.fail_after(120):
                    await gone(bus)
            finally:
                second.terminate()
                second.wait()
            found = await journal.archive.get(REF)
            assert found is not None
            assert not found.broken
            assert list(found.records) == as_it_stood
            assert (await bus.archive.extent()).records == 1
            assert await bus.dead_letters() == []
    finally:
        server.stop()


async def gone(bus: JetStreamBus) -> None:
    while await bus.subjects("debate.>") or not (await bus.archive.extent()).records:  # noqa: ASYNC110
        await anyio.sleep(0.05)


def coordinator(home: Path, port: int) -> subprocess.Popen[bytes]:
    settings = home / "parley.yaml"
    settings.write_text("archive: {after: 0.1}\n")
    command = ["coordinator", "--nats", f"nats://127.0.0.1:{port}", "--config", str(settings)]
    with (home / "coordinator.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "parley", *command], stdout=log, stderr=log)
