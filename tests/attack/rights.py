"""Who may do what, as docs/security.md says: the attacker holds the server to that page."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
NO_PERSONA = ("coordinator", "submitter", "web", "viewer")
_ROW = re.compile(r"^\| (?P<login>\S+) \| (?P<verb>sends|hears) \| `(?P<subject>[^`]+)` \|")


class Right(NamedTuple):
    login: str
    verb: str
    subject: str


@cache
def rights() -> frozenset[Right]:
    found = (_ROW.match(line) for line in PAGE.read_text().splitlines())
    return frozenset(Right(**one.groupdict()) for one in found if one is not None)


def may(login: str, verb: str, subject: bytes) -> bool:
    """Whether the page grants it, a persona's rights being spelled for any persona."""
    role = login if login in NO_PERSONA else "persona"
    panel, _, persona = login.partition("-")
    text = subject.decode("latin-1")
    return any(
        _matches(one.subject.replace("{panel}", panel).replace("{persona}", persona), text)
        for one in rights()
        if (one.login, one.verb) == (role, verb)
    )


def _matches(pattern: str, subject: str) -> bool:
    wanted, given = pattern.split("."), subject.split(".")
    for place, token in enumerate(wanted):
        if token == ">":
            return len(given) > place
        if place >= len(given) or token not in ("*", given[place]):
            return False
    return len(wanted) == len(given)
