"""The event loop that commands run on, and the client that they use."""

import gc
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import anyio
import typer

from parley import client
from parley.client import Client
from parley.configs.settings import Settings
from parley.console.cli.exits import INTERRUPTED, complain, warn

Outcome = TypeVar("Outcome")

# (panel, persona) of each agent to run.
Seats = Sequence[tuple[str, str]]


def tune() -> None:
    """
    Let the collector rest: facts and states hold no cycles, and looking for some in every few
    hundred new objects costs a fifth of a busy process's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def run_async(main: Callable[[], Awaitable[Outcome]]) -> Outcome:
    tune()
    options = {"use_uvloop": os.name != "nt"}
    try:
        return anyio.run(main, backend_options=options)
    except KeyboardInterrupt:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def join(settings: Settings, *, create: bool = False) -> AbstractAsyncContextManager[Client]:
    """The server that the settings name; what is not as expected is told on stderr."""
    return client.join(settings, create=create, warn=warn)
