"""
What an image's file says about itself: for models that cannot look, and as context for those that can.

Nothing is decoded here; only the container's own words are read.
"""

import base64
import re
import struct
from collections.abc import Callable

from parley.prompts import FALLBACK, words

# What endpoints accept as a picture, by its first bytes.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
# What the file may contain, by the key of its words.
_MARKS = (
    (b"Exif\x00", "exif"),
    (b"http://ns.adobe.com/xap/", "xmp"),
    (b"c2pa", "c2pa"),
    (b"trainedAlgorithmicMedia", "trained_media"),
    (b"ICC_PROFILE", "colour_profile"),
    (b"Photoshop 3.0", "photoshop"),
    (b"parameters\x00", "generation_parameters"),
)
_SOFTWARE = re.compile(
    rb"(?:Adobe [A-Z]\w+ [\w. ]{1,24}|GIMP [\d.]{1,10}|Stable Diffusion[\w .-]{0,24}|Midjourney|"
    rb"DALL.E ?\d?|ComfyUI|Firefly|Lavc[\d.]{1,12}|ImageMagick[\w .-]{0,16})"
)
_SOFTWARE_SHOWN = 4
_HEAD_BYTES = 1 << 20


def media_type_of(data: bytes) -> str | None:
    """None for what is no picture that endpoints accept, whatever its name says."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), None)


def data_uri(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def described(data: bytes, language: str = FALLBACK) -> str:
    """One finding on each line."""
    told = words(language, "image")
    kind = media_type_of(data)
    head = data[:_HEAD_BYTES]
    lines = [
        told["format"].format(kind or told["unknown"]),
        told["file_size"].format(len(data)),
    ]
    size = _SIZES[kind](head) if kind in _SIZES else None
    if size is not None:
        lines.append(told["dimensions"].format(*size))
    lines += [told["contains"].format(told[key]) for mark, key in _MARKS if mark in head]
    named = dict.fromkeys(found.decode("latin-1").strip() for found in _SOFTWARE.findall(head))
    lines += [told["software"].format(name) for name in list(named)[:_SOFTWARE_SHOWN]]
    if kind == "image/jpeg":
        lines.append(told["quantisation"].format(head.count(bytes((0xFF, 0xDB)))))
    return "\n".join(lines)


def _png_size(data: bytes) -> tuple[int, int] | None:
    return struct.unpack(">II", data[16:24]) if len(data) >= 24 else None  # noqa: PLR2004


def _gif_size(data: bytes) -> tuple[int, int] | None:
    return struct.unpack("<HH", data[6:10]) if len(data) >= 10 else None  # noqa: PLR2004


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """From the first frame header; segments before it are skipped by their length."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:  # noqa: PLR2004
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # noqa: PLR2004
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


_SIZES: dict[str | None, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png_size,
    "image/gif": _gif_size,
    "image/jpeg": _jpeg_size,
}
