"""
Debates as files, in two forms that hold the same.

JSON Lines, which every tool reads, with blobs in base64; and a bundle (`bundle`), which carries
images as they are. Which form a file has is seen by its content.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parley.bus.contracts.base import BlobRef
from parley.bus.errors import BadInput
from parley.files.bundle import BundledBlobs, is_bundle, read_bundle
from parley.files.lines import (
    LONGEST_BLOB_LINE,
    Archived,
    archived,
    read_content,
)


@dataclass(frozen=True, slots=True)
class Archive:
    """Going through the blobs of a bundle reads and checks them, one at a time."""

    debates: tuple[Archived, ...]
    blobs: Sequence[tuple[BlobRef, bytes]] | BundledBlobs


def read_archive(path: Path) -> Archive:
    """Raises DecodeError, with its place, for what is neither a fact nor a blob."""
    if path.is_file() and is_bundle(path):
        debates, bundled = read_bundle(path)
        return Archive(_some(debates, path), bundled)
    try:
        with path.open("rb") as file:
            content = read_content(file, str(path), LONGEST_BLOB_LINE)
    except FileNotFoundError as error:
        raise BadInput(f"{path}: no such file") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    debates = tuple(archived(ref, lines) for ref, lines in content.facts.items())
    return Archive(_some(debates, path), tuple(content.blobs.items()))


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A place to write to that takes the file's name only when all is written."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error
    part = Path(name)
    try:
        yield part
        part.chmod(0o644)
        part.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _some(debates: tuple[Archived, ...], path: Path) -> tuple[Archived, ...]:
    if not debates:
        raise BadInput(f"{path}: holds no debate")
    return debates
