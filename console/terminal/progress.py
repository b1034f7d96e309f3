"""How far a long run is: a bar on a terminal, a line now and then everywhere else; on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_EVERY_S = 5.0


@contextmanager
def progress_of(name: str, total: int) -> Iterator[Callable[[], None]]:
    """Calls of what it yields count one more done."""
    if not sys.stderr.isatty():
        yield _lines(name, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=total)
        yield lambda: bar.advance(task)


def _lines(name: str, total: int) -> Callable[[], None]:
    done, said = 0, time.monotonic()

    def step() -> None:
        nonlocal done, said
        done += 1
        if time.monotonic() - said >= LINE_EVERY_S:
            said = time.monotonic()
            print(f"{name}: {done} of {total}", file=sys.stderr, flush=True)

    return step
