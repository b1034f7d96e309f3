"""What language models are told: one file for each role, `NAME.md` or `NAME.LANGUAGE.md`."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from parley.bus.errors import NotFound


@cache
def prompt(name: str, language: str = "en") -> str:
    """The text in this language, or else the one without a language. Raises NotFound."""
    folder = files(__name__)
    for file in (f"{name}.{language}.md", f"{name}.md"):
        path = folder / file
        if path.is_file():
            return path.read_text(encoding="utf-8").strip()
    raise NotFound(f"there is no prompt {name!r}")


def render(sections: Iterable[tuple[str, str]]) -> str:
    """Titles and texts in the order given; what never changes belongs first, so that it is cached."""
    return "\n\n".join(f"## {title}\n{text}" if title else text for title, text in sections if text)
