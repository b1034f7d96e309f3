"""The deployable processes: run until told to stop, then leave in order."""

import signal
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import structlog

from parley.console.cli.exits import DONE, INTERRUPTED, complain

log = structlog.get_logger()


async def serve(main: Callable[[anyio.Event], Coroutine[Any, Any, None]]) -> int:
    """
    The exit code: a process that was asked to end (SIGTERM) is done, Ctrl-C interrupts it.

    The first SIGTERM sets the event that `main` was given, and `main` ends when it has finished
    what it had begun. Ctrl-C, or a second SIGTERM, ends it at once; whatever comes while it ends
    changes nothing, for it could strike anywhere.
    """
    stop = anyio.Event()
    code = DONE
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await main(stop)
                tasks.cancel_scope.cancel()

            tasks.start_soon(run)
            async for number in signals:
                log.info("stopping", signal=number.name)
                if number is signal.SIGTERM and not stop.is_set():
                    stop.set()
                    continue
                code = INTERRUPTED if number is signal.SIGINT else DONE
                complain("stopped; what the log holds goes on at the next start")
                break
            tasks.cancel_scope.cancel()
    return code
