"""Where recorded debates come from: directories, exported files, and the server."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput, NotFound
from parley.configs.settings import Settings
from parley.console.cli.exits import warn
from parley.console.runtime.sources import logs_in_file, looks_like_a_file, no_file_either
from parley.console.runtime.system import join, run_async
from parley.files.bundle import is_bundle
from parley.files.reader import read_archive
from parley.logs import Log

# In place of an id: every debate on the server.
STREAM = "stream"
# Enough for the first fact of any export.
_FIRST_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Group:
    """Debates that belong together: a variant of a batch, or whatever else was named at once."""

    name: str
    directory: Path | None
    logs: tuple[Log, ...]


def read_groups(settings: Settings, names: Sequence[str]) -> tuple[Group, ...]:
    """
    The variants of each directory, then everything else that was named, as one group.

    A debate that is named twice counts once. Raises BadInput where there is nothing to read, and
    for a file that is not what was exported.
    """
    groups: list[Group] = []
    plain: list[Log] = []
    on_server: list[str] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            groups += _in_directory(path)
        elif path.is_file():
            plain += logs_in_file(path)
        elif looks_like_a_file(name):
            raise BadInput(f"{name}: no such file or directory")
        else:
            on_server.append(name)
    if on_server:
        with no_file_either(*on_server):
            plain += run_async(lambda: _on_server(settings, on_server))
    if plain:
        groups.append(Group("", None, tuple(plain)))
    _refuse_broken(groups)
    return tuple(_once_each(groups))


def all_logs(groups: Sequence[Group]) -> list[Log]:
    return [log for group in groups for log in group.logs]


def read_blob(settings: Settings, names: Sequence[str], wanted: BlobRef) -> bytes | None:
    """From the files that were named, or from the server; None where it is not to be had."""
    for path in map(Path, names):
        if path.is_file():
            found = (data for ref, data in read_archive(path).blobs if ref.sha256 == wanted.sha256)
            return next(found, None)
        if path.is_dir():
            return None
    return run_async(lambda: _blob_on_server(settings, wanted))


async def _blob_on_server(settings: Settings, ref: BlobRef) -> bytes | None:
    async with join(settings) as client:
        try:
            return await client.get_blob(ref)
        except NotFound:
            return None


def _in_directory(directory: Path) -> list[Group]:
    """Its own recordings, those of the variants below it, and of their repetitions."""
    groups = []
    for folder in _folders(directory):
        files = [path for path in sorted(folder.iterdir()) if _is_recording(path)]
        logs = [log for path in files for log in logs_in_file(path)]
        if logs:
            below = folder.relative_to(directory).as_posix()
            groups.append(Group(folder.name if below == "." else below, folder, tuple(logs)))
    if not groups:
        raise BadInput(
            f"{directory}: holds no recorded debates (written by batch, by run --out and by export)"
        )
    return groups


def _folders(directory: Path) -> Iterator[Path]:
    yield directory
    for variant in sorted(one for one in directory.iterdir() if one.is_dir()):
        yield variant
        yield from sorted(one for one in variant.glob("seed-*") if one.is_dir())


def _is_recording(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix != ".jsonl":
        return is_bundle(path)
    with path.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
    try:
        line = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and line.get("kind") in ("fact", "blob")


async def _on_server(settings: Settings, names: Sequence[str]) -> list[Log]:
    async with join(settings) as client:
        if STREAM in names:
            return await client.logs()
        return [await (await client.debate(name)).log() for name in names]


def _refuse_broken(groups: Sequence[Group]) -> None:
    broken = [text for log in all_logs(groups) for text in log.broken]
    if broken:
        raise BadInput("\n".join(broken))


def _once_each(groups: Sequence[Group]) -> list[Group]:
    """Within a group; variants hold different debates about the same inputs."""
    kept = []
    for group in groups:
        logs = {log.ref: log for log in group.logs}
        begun = [log for log in logs.values() if log.state.panel is not None]
        if len(begun) < len(logs):
            warn(["a debate without its submission is left out"])
        kept.append(Group(group.name, group.directory, tuple(begun)))
    if not any(group.logs for group in kept):
        raise BadInput("no debate was found")
    return kept
