"""
The subprocess that touches untrusted bytes: `python -m parley.agents.forensic.decode_worker LIMITS`.

It caps its own memory, then answers requests on stdin with a header and the pixels on stdout until
stdin closes. A picture that kills it costs one process, not the agent: the parent starts another.
"""

import dataclasses
import io
import json
import resource
import sys
import warnings
from typing import BinaryIO

from PIL import Image

from parley.agents.forensic.container import Layout, Malformed, walk
from parley.agents.forensic.provenance import read_provenance

LENGTH_BYTES = 8
_GRID = 8
_DIRECT_MODES = {"RGB": "", "L": "grayscale: no colour evidence", "P": "palette: few colours kept",
                 "RGBA": "transparency was dropped", "LA": "grayscale with transparency",
                 "1": "black and white"}  # fmt: skip


class Refused(ValueError):
    """The picture breaks a limit; the text is fit to be shown to a person."""


@dataclasses.dataclass(frozen=True, slots=True)
class DecodeLimits:
    max_pixels: int
    min_side: int
    max_metadata_bytes: int
    analysis_pixels: int
    memory_bytes: int


def crop_box(width: int, height: int, pixels: int) -> tuple[int, int, int, int]:
    """A centred crop of at most `pixels`, on the 8-pixel grid so that JPEG blocks stay whole."""
    if width * height <= pixels:
        return 0, 0, width, height
    scale = (pixels / (width * height)) ** 0.5
    crop_width = max(_GRID, int(width * scale) // _GRID * _GRID)
    crop_height = max(_GRID, int(height * scale) // _GRID * _GRID)
    left = (width - crop_width) // 2 // _GRID * _GRID
    top = (height - crop_height) // 2 // _GRID * _GRID
    return left, top, left + crop_width, top + crop_height


def decode(data: bytes, limits: DecodeLimits) -> tuple[dict[str, object], bytes]:
    layout = walk(data)
    _check_layout(layout, limits)
    with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "WEBP")) as image:
        _check_image(image, limits)
        frames = int(getattr(image, "n_frames", 1))
        provenance = read_provenance(image, data, f"image/{layout.format.lower()}")
        tables = [list(table) for _, table in sorted(getattr(image, "quantization", {}).items())]
        box = crop_box(*image.size, limits.analysis_pixels)
        pixels = image.crop(box).convert("RGB")
        notes = [note for note in (_DIRECT_MODES[image.mode],) if note]
        if frames > 1:
            notes.append(f"animated: only the first of {frames} frames was looked at")
        if layout.trailing_bytes:
            notes.append(f"{layout.trailing_bytes} bytes follow the image's end marker")
        if layout.stray_bytes:
            notes.append(f"{layout.stray_bytes} stray bytes stand between the file's segments")
        header: dict[str, object] = {
            "format": layout.format,
            "width": image.width,
            "height": image.height,
            "crop": box,
            "tables": tables,
            "provenance": dataclasses.asdict(provenance),
            "notes": notes,
        }
        return header, pixels.tobytes()


def _check_layout(layout: Layout, limits: DecodeLimits) -> None:
    if layout.metadata_bytes > limits.max_metadata_bytes:
        raise Refused(
            f"the file carries {layout.metadata_bytes} bytes of metadata; "
            f"at most {limits.max_metadata_bytes} are read"
        )
    if layout.bits_per_channel > 8:  # noqa: PLR2004 - the measurements are calibrated for bytes
        raise Refused(
            f"the image has {layout.bits_per_channel} bits per channel; export it with 8 bits"
        )


def _check_image(image: Image.Image, limits: DecodeLimits) -> None:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise Refused(
            f"the image has {width}x{height} pixels; at most {limits.max_pixels} are decoded"
        )
    if min(width, height) < limits.min_side:
        raise Refused(
            f"the image is {width}x{height}; below {limits.min_side} pixels a side nothing can be told"
        )
    if image.mode not in _DIRECT_MODES:
        raise Refused(f"the image is in colour mode {image.mode}; export it as 8-bit RGB")


def answer(data: bytes, limits: DecodeLimits) -> tuple[dict[str, object], bytes]:
    try:
        return decode(data, limits)
    except (Malformed, Refused) as error:
        return {"error": str(error)}, b""
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return {"error": f"the image has more than {limits.max_pixels} pixels"}, b""
    except MemoryError:
        return {"error": "the image needs more memory than a decoder may use"}, b""
    except (OSError, ValueError, SyntaxError, EOFError, KeyError, TypeError) as error:
        # Pillow reports damage by any of these, depending on the format's plugin.
        return {"error": f"the image cannot be decoded: {str(error)[:200]}"}, b""


def _read_exactly(stream: BinaryIO, count: int) -> bytes | None:
    data = stream.read(count)
    return data if len(data) == count else None


def serve(requests: BinaryIO, answers: BinaryIO, limits: DecodeLimits) -> None:
    while (prefix := _read_exactly(requests, LENGTH_BYTES)) is not None:
        data = _read_exactly(requests, int.from_bytes(prefix, "big"))
        if data is None:
            return
        header, pixels = answer(data, limits)
        encoded = json.dumps(header).encode()
        for part in (encoded, pixels):
            answers.write(len(part).to_bytes(LENGTH_BYTES, "big"))
            answers.write(part)
        answers.flush()


def main() -> None:
    limits = DecodeLimits(**json.loads(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    Image.MAX_IMAGE_PIXELS = limits.max_pixels
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    serve(sys.stdin.buffer, sys.stdout.buffer, limits)


if __name__ == "__main__":
    main()
