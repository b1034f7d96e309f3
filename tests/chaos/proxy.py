"""
A TCP proxy between our processes and the server that makes the network unreliable.

It delays what passes, sends a write to the log twice, cuts connections, and cuts them so that the
server's last words are lost: a write is stored, its writer never hears of it, and has to repeat
itself. It passes on whole frames of what clients say, so that a repetition splits none.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random

import anyio
from anyio.abc import SocketAttribute, SocketStream

from tests.chaos.frames import Frames, published_on


class Link:
    """One connection. A deaf one passes on what the client says, and none of the answers."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.deaf = False
        # Chunks that the client never heard.
        self.lost = 0
        self._scope = scope

    def cut(self) -> None:
        self._scope.cancel()


class FaultProxy:
    def __init__(self, target_port: int, random: Random, log: str) -> None:
        """`log` is what the subjects of the log begin with."""
        self.port = 0
        # Every chunk takes up to this long.
        self.delay_s = 0.0
        # So many of the next writes to the log are sent twice; so many were.
        self.to_repeat = 0
        self.repeated = 0
        self._log = log
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
        hole and cannot be taken up again. Tells how many chunks of answers were lost.
        """
        chosen = self._some(share)
        for link in chosen:
            link.deaf = True
        await anyio.sleep(before_cut_s)
        for link in chosen:
            link.cut()
        return sum(link.lost for link in chosen)

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
                tasks.start_soon(self._pass_on, client, server, link)
                tasks.start_soon(self._pass_back, server, client, link)
        self.links.remove(link)

    async def _pass_on(self, client: SocketStream, server: SocketStream, link: Link) -> None:
        frames = Frames()
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in client:
                await self._linger()
                for frame in frames.feed(chunk):
                    await server.send(frame * self._times(frame))
        link.cut()

    async def _pass_back(self, server: SocketStream, client: SocketStream, link: Link) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in server:
                await self._linger()
                if link.deaf:
                    link.lost += 1
                else:
                    await client.send(chunk)
        link.cut()

    async def _linger(self) -> None:
        if self.delay_s > 0:
            await anyio.sleep(self._random.uniform(0.0, self.delay_s))

    def _times(self, frame: bytes) -> int:
        if self.to_repeat == 0 or not published_on(frame).startswith(self._log):
            return 1
        self.to_repeat -= 1
        self.repeated += 1
        return 2
