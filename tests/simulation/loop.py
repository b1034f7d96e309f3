"""
An event loop on virtual time whose processes can be frozen, as SIGSTOP freezes real ones.

A process is whatever runs in a context that names it: its tasks and their children. While it is
frozen, everything that would run in it is set aside in the order in which it fell due; then it
all runs at once, on a clock that has moved on.
"""

import asyncio
from asyncio import Handle, TimerHandle
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

from typing_extensions import override

from parley.bus.virtual import VirtualTimeLoop


class Freezer:
    """Holds what falls due for one process while it is frozen."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.frozen = False
        self.set_aside: list[Handle] = []


PROCESS: ContextVar[Freezer | None] = ContextVar("PROCESS", default=None)


class PausableLoop(VirtualTimeLoop):
    @override
    def call_soon(  # type: ignore[override]  # which arguments fit is not for us to check
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Handle:
        process = _process(context)
        if process is None or not process.frozen:
            return super().call_soon(callback, *args, context=context)
        handle = Handle(callback, args, self, context)
        process.set_aside.append(handle)
        return handle

    @override
    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> TimerHandle:
        process = _process(context)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        planned: list[TimerHandle] = []

        def due() -> None:
            if not process.frozen:
                callback(*args)
                return
            late = Handle(lambda: planned[0].cancelled() or callback(*args), (), self, context)
            process.set_aside.append(late)

        planned.append(super().call_at(when, due, context=context))
        return planned[0]

    def freeze(self, process: Freezer) -> None:
        process.frozen = True

    def thaw(self, process: Freezer) -> None:
        process.frozen = False
        for handle in process.set_aside:
            if not handle.cancelled():
                super().call_soon(_run, handle)
        process.set_aside.clear()


def running_loop() -> PausableLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, PausableLoop)
    return loop


def _process(context: Context | None) -> Freezer | None:
    return PROCESS.get() if context is None else context.get(PROCESS)


def _run(handle: Handle) -> None:
    if not handle.cancelled():
        handle._run()
