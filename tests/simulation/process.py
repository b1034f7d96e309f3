"""One simulated process: it can be started, stopped, killed and frozen, and started again."""

from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup
from typing_extensions import override

from parley.bus.memory import MemoryBus, MemoryServer
from tests.simulation.loop import PROCESS, Freezer, running_loop
from tests.simulation.plan import Blow, Event

# Sets the first event when it is ready, and ends in order when it is shown the second.
Main = Callable[[MemoryBus, anyio.Event, anyio.Event], Awaitable[None]]


class MortalBus(MemoryBus):
    """A killed process says nothing more, not even farewell."""

    alive = True

    @override
    async def signal(self, subject: str, data: bytes) -> None:
        if self.alive:
            await super().signal(subject, data)


class Process:
    def __init__(
        self, name: str, server: MemoryServer, main: Main, died: Callable[[str], None]
    ) -> None:
        self.name = name
        # Since when it has been ready and going on without interruption.
        self.well_since: float | None = None
        # What befell it, and when.
        self.suffered: list[tuple[float, Blow]] = []
        self._server = server
        self._main = main
        self._died = died
        self._freezer = Freezer(name)
        self._bus = MortalBus(server)
        self._scope = anyio.CancelScope()
        self._stop, self._ended = anyio.Event(), anyio.Event()
        self._up = False

    def start(self, tasks: TaskGroup) -> None:
        self._freezer = Freezer(self.name)
        self._bus = MortalBus(self._server)
        self._scope = anyio.CancelScope()
        self._stop, self._ended = anyio.Event(), anyio.Event()
        self._up = True
        tasks.start_soon(self._live, self._freezer, self._bus, self._scope)

    async def suffer(self, event: Event, tasks: TaskGroup) -> None:
        """A blow that hits a process while it is down or frozen already is none."""
        if not self._up or self._freezer.frozen:
            return
        self.suffered.append((anyio.current_time(), event.blow))
        if event.blow is Blow.FREEZE:
            self.freeze()
            await anyio.sleep(event.lasts_s)
            self.thaw()
        else:
            self._end(kill=event.blow is Blow.KILL)
            await self._ended.wait()
            await anyio.sleep(event.lasts_s)
            self.start(tasks)

    def freeze(self) -> None:
        self.well_since = None
        running_loop().freeze(self._freezer)

    def thaw(self) -> None:
        if self._freezer.frozen:
            self.well_since = anyio.current_time()
            running_loop().thaw(self._freezer)

    def _end(self, *, kill: bool) -> None:
        self._up = False
        self.well_since = None
        if kill:
            self._bus.alive = False
            self._scope.cancel()
        else:
            self._stop.set()

    async def _live(self, freezer: Freezer, bus: MortalBus, scope: anyio.CancelScope) -> None:
        PROCESS.set(freezer)
        ready, stop, ended = anyio.Event(), self._stop, self._ended

        async def watch() -> None:
            await ready.wait()
            if not stop.is_set():
                self.well_since = anyio.current_time()

        try:
            with scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(watch)
                    await self._main(bus, ready, stop)
                    tasks.cancel_scope.cancel()
                    if not stop.is_set():
                        self._died(f"{self.name} ended for no reason")
        except Exception as error:  # noqa: BLE001 - whatever a process dies of is a finding
            self._died(f"{self.name} died: {_causes(error)}")
        ended.set()


def _causes(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_causes(one) for one in error.exceptions)
    return f"{type(error).__name__}: {error}"
