"""Text from outside, made harmless for a terminal."""

import re

# Escape sequences (CSI, OSC, single-character) and every other control character but tab and newline.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
# Characters that reorder or hide what follows them.
_BIDI = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def clean(text: str) -> str:
    """Without escape sequences, control and invisible characters; lines and tabs stay."""
    visible = _BIDI.sub("", _ESCAPES.sub("", text))
    return visible.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str, width: int | None = None) -> str:
    """Cleaned, on one line, cut to `width` characters if given."""
    flat = " ".join(clean(text).split())
    if width is not None and len(flat) > width:
        return flat[: max(0, width - 1)] + "…"
    return flat


def is_token(text: str) -> bool:
    """Whether it can be one part of a subject: the name of a panel, a persona or a debate."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text) is not None
