"""
Tasks that wait for work: handing them a job is much cheaper than starting a task for it.

They wait on bare futures: every decision of every debate passes here, and an event takes five
times as long to make and to wait for.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

Job = TypeVar("Job")


class Crew(Generic[Job]):
    def __init__(self, size: int, do: Callable[[Job], Awaitable[None]]) -> None:
        self._size = size
        self._do = do
        self._jobs: deque[Job] = deque()
        self._idle: list[asyncio.Future[None]] = []
        # Set whenever somebody has nothing to do any more.
        self._rest = anyio.Event()

    def start(self, tasks: TaskGroup) -> None:
        for _ in range(self._size):
            tasks.start_soon(self._serve)

    def hand(self, job: Job) -> None:
        """Jobs are begun in the order in which they are handed in."""
        self._jobs.append(job)
        if self._idle:
            called = self._idle.pop()
            if not called.done():
                called.set_result(None)

    async def finished(self) -> None:
        """Until nothing is left to do."""
        while len(self._idle) < self._size:
            self._rest = anyio.Event()
            await self._rest.wait()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while self._jobs:
                await self._do(self._jobs.popleft())
            self._rest.set()
            called: asyncio.Future[None] = loop.create_future()
            self._idle.append(called)
            await called
