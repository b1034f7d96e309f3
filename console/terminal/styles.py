"""How tones, marks and kinds of lines look on a terminal."""

from parley.console.transcript.items import Tone
from parley.console.transcript.marks import Mark

TONES: dict[Tone | None, str] = {
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "calm": "bright_black",
    "accent": "cyan",
    "violet": "magenta",
    None: "",
}
MARKS = {
    Mark.THINKING: ("… thinking", "cyan"),
    Mark.AWAITED: ("… awaited", "cyan"),
    Mark.SPOKEN: ("✓ spoken", "green"),
    Mark.MISSED: ("✗ missed", "red"),
    Mark.FAILED: ("✗ failed", "red"),
    Mark.NOT_ASKED: ("", ""),
}
# By what a line is about; every other is plain.
LINES = {
    "decided": "bold",
    "terminated": "bold cyan",
    "closed": "bold cyan",
    "cancel": "bold cyan",
    "declaration": "dim",
    "submitted": "cyan",
    "step": "cyan",
    "finding": "cyan",
}
