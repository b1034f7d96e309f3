"""
A TCP proxy between our processes and the server that makes the network unreliable.

It delays what passes, cuts connections, and cuts them so that the server's last words are lost: a
write is stored, its writer never hears of it, and has to repeat itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import anyio
from anyio.abc import SocketAttribute, SocketStream


class Link:
    """One connection. A deaf one passes on what the client says, and none of the answers."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.deaf = False
        self._scope = scope

    def cut(self) -> None:
        self._scope.cancel()


class FaultProxy:
    def __init__(self, target_port: int, random: Random) -> None:
        self.port = 0
        # Every chunk takes up to this long.
        self.delay_s = 0.0
        self.links: list[Link] = []
        self._target_port = target_port
        self._random = random

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["FaultProxy"]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(SocketAttribute.local_port)
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, self._connect)
            yield self
            tasks.cancel_scope.cancel()

    def cut(self, share: float) -> int:
        """How many connections were cut."""
        chosen = self._some(share)
        for link in chosen:
            link.cut()
        return len(chosen)

    async def deafen(self, share: float, before_cut_s: float) -> int:
        """
        Lose the answers on some connections for a while, then cut them: the stream of bytes has a
        hole and cannot be taken up again.
        """
        chosen = self._some(share)
        for link in chosen:
            link.deaf = True
        await anyio.sleep(before_cut_s)
        for link in chosen:
            link.cut()
        return len(chosen)

    def _some(self, share: float) -> list[Link]:
        return [link for link in self.links if self._random.random() < share]

    async def _connect(self, client: SocketStream) -> None:
        async with client:
            try:
                server = await anyio.connect_tcp("127.0.0.1", self._target_port)
            except OSError:
                return
            async with server, anyio.create_task_group() as tasks:
                link = Link(tasks.cancel_scope)
                self.links.append(link)
                tasks.start_soon(self._pump, client, server, link, False)
                tasks.start_soon(self._pump, server, client, link, True)
        self.links.remove(link)

    async def _pump(
        self, source: SocketStream, sink: SocketStream, link: Link, answers: bool
    ) -> None:
        try:
            async for chunk in source:
                if self.delay_s > 0:
                    await anyio.sleep(self._random.uniform(0.0, self.delay_s))
                if not (answers and link.deaf):
                    await sink.send(chunk)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        link.cut()
