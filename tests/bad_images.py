"""Pictures that a service must refuse, with a word of the sentence that refuses them."""

import io
import struct
import zlib
from collections.abc import Callable

import numpy as np
from PIL import Image, PngImagePlugin

GOOD_SIDE = 320


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def textured(width: int = GOOD_SIDE, height: int = GOOD_SIDE, mode: str = "RGB") -> Image.Image:
    pixels = np.random.default_rng(3).integers(0, 255, (height, width, 3), np.uint8)
    return Image.fromarray(pixels).convert(mode)


def exif_bomb() -> bytes:
    segment = b"\xff\xe1" + struct.pack(">H", 65_002) + b"Exif\0\0" + bytes(64_994)
    good = saved(textured(), "JPEG")
    return good[:2] + segment * 20 + good[2:]


def text_bomb() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "a" * 80_000_000, zip=True)
    return saved(textured(), "PNG", pnginfo=info)


def sixteen_bit_colour() -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    rows = b"".join(b"\0" + bytes(GOOD_SIDE * 6) for _ in range(GOOD_SIDE))
    header = struct.pack(">IIBBBBB", GOOD_SIDE, GOOD_SIDE, 16, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def broken_marker() -> bytes:
    good = bytearray(saved(textured(), "JPEG"))
    at = good.index(b"\xff\xdb")
    good[at + 2 : at + 4] = b"\xff\xff"
    return bytes(good[: at + 400])


def bomb() -> bytes:
    data = saved(Image.new("1", (9000, 9000)), "PNG")
    assert len(data) < 20_000
    return data


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "empty"),
    "not an image": (lambda: b"%PDF-1.7 hello", "not a JPEG, PNG or WEBP"),
    "gif": (lambda: saved(textured(), "GIF"), "not a JPEG, PNG or WEBP"),
    "truncated jpeg": (lambda: saved(textured(), "JPEG")[:9000], "truncated"),
    "truncated png": (lambda: saved(textured(), "PNG")[:9000], "truncated"),
    "truncated webp": (lambda: saved(textured(), "WEBP")[:900], "truncated"),
    "81 megapixels": (bomb, "at most 40000000|more than 40000000"),
    "30 MB": (lambda: b"\xff\xd8\xff" + bytes(30_000_000), "larger than 20 MB"),
    "cmyk": (lambda: saved(textured(mode="CMYK"), "JPEG"), "colour mode CMYK"),
    "16 bit grey": (lambda: saved(Image.new("I;16", (300, 300)), "PNG"), "16 bits"),
    "16 bit colour": (sixteen_bit_colour, "16 bits"),
    "one pixel": (lambda: saved(textured(1, 1), "PNG"), "1x1"),
    "200 pixels": (lambda: saved(textured(200, 400), "JPEG"), "200x400"),
    "exif bomb": (exif_bomb, "bytes of metadata"),
    "text bomb": (text_bomb, "cannot be decoded"),
    "broken marker": (broken_marker, "broken"),
}
