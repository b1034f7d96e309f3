"""Names that nobody knows, answered with the ones that exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def name_unknown(kind: str, given: str, known: Iterable[str]) -> str:
    """`unknown preset 'fsat': did you mean 'fast'? (known: fast, default, precise)`"""
    names = list(known)
    close = get_close_matches(given, names, n=1)
    hint = f": did you mean {close[0]!r}?" if close else ""
    return f"unknown {kind} {given!r}{hint} (known: {', '.join(names) or 'none'})"
