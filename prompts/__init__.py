"""
Prompts as files, one per role and language, rendered with named sections.

A section is its tag on a line of its own and its content below; a blank line stands between two.
What stays the same from turn to turn comes first and the history last, so that a provider's cache
of prefixes works.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FALLBACK = "en"
LANGUAGES = ("ko", "en")


@dataclass(frozen=True, slots=True)
class Section:
    """`tag` without brackets: TOPIC, PERSONA, SHARED_CONTEXT_JSON, HISTORY …"""

    tag: str
    content: str


def instructions(panel: str, role: str, language_code: str) -> str:
    """The base instructions of a role; English stands in for a language without a file."""
    code = language_code.strip().lower()[:2]
    return _read(panel, code if code in LANGUAGES else FALLBACK, role)


def render(base: str, sections: Sequence[Section]) -> str:
    return "\n\n".join((base, *(f"[{one.tag}]\n{one.content}" for one in sections)))


@cache
def _read(panel: str, code: str, role: str) -> str:
    path = files("parley.prompts") / panel / code / f"{role}.md"
    return path.read_text(encoding="utf-8").strip()
