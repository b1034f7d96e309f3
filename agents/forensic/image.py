"""
From a path or bytes to an array that is safe to analyse.

Every limit of the service is enforced here, before any skill runs. Whatever is wrong with a picture
comes back as BadInput with one sentence for the person who sent it.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parley.agents.forensic.decode_worker import LENGTH_BYTES, DecodeLimits
from parley.agents.forensic.evidence import CompressionState
from parley.agents.forensic.provenance import ContentCredentials, Provenance
from parley.agents.forensic.suited import Unsuited, unsuited
from parley.bus.contracts.base import Contract
from parley.bus.errors import BadInput

Positive = Annotated[int, Field(gt=0)]


class ImageLimits(Contract):
    max_bytes: Positive = 20_000_000
    max_pixels: Positive = 40_000_000
    min_side: Positive = 256
    max_metadata_bytes: Positive = 1_000_000
    # Analysed without resizing; larger images are cropped around their centre.
    analysis_pixels: Positive = 2_000_000
    memory_bytes: Positive = 1_000_000_000
    decode_seconds: Annotated[float, Field(gt=0)] = 20.0


@dataclass(frozen=True, slots=True)
class Picture:
    """The analysed crop of an image. `left` and `top` place it in the original, in pixels."""

    rgb: NDArray[np.uint8]
    left: int
    top: int
    width: int
    height: int
    format: str
    # One row-major 8x8 quantisation table per component kind; empty unless the file is a JPEG.
    tables: tuple[tuple[int, ...], ...]
    provenance: Provenance
    notes: tuple[str, ...]
    unsuited: Unsuited | None = None

    @property
    def is_whole(self) -> bool:
        return self.rgb.shape[:2] == (self.height, self.width)

    @property
    def megapixels(self) -> float:
        return float(self.rgb.shape[0] * self.rgb.shape[1]) / 1e6

    @property
    def state(self) -> CompressionState:
        if self.format == "WEBP":
            return CompressionState.WEBP
        if not self.tables:
            return CompressionState.LOSSLESS
        return (
            CompressionState.JPEG_HIGH
            if jpeg_quality(self.tables[0]) >= HIGH_QUALITY
            else CompressionState.JPEG_LOW
        )


# Below this quality fine structure is gone; chosen because measured AUC drops between 75 and 85.
HIGH_QUALITY = 82

# The luminance table of the JPEG standard, at quality 50, in zigzag-free row order.
STANDARD_LUMINANCE = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)  # fmt: skip


def jpeg_quality(table: tuple[int, ...]) -> float:
    """The quality of the standard table that comes closest, 1-100."""
    scale = 100.0 * sum(table) / sum(STANDARD_LUMINANCE)
    return max(1.0, (200.0 - scale) / 2.0 if scale <= 100.0 else 5000.0 / scale)  # noqa: PLR2004


def read_file(path: Path, limits: ImageLimits) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(limits.max_bytes + 1)
    except OSError as error:
        raise BadInput(f"the file cannot be read: {error.strerror or error}") from error
    check_length(len(data), limits)
    return data


def check_length(length: int, limits: ImageLimits) -> None:
    if not length:
        raise BadInput("the file is empty")
    if length > limits.max_bytes:
        raise BadInput(f"the file is larger than {limits.max_bytes / 1e6:g} MB")


class Decoder:
    """One decoding subprocess, restarted when a picture kills it. Not for use by two threads."""

    def __init__(self, limits: ImageLimits) -> None:
        self._limits = limits
        self._worker: subprocess.Popen[bytes] | None = None

    def decode(self, data: bytes) -> Picture:
        check_length(len(data), self._limits)
        deadline = time.monotonic() + self._limits.decode_seconds
        worker = self._running()
        try:
            _send(worker, data, deadline)
            header = json.loads(_receive(worker, deadline))
            pixels = _receive(worker, deadline)
        except TimeoutError as error:
            self.close()
            raise BadInput(
                f"the image took longer than {self._limits.decode_seconds:g} s to decode"
            ) from error
        except (BrokenPipeError, EOFError) as error:
            self.close()
            raise BadInput("the image cannot be decoded: it ended the decoder") from error
        except BaseException:
            self.close()
            raise
        if "error" in header:
            raise BadInput(header["error"])
        return _picture(header, pixels)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            worker.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._worker is None or self._worker.poll() is not None:
            self.close()
            self._worker = _start(self._limits)
        return self._worker


@contextmanager
def decoding(limits: ImageLimits) -> Iterator[Decoder]:
    decoder = Decoder(limits)
    try:
        yield decoder
    finally:
        decoder.close()


def _start(limits: ImageLimits) -> subprocess.Popen[bytes]:
    wanted = DecodeLimits(
        max_pixels=limits.max_pixels,
        min_side=limits.min_side,
        max_metadata_bytes=limits.max_metadata_bytes,
        analysis_pixels=limits.analysis_pixels,
        memory_bytes=limits.memory_bytes,
    )
    worker = subprocess.Popen(  # noqa: S603 - our own module, started by our own interpreter
        [sys.executable, "-m", "parley.agents.forensic.decode_worker", json.dumps(asdict(wanted))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
    return worker


def _send(worker: subprocess.Popen[bytes], data: bytes, deadline: float) -> None:
    if worker.stdin is None:
        raise EOFError
    pipe = worker.stdin.fileno()
    rest = memoryview(len(data).to_bytes(LENGTH_BYTES, "big") + data)
    while rest:
        _await_ready(deadline, pipe, select.POLLOUT)
        rest = rest[os.write(pipe, rest) :]


def _receive(worker: subprocess.Popen[bytes], deadline: float) -> bytes:
    return _read(worker, int.from_bytes(_read(worker, LENGTH_BYTES, deadline), "big"), deadline)


def _read(worker: subprocess.Popen[bytes], count: int, deadline: float) -> bytes:
    if worker.stdout is None:
        raise EOFError
    pipe, parts, missing = worker.stdout.fileno(), [], count
    while missing:
        _await_ready(deadline, pipe, select.POLLIN)
        part = os.read(pipe, missing)
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _await_ready(deadline: float, pipe: int, event: int) -> None:
    """By poll: `select` refuses the pipes of a process with a thousand connections."""
    ready = select.poll()
    ready.register(pipe, event)
    if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


def _picture(header: dict[str, Any], pixels: bytes) -> Picture:
    left, top, right, bottom = header["crop"]
    said = dict(header["provenance"])
    credentials = said.pop("c2pa")
    said["png_text"] = tuple((key, value) for key, value in said["png_text"])
    rgb = np.frombuffer(pixels, np.uint8).reshape(bottom - top, right - left, 3)
    return Picture(
        rgb=rgb,
        left=left,
        top=top,
        width=header["width"],
        height=header["height"],
        format=header["format"],
        tables=tuple(tuple(table) for table in header["tables"]),
        provenance=Provenance(
            **said, c2pa=ContentCredentials(**credentials) if credentials else None
        ),
        notes=tuple(header["notes"]),
        unsuited=unsuited(rgb),
    )
