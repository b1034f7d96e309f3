"""
Notices a brain that holds up the event loop, and says which one and where, while it does.

A brain that waits for something lets others work meanwhile; one that computes, sleeps or asks a
server without `await` stops every debate of its process.
"""

import inspect
import sys
import threading
import time
import traceback
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from types import coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")

# Longer than this no step of a brain should take.
TOLD_AFTER_S = 1.0
LOOK_EVERY_S = 0.25
# Of the stack: the innermost calls say where it is.
FRAMES = 8

log = structlog.get_logger()


@dataclass(slots=True)
class _Step:
    who: str
    began: float
    told: bool = False


class LoopWatch:
    def __init__(self, after_s: float = TOLD_AFTER_S) -> None:
        self._after_s = after_s
        # What runs at this moment, by the thread of its loop.
        self._steps: dict[int, _Step] = {}
        self._thread: threading.Thread | None = None

    @coroutine
    def watch(self, who: str, thinking: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """What the coroutine returns; each of its steps is timed."""
        self._start()
        here = threading.get_ident()
        resume = partial(thinking.send, None)
        while True:
            self._steps[here] = _Step(who, time.monotonic())
            try:
                awaited = resume()
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            finally:
                self._steps.pop(here, None)
            try:
                sent = yield awaited
            except BaseException as error:  # noqa: BLE001 - it is the coroutine's to handle
                resume = partial(thinking.throw, error)
            else:
                resume = partial(thinking.send, sent)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="loop-watch", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_EVERY_S)
            for thread, step in list(self._steps.items()):
                seconds = time.monotonic() - step.began
                if seconds > self._after_s and not step.told:
                    step.told = True
                    log.warning(
                        "brain_blocks_the_loop",
                        who=step.who,
                        seconds=round(seconds, 1),
                        hint="everything in this process waits for it: use `await`, or a plain"
                        " function, which runs in a thread",
                        where=_where(thread),
                    )


def _where(thread: int) -> str:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the way to another thread's stack
    return "".join(traceback.format_stack(frame, FRAMES)) if inspect.isframe(frame) else ""
