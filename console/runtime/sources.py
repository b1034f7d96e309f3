"""Logs by the name of a debate, or of an exported file."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parley.bus.errors import BadInput, Unreachable
from parley.configs.settings import Settings
from parley.console.cli.exits import warn
from parley.console.runtime.system import join, run_async
from parley.files.reader import Archive, read_archive
from parley.logs import Log

_LOOKS_LIKE_A_FILE = re.compile(r"\.[A-Za-z]+$|^[./~]")


def logs_of(settings: Settings, source: str) -> list[Log]:
    """One log for an id, as many as a file holds for a file; its blobs must be whole, too."""
    path = Path(source)
    if path.is_file():
        archive = read_archive(path)
        for _ in archive.blobs:
            continue
        return _logs(path, archive)
    if looks_like_a_file(source):
        raise BadInput(f"{source}: no such file")
    with no_file_either(source):
        return [run_async(lambda: read_log(settings, source))]


@contextmanager
def no_file_either(*sources: str) -> Iterator[None]:
    """Around a question to a server about what may be a mistyped file."""
    try:
        yield
    except Unreachable as error:
        raise Unreachable(f"no file {', '.join(sources)} here, and {error}") from error


def logs_in_file(path: Path) -> list[Log]:
    """Blobs are not looked at."""
    return _logs(path, read_archive(path))


def _logs(path: Path, archive: Archive) -> list[Log]:
    logs = [
        Log(
            one.ref,
            one.recorded,
            tuple(f"{path}: {text}" for text in one.broken),
            tuple(f"{path}: {text}" for text in one.left_out),
        )
        for one in archive.debates
    ]
    warn(f"{text} (left out)" for log in logs for text in log.left_out)
    return logs


def looks_like_a_file(source: str) -> bool:
    return _LOOKS_LIKE_A_FILE.search(source) is not None


async def read_log(settings: Settings, debate: str) -> Log:
    async with join(settings) as client:
        return await (await client.debate(debate)).log()
