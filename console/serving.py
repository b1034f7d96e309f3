"""The deployable processes: run until told to stop, then leave in order."""

import signal
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import structlog

from parley.console.exits import DONE, INTERRUPTED

log = structlog.get_logger()


async def serve(main: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """The exit code: a process that was asked to end (SIGTERM) is done, Ctrl-C interrupts it."""
    code = DONE
    async with anyio.create_task_group() as tasks:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            tasks.start_soon(main)
            async for number in signals:
                log.info("stopping", signal=number.name)
                code = INTERRUPTED if number is signal.SIGINT else DONE
                break
        tasks.cancel_scope.cancel()
    return code
