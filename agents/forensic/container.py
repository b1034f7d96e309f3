"""
Walk the segments of a file without decoding a pixel.

Pillow accepts tens of megabytes of metadata and shrugs at broken markers; a service must not. The
walk costs microseconds and says how much of a file is metadata and what follows the image's end.
"""

from dataclasses import dataclass
from typing import Literal

ImageFormat = Literal["JPEG", "PNG", "WEBP"]

_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
_PNG_PIXELS = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"fdAT", b"fcTL", b"acTL")
_WEBP_PIXELS = (b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF")
_JPEG_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_SOI, _EOI, _SOS, _COM = 0xD8, 0xD9, 0xDA, 0xFE
_APP_FIRST, _APP_LAST = 0xE0, 0xEF
_PNG_DEPTH_OFFSET = 24


class Malformed(ValueError):
    """The file contradicts its own format; the text is fit to be shown to a person."""


@dataclass(frozen=True, slots=True)
class Layout:
    format: ImageFormat
    metadata_bytes: int
    # Bytes behind the image's own end marker: a place to hide or to smuggle.
    trailing_bytes: int
    bits_per_channel: int
    # Bytes between segments that belong to none; decoders skip them, so do we, but not silently.
    stray_bytes: int = 0


def walk(data: bytes) -> Layout:
    if data.startswith(b"\xff\xd8\xff"):
        return _walk_jpeg(data)
    if data.startswith(_PNG_MAGIC):
        return _walk_png(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _walk_webp(data)
    raise Malformed("this is not a JPEG, PNG or WEBP image")


def _walk_jpeg(data: bytes) -> Layout:
    position, metadata, bits, stray = 2, 0, 8, 0
    while True:
        found = _next_marker(data, position)
        stray += found - position
        position = found
        marker = data[position + 1]
        if marker == _EOI:
            return Layout("JPEG", metadata, len(data) - position - 2, bits, stray)
        if marker in _JPEG_STANDALONE:
            position += 2
            continue
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        if length < 2 or position + 2 + length > len(data):  # noqa: PLR2004 - a length counts itself
            raise Malformed(f"the JPEG is broken: the segment at byte {position} runs past the end")
        if _APP_FIRST <= marker <= _APP_LAST or marker == _COM:
            metadata += length
        if 0xC0 <= marker <= 0xC2:  # noqa: PLR2004 - the frame headers libjpeg decodes
            bits = data[position + 4]
        position += 2 + length
        if marker == _SOS:
            position = _end_of_scan(data, position)


def _next_marker(data: bytes, position: int) -> int:
    while True:
        position = data.find(b"\xff", position)
        if position < 0 or position + 1 >= len(data):
            raise Malformed("the JPEG is truncated: it has no end marker")
        if data[position + 1] not in {0x00, 0xFF}:
            return position
        position += 1


def _end_of_scan(data: bytes, position: int) -> int:
    while True:
        position = data.find(b"\xff", position)
        if position < 0 or position + 1 >= len(data):
            raise Malformed("the JPEG is truncated: its picture data has no end")
        follower = data[position + 1]
        if follower == 0 or 0xD0 <= follower <= 0xD7:  # noqa: PLR2004 - stuffing and restarts
            position += 2
        elif follower == 0xFF:  # noqa: PLR2004 - fill byte
            position += 1
        else:
            return position


def _walk_png(data: bytes) -> Layout:
    position, metadata = len(_PNG_MAGIC), 0
    if len(data) <= _PNG_DEPTH_OFFSET:
        raise Malformed("the PNG is truncated: it has no header")
    bits = data[_PNG_DEPTH_OFFSET]
    while position + 12 <= len(data):
        length = int.from_bytes(data[position : position + 4], "big")
        kind = data[position + 4 : position + 8]
        end = position + 12 + length
        if end > len(data):
            raise Malformed("the PNG is truncated: a chunk runs past the end")
        if kind == b"IEND":
            return Layout("PNG", metadata, len(data) - end, bits)
        if kind not in _PNG_PIXELS:
            metadata += length
        position = end
    raise Malformed("the PNG is truncated: it has no end chunk")


def _walk_webp(data: bytes) -> Layout:
    declared = int.from_bytes(data[4:8], "little") + 8
    if declared > len(data):
        raise Malformed("the WEBP is truncated: it is shorter than it says")
    position, metadata = 12, 0
    while position + 8 <= declared:
        kind = data[position : position + 4]
        length = int.from_bytes(data[position + 4 : position + 8], "little")
        if position + 8 + length > declared:
            raise Malformed("the WEBP is broken: a chunk runs past the end")
        if kind not in _WEBP_PIXELS:
            metadata += length
        position += 8 + length + length % 2
    return Layout("WEBP", metadata, len(data) - declared, 8)
