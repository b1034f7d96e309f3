"""
Debates with their images in one file: a zip archive.

    debates.jsonl    the facts, line by line
    blobs/SHA256     images and large requests, stored as they are
    manifest.json    which debates and blobs belong here, so that nothing can be lost unnoticed

Nothing is ever unpacked to a disk. Names other than these are refused, and every size is bounded
before it is read: a blob is stored uncompressed, so that it is no larger than the file itself, and
facts have their limits in lines, in bytes, in values, and in the bytes of a line.
"""

import json
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from parley.bus.contracts.base import BlobRef, Contract, Token
from parley.bus.errors import BadInput, DecodeError
from parley.bus.port import LARGEST_BLOB_BYTES
from parley.bus.subjects import DebateRef
from parley.files.lines import (
    DEBATES,
    LONGEST_FACT_LINE,
    NOTHING_READ,
    Archived,
    Bounds,
    Content,
    Recorded,
    archived,
    check_blob,
    fact_lines,
    read_content,
)

SUFFIX = ".zip"
MANIFEST, BLOBS = "manifest.json", "blobs/"
LARGEST_MANIFEST_BYTES = 32 << 20
MOST_ENTRIES = 200_000
# A packed line can be a thousand times smaller than what it takes in memory.
MOST_LINES = 250_000
LARGEST_DEBATES_BYTES = 256 << 20
MOST_VALUES = 12_000_000
# What zipfile raises for files that are not as they should be.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
_MAGIC = b"PK\x03\x04"
# The zip format's beginning of time, so that the same debates make the same bytes.
_NO_TIME = (1980, 1, 1, 0, 0, 0)


class BundledDebate(Contract):
    """`chain` is the digest of the last fact: a bundle that ends early is found by it."""

    panel: Token
    debate_id: Token
    facts: int
    chain: str


class Manifest(Contract):
    """
    Version 1 comes from logs whose subjects name no partition. Facts carry no subject, so that both
    are read alike: where a debate lies follows from its id.
    """

    format: Literal["parley-bundle"] = "parley-bundle"
    version: Literal[1, 2] = 2
    debates: tuple[BundledDebate, ...]
    blobs: tuple[BlobRef, ...]


def is_bundle(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class BundleWriter:
    """First the debates, then the blobs; the manifest is written at the end."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path, "w")
        self._lines = self._zip.open(_entry(DEBATES, zipfile.ZIP_DEFLATED), "w", force_zip64=True)
        self._written = NOTHING_READ
        self._debates: list[BundledDebate] = []
        self._blobs: list[BlobRef] = []

    def debate(self, ref: DebateRef, recorded: Iterable[Recorded]) -> None:
        count, line = 0, ""
        for line in fact_lines(ref, recorded):
            count += 1
            self._write(line.encode())
        chain = str(json.loads(line)["chain"]) if line else str(ref)
        self._debates.append(
            BundledDebate(panel=ref.panel, debate_id=ref.id, facts=count, chain=chain)
        )

    def _write(self, line: bytes) -> None:
        """Raises BadInput for more than can be read again."""
        self._written = self._written.after(line)
        too_much = _bounds().exceeded_by(self._written)
        if too_much:
            raise BadInput(
                f"too much for one bundle ({too_much}):"
                " export fewer debates at a time, or a .jsonl file"
            )
        self._lines.write(line + b"\n")

    def blob(self, ref: BlobRef, data: bytes) -> None:
        if len(data) > LARGEST_BLOB_BYTES:
            raise BadInput(f"blob {ref.sha256} has more than {LARGEST_BLOB_BYTES} bytes")
        self._lines.close()
        self._zip.writestr(_entry(f"{BLOBS}{ref.sha256}", zipfile.ZIP_STORED), data)
        self._blobs.append(ref)

    def close(self) -> None:
        self._lines.close()
        manifest = Manifest(debates=tuple(self._debates), blobs=tuple(self._blobs))
        data = manifest.model_dump_json(indent=1).encode()
        self._zip.writestr(_entry(MANIFEST, zipfile.ZIP_DEFLATED), data)
        self._zip.close()


@dataclass(frozen=True, slots=True)
class BundledBlobs:
    """Each is read, and checked, when it is asked for."""

    path: Path
    refs: tuple[BlobRef, ...]

    def __iter__(self) -> Iterator[tuple[BlobRef, bytes]]:
        with zipfile.ZipFile(self.path) as file:
            for ref in self.refs:
                name = f"{BLOBS}{ref.sha256}"
                place = f"{self.path}: {name}"
                yield ref, check_blob(ref, _read(file, name, ref.size, place), place)


def read_bundle(path: Path) -> tuple[tuple[Archived, ...], BundledBlobs]:
    """Raises DecodeError for whatever does not belong, with its place; contents of blobs excepted."""
    try:
        with zipfile.ZipFile(path) as file:
            _check_entries(path, file)
            manifest = _manifest(path, file)
            with file.open(DEBATES) as lines:
                content = read_content(lines, f"{path}: {DEBATES}", LONGEST_FACT_LINE, _bounds())
    except _DAMAGE as error:
        raise DecodeError(f"{path}: a damaged bundle: {error}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    return tuple(_debates(manifest, content)), BundledBlobs(path, manifest.blobs)


def _bounds() -> Bounds:
    return Bounds(MOST_LINES, LARGEST_DEBATES_BYTES, MOST_VALUES)


def _debates(manifest: Manifest, content: Content) -> Iterator[Archived]:
    listed = {DebateRef(one.panel, one.debate_id): one for one in manifest.debates}
    for ref in dict.fromkeys((*listed, *content.facts)):
        lines = content.facts.get(ref, [])
        debate, promised = archived(ref, lines), listed.get(ref)
        found = (len(lines), lines[-1].line.chain if lines else str(ref))
        if promised is None:
            wrong = f"{DEBATES}: {ref} does not stand in the manifest"
        elif (promised.facts, promised.chain) != found:
            wrong = (
                f"{DEBATES}: {ref} has {len(lines)} facts, but not the {promised.facts}"
                " that the manifest names"
            )
        else:
            wrong = ""
        where = tuple(f"{DEBATES}: {text}" for text in debate.broken)
        left_out = tuple(f"{DEBATES}: {text}" for text in debate.left_out)
        yield Archived(ref, debate.recorded, (*where, *([wrong] if wrong else [])), left_out)


def _check_entries(path: Path, file: zipfile.ZipFile) -> None:
    names = file.namelist()
    if len(names) > MOST_ENTRIES:
        raise DecodeError(f"{path}: {len(names)} entries, more than {MOST_ENTRIES}")
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise DecodeError(f"{path}: {twice!r} stands twice")
    for entry in file.infolist():
        _check_entry(path, entry)
    for needed in (MANIFEST, DEBATES):
        if needed not in names:
            raise DecodeError(f"{path}: no bundle of debates: {needed} is missing")


def _check_entry(path: Path, entry: zipfile.ZipInfo) -> None:
    place = f"{path}: {entry.filename!r}"
    is_blob = entry.filename.startswith(BLOBS)
    if is_blob:
        digest = entry.filename.removeprefix(BLOBS)
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):  # noqa: PLR2004 - hex
            raise DecodeError(f"{place} is no name of a blob")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise DecodeError(f"{place} is compressed; blobs are stored as they are")
        if entry.file_size > LARGEST_BLOB_BYTES:
            raise DecodeError(f"{place} has more than {LARGEST_BLOB_BYTES} bytes")
    elif entry.filename not in (MANIFEST, DEBATES):
        raise DecodeError(f"{place} does not belong in a bundle")
    elif entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DecodeError(f"{place} is compressed in a way that bundles are not")
    if entry.flag_bits & 1:
        raise DecodeError(f"{place} is encrypted")


def _manifest(path: Path, file: zipfile.ZipFile) -> Manifest:
    place = f"{path}: {MANIFEST}"
    data = _read(file, MANIFEST, None, place)
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DecodeError(f"{place}: {where}: {first['msg']}") from error
    listed = {f"{BLOBS}{ref.sha256}" for ref in manifest.blobs}
    there = {name for name in file.namelist() if name.startswith(BLOBS)}
    if listed != there:
        odd = min(listed ^ there)
        raise DecodeError(
            f"{path}: {odd} is {'missing' if odd in listed else 'not in the manifest'}"
        )
    return manifest


def _read(file: zipfile.ZipFile, name: str, size: int | None, place: str) -> bytes:
    """At most one byte more than is expected, whatever the entry says of itself."""
    limit = LARGEST_MANIFEST_BYTES if size is None else min(size, LARGEST_BLOB_BYTES)
    try:
        with file.open(name) as entry:
            data = entry.read(limit + 1)
    except _DAMAGE as error:
        raise DecodeError(f"{place}: damaged: {error}") from error
    if len(data) > limit:
        raise DecodeError(f"{place}: more than {limit} bytes")
    return data


def _entry(name: str, compression: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = compression
    return entry
